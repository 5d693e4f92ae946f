"""Gaussian blur of a grey image kept as a flat bytearray, borders clamped."""

import sys


def make_image(width, height):
    pixels = bytearray(width * height)
    for y in range(height):
        for x in range(width):
            pixels[y * width + x] = (x * x + 3 * y * y + x * y) % 256
    return pixels


KERNEL = [
    [1, 4, 6, 4, 1],
    [4, 16, 24, 16, 4],
    [6, 24, 36, 24, 6],
    [4, 16, 24, 16, 4],
    [1, 4, 6, 4, 1],
]


def clamp(v, lo, hi):
    return max(lo, min(v, hi))


def blur(pixels, width, height):
    out = bytearray(width * height)
    for y in range(height):
        for x in range(width):
            acc = 0
            for ky in range(-2, 3):
                for kx in range(-2, 3):
                    yy = clamp(y + ky, 0, height - 1)
                    xx = clamp(x + kx, 0, width - 1)
                    acc += KERNEL[ky + 2][kx + 2] * pixels[yy * width + xx]
            out[y * width + x] = acc // 256
    return out


def main():
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 690
    height = width * 2 // 3
    image = make_image(width, height)
    blurred = blur(image, width, height)
    print("before", sum(image), max(image))
    print("after ", sum(blurred), max(blurred))
    print("corner", list(blurred[:8]))
    print("checksum", sum(i * v for i, v in enumerate(blurred)) % 1000003)


if __name__ == "__main__":
    main()
