"""Importing this makes numba run CUDA kernels in its simulator, one thread after the other.

Only for a process of its own: what is imported of numba here stays so. Where the program has
numba running already, nothing can be made of it, and the import fails.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np


def _start() -> None:
    if "numba" in sys.modules and os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
        raise ImportError("numba is running already, without its simulator")
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    import numba.cuda.libdevice as libdevice
    import numba.cuda.simulator.kernel as kernels

    # the simulator has no libdevice; a CPU rounds a product before it is added in any case
    libdevice.dmul_rn = libdevice.fmul_rn = _product
    managers, fakes = vars(kernels)["BlockManager"], vars(kernels)["FakeCUDAKernel"]
    managers.run = _one_after_another
    fakes.__call__ = _noted(fakes.__call__)


def _product(x: Any, y: Any) -> Any:
    return x * y


def _one_after_another(self: Any, block: tuple[int, ...], *args: Any) -> None:
    """A block's threads in this one, the last first: the simulator starts hundreds otherwise."""
    import numba.cuda.simulator.kernel as kernels

    place = vars(kernels)["Dim3"]
    here: Any = threading.current_thread()
    here.blockIdx = place(*block)
    failed: Exception | None = None
    for thread in reversed([*np.ndindex(*self._block_dim)]):
        here.threadIdx = place(*thread)
        try:
            self._f(*args)
        except Exception as problem:  # the kernel's own: others run on, as on a device
            failed = failed or problem
    if failed is not None:
        raise failed


def _noted(plain: Any) -> Any:
    """Where the simulator raises, a device computes inf or NaN and the kernel has noted it."""

    def call(self: Any, *args: Any) -> Any:
        try:
            return plain(self, *args)
        except (ArithmeticError, ValueError):
            flags = [a for a in args if getattr(a, "shape", None) == (1,) and a.dtype == np.int32]
            if self._device or not flags:
                raise
            flags[-1][0] = 1
            return None

    return call


_start()
