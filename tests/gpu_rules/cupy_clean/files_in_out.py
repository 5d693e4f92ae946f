"""Every image is another one, and every result has to leave: its copies are the work itself."""

import sys
from pathlib import Path

import cupy as cp
import numpy as np
from cupyx.scipy import ndimage


def sharpen(folder, out):
    kernel = cp.asarray(np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], dtype=np.float32))
    for path in sorted(Path(folder).glob("*.npy")):
        image = cp.asarray(np.load(path))
        result = ndimage.convolve(image, kernel, mode="nearest")
        np.save(Path(out) / path.name, cp.asnumpy(result))


if __name__ == "__main__" and len(sys.argv) > 2:
    sharpen(sys.argv[1], sys.argv[2])
