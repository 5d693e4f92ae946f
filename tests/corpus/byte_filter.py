"""Sharpen and threshold a grey image kept in a bytearray, writes a PGM."""

W, H = 1100, 900


def make(w, h):
    img = bytearray(w * h)
    for y in range(h):
        for x in range(w):
            img[y * w + x] = (x * x + y * y * 3 + (x * y) % 97) % 256
    return img


def sharpen(img, w, h):
    out = bytearray(len(img))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            p = y * w + x
            v = 5 * img[p] - img[p - 1] - img[p + 1] - img[p - w] - img[p + w]
            if v < 0:
                v = 0
            elif v > 255:
                v = 255
            out[p] = v
    return out


def median3(img, w, h):
    out = bytearray(img)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            vals = []
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    vals.append(img[(y + dy) * w + x + dx])
            vals.sort()
            out[y * w + x] = vals[4]
    return out


img = make(W, H)
for i in range(3):
    img = sharpen(img, W, H)
img = median3(img, W, H)
hist = [0] * 256
for b in img:
    hist[b] += 1
with open("out.pgm", "wb") as f:
    f.write(b"P5\n%d %d\n255\n" % (W, H))
    f.write(bytes(img))
print(hist[:16], sum(img))
