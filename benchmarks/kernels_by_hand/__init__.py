"""The kernels as an expert writes them by hand: what a rewrite is measured against.

Every function takes the arguments of the loops in ``gpuadvise.targets.kernels.arrays``, changes
those that the loops change, and returns what they return. The loops are the oracle, on random
input too: ``tests/targets/test_kernels.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import numpy_grids, numpy_products

CHANGED = {
    "adi": (0,),
    "cholesky": (0,),
    "correlation": (0,),
    "covariance": (0,),
    "doitgen": (0,),
    "fdtd_2d": (0, 1, 2),
    "floyd_warshall": (0,),
    "gemm": (4,),
    "gemver": (2,),
    "gramschmidt": (0,),
    "heat_3d": (0, 1),
    "jacobi_1d": (0, 1),
    "jacobi_2d": (0, 1),
    "lu": (0,),
    "ludcmp": (0,),
    "mvt": (0, 1),
    "seidel_2d": (0,),
    "symm": (4,),
    "syr2k": (4,),
    "syrk": (3,),
    "trmm": (2,),
    "two_mm": (5,),
}
"""Positions of the arguments that a kernel changes in place."""


def numpy_form(name: str) -> Callable[..., Any]:
    """The NumPy version of a kernel. Raises AttributeError if there is none."""
    module = numpy_grids if hasattr(numpy_grids, name) else numpy_products
    form: Callable[..., Any] = getattr(module, name)
    return form


def over_lists(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for lists: arrays made at the edge, lists given back, as the loops leave them."""
    changed = CHANGED.get(name, ())

    def on_lists(*args: Any) -> Any:
        arrays = [np.array(arg) if isinstance(arg, list) else arg for arg in args]
        result = function(*arrays)
        for position in changed:
            args[position][:] = arrays[position].tolist()
        parts = result if isinstance(result, tuple) else (result,)
        lists = tuple(_as_list(part, args, arrays) for part in parts)
        return lists if isinstance(result, tuple) else lists[0]

    return on_lists


def _as_list(part: Any, args: tuple[Any, ...], arrays: list[Any]) -> Any:
    """An argument that is returned stays the caller's own list."""
    for arg, array in zip(args, arrays, strict=True):
        # Compiled code returns another array object over the same memory.
        if isinstance(arg, list) and np.shares_memory(part, array):
            return arg
    return part.tolist()
