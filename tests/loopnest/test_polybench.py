"""The PolyBench kernels: every one lowers, over ndarrays and over lists, and keeps its meaning."""

import numpy as np
import pytest
from nests import compare
from polybench import KERNELS, as_lists, list_text

from gpuadvise.loopnest.dependence import Carried, Parallel, Reduction, analyse
from gpuadvise.loopnest.ir import For


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", ["ndarray", "list"])
def test_kernel_keeps_its_meaning(name: str, kind: str) -> None:
    text, make = KERNELS[name]
    args = make(np.random.default_rng(7))
    if kind == "list":
        compare(list_text(text), *as_lists(args))
    else:
        compare(text, *args)


P, R, C = Parallel, Reduction, Carried
VERDICTS = {
    "gemm": [P, P, R],
    "gemver": [P, P],
    "gesummv": [P, R],
    "symm": [C, P, R],
    "syr2k": [P, P, R, P],
    "syrk": [P, P, R, P],
    "trmm": [C, P, R],
    "2mm": [P, P, R],
    "3mm": [P, P, R],
    "atax": [R, R, P],
    "bicg": [R, R],
    "doitgen": [C, C, P, R, P],
    "mvt": [P, R],
    "cholesky": [C, C, R, R],
    "durbin": [C, R, P, P],
    "gramschmidt": [C, R, P, P, R, P],
    "lu": [C, C, R, P, R],
    "ludcmp": [C, R],
    "trisolv": [C, R],
    "correlation": [P, R],
    "covariance": [C, P, R],
    "deriche": [P, C],
    "floyd-warshall": [C, C, C],
    "nussinov": [C, C, R],
    "adi": [P, C, C],
    "fdtd-2d": [C, P, P, P, P, P, P, P],
    "heat-3d": [C, P, P, P, P, P, P],
    "jacobi-1d": [C, P, P],
    "jacobi-2d": [P, P],
    "seidel-2d": [C, C, C],
}


@pytest.mark.parametrize("name", KERNELS)
def test_verdicts(name: str) -> None:
    """Never a parallel loop that is none; better verdicts may come with better analysis."""
    text, make = KERNELS[name]
    analysis = analyse(compare(text, *make(np.random.default_rng(7))))
    found = [type(facts.verdict) for facts in analysis.loops]
    assert found == VERDICTS[name], [str(f.verdict) for f in analysis.loops]
    assert all(isinstance(facts.loop, For) for facts in analysis.loops)
