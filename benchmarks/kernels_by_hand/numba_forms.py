"""Hand-placed numba: ``njit``, and ``prange`` where iterations are independent.

A kernel is the bundled program's own function, with ``prange`` for the loops listed here, or the
one in ``numba_loops`` where another order of loops is faster. No ``fastmath``: all of these give
the loops' bits.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba

from gpuadvise.targets.kernels import Kernel

from . import numba_loops

INDEPENDENT = {
    "gemm": (0,),
    "gesummv": (0,),
    "syrk": (0,),
    "syr2k": (0,),
    "floyd_warshall": (1,),  # row k stays while k is fixed: no length is negative
    "deriche": (0, 2, 4, 6, 8, 10),
    "adi": (1, 4),
    "fdtd_2d": (2, 4, 6),
    "heat_3d": (1, 4),
    "jacobi_1d": (1, 2),
    "jacobi_2d": (1, 3),
}
"""Numbers of the ``for`` statements, in the order of the text, whose iterations are independent."""


def forms(kernel: Kernel) -> dict[str, Callable[..., Any]]:
    """The kernel's compiled forms over arrays, ``njit`` and, where there is one, ``prange``.

    Nothing is compiled before the first call.
    """
    kernel = replace(kernel, kind="arrays")
    function = getattr(numba_loops, kernel.function, None)
    parallel = function is not None and "prange" in function.__code__.co_names
    if function is None:
        parallel = kernel.function in INDEPENDENT
        function = _marked(kernel)
    compiled = {"njit": numba.njit(function)}
    if parallel:
        compiled["prange"] = numba.njit(parallel=True)(function)
    return compiled


def _marked(kernel: Kernel) -> Callable[..., Any]:
    """The program's function with ``prange`` for its independent loops."""
    numbers = iter(range(1000))
    chosen = INDEPENDENT.get(kernel.function, ())

    def header(found: re.Match[str]) -> str:
        word = "prange" if next(numbers) in chosen else "range"
        return f"{found[1]}{word}("

    text = re.sub(r"(?m)^(\s*for \w+ in )range\(", header, kernel.source)
    text = re.sub(r"(?m)^def pairs", "@numba.njit\ndef pairs", text)
    name = f"<{kernel.title} by hand>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "by_hand", "prange": numba.prange, "numba": numba}
    exec(compile(text, name, "exec"), names)
    function: Callable[..., Any] = names[kernel.function]
    return function
