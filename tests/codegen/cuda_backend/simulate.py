"""Runs programs and their rewrites in numba's CUDA simulator; a process of its own.

Reads a pickled list of (text, new text, function, all arguments, all inputs), and writes a pickled
list of what came of each: for every set of arguments the difference found (or None) and how many
kernels ran. The argument, if there is one, is the first function of CUDA graphs that fails; with
"none" there are no graphs.
"""

from __future__ import annotations

import itertools
import os
import pickle
import sys
import threading
import warnings
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

import numba.cuda.libdevice as libdevice
import numpy as np
from fake_graphs import install
from harness import assert_same, run
from numba.cuda.simulator.kernel import BlockManager, Dim3, FakeCUDAKernel


def product(x, y):  # type: ignore[no-untyped-def]
    """What ``dmul_rn`` computes; the simulator has no libdevice."""
    return x * y


libdevice.dmul_rn = libdevice.fmul_rn = product
ran = [0]
plain = FakeCUDAKernel.__call__


def counted(self, *args):  # type: ignore[no-untyped-def]
    """A kernel's run, counted. Where the simulator raises, a device computes inf or NaN."""
    ran[0] += not self._device
    try:
        return plain(self, *args)
    except (ArithmeticError, ValueError):
        flags = [a for a in args if getattr(a, "shape", None) == (1,) and a.dtype == np.int32]
        if self._device or not flags:
            raise
        flags[-1][0] = 1


def one_after_another(self, block, *args):  # type: ignore[no-untyped-def]
    """A block of threads in this one: the simulator starts hundreds for each launch.

    The last comes first, so that what rests on the loop's own order shows. A kernel with a barrier
    would fail here: none of ours has any.
    """
    here = threading.current_thread()
    here.blockIdx = Dim3(*block)
    failed = None
    for thread in reversed([*np.ndindex(*self._block_dim)]):
        here.threadIdx = Dim3(*thread)
        try:
            self._f(*args)
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed


FakeCUDAKernel.__call__ = counted
BlockManager.run = one_after_another
if sys.argv[1:] != ["none"]:
    install("".join(sys.argv[1:]))


def main() -> None:
    warnings.simplefilter("ignore")
    answers = []
    for text, new, function, arguments, inputs in pickle.load(sys.stdin.buffer):
        answer = []
        for args, setting in itertools.product(arguments, inputs):
            ran[0] = 0
            try:
                names = frozenset({"dmul_rn", "fmul_rn"})
                one = run(text, function, args, inputs=setting)
                two = run(new, function, args, inputs=setting)
                assert_same(one, two, new_names=names, scalar_names=function is not None)
            except AssertionError as error:
                answer.append((str(error), ran[0]))
            else:
                answer.append((None, ran[0]))
        answers.append(answer)
    sys.stdout.buffer.write(pickle.dumps(answers))


if __name__ == "__main__":
    main()
