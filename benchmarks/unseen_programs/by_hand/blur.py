"""The kernel is an outer product: a pass along rows and one along columns of a padded image."""

import sys

import numpy as np


def make_image(width, height):
    y = np.arange(height)[:, None]
    x = np.arange(width)
    return ((x * x + 3 * y * y + x * y) % 256).astype(np.uint8)


WEIGHTS = (1, 4, 6, 4, 1)


def blur(image):
    height, width = image.shape
    padded = np.pad(image.astype(np.int32), 2, mode="edge")
    rows = sum(w * padded[:, k : k + width] for k, w in enumerate(WEIGHTS))
    both = sum(w * rows[k : k + height] for k, w in enumerate(WEIGHTS))
    return (both // 256).astype(np.uint8)


def main():
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 690
    height = width * 2 // 3
    image = make_image(width, height)
    blurred = blur(image).ravel()
    print("before", image.sum(), image.max())
    print("after ", blurred.sum(), blurred.max())
    print("corner", blurred[:8].tolist())
    print("checksum", (np.arange(blurred.size) * blurred).sum() % 1000003)


if __name__ == "__main__":
    main()
