"""How full compiled kernels make an SM: what the driver said, and the rewrite's block sizes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sample import full_report

from gpuadvise.model import CompiledKernel, Trial, Unavailable
from gpuadvise.roofline.fullness import blocks_of, fullness
from gpuadvise.verify import cuda_kernels

LAUNCHES = """\
    block = 32, 8
    grid = max(1, (cols + 31) // 32), max(1, (rows + 7) // 8)
    with warnings.catch_warnings():
        step = _step_kernel[grid, block]
        other = _edge_kernel[grid, block, stream]
    block_1 = (64, 2)
    grid_1 = max(1, (n + 127) // 128)
    row = _row_kernel[grid_1, block_1]
"""


def trial(*kernels: CompiledKernel) -> Trial:
    candidate = full_report().findings[0].others[0].candidate
    edit = replace(candidate.match.edits[0], text=LAUNCHES)
    match = replace(candidate.match, edits=(edit,))
    return Trial(replace(candidate, match=match), Unavailable("not run"), kernels=kernels)


def kernel(name: str, registers: int, **more: Any) -> CompiledKernel:
    given = {"shared": 0, "local": 0, "capability": (9, 0)} | more
    return CompiledKernel(name, registers, **given)


def test_each_kernel_has_the_block_of_its_launch() -> None:
    sizes = {"_step_kernel": 256, "_edge_kernel": 256, "_row_kernel": 128}
    assert blocks_of(trial()) == sizes


def test_registers_limit_what_fits() -> None:
    full, half = fullness(trial(kernel("_step_kernel", 32), kernel("_edge_kernel", 64)))
    assert full.occupancy.share == 1.0
    assert full.words == (
        "_step_kernel: 32 registers a thread; 8 blocks of 256 threads fill 100 % of an SM"
    )
    assert half.occupancy.share == 0.5 and "limited by registers" in half.words


def test_local_and_shared_memory_are_named() -> None:
    (one,) = fullness(trial(kernel("_row_kernel", 20, shared=4096, local=48)))
    assert "4096 bytes of shared memory a block" in one.words
    assert "48 bytes a thread in local memory" in one.words


@pytest.mark.parametrize(
    "unknown", [kernel("another", 32), kernel("_row_kernel", 32, capability=(2, 0))]
)
def test_nothing_is_said_of_what_is_not_known(unknown: CompiledKernel) -> None:
    assert not list(fullness(trial(unknown)))


class Dispatcher:
    """As numba's: a function with what was compiled of it."""

    __module__ = "numba.cuda.dispatcher"

    def __init__(self, **compiled: Any) -> None:
        self.overloads = compiled
        self.py_func = SimpleNamespace(__name__="f_kernel")


def test_what_the_driver_says_of_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(compute_capability=(9, 0))
    fake = SimpleNamespace(get_current_device=lambda: device)
    monkeypatch.setitem(cuda_kernels.sys.modules, "numba.cuda", fake)  # type: ignore[arg-type]
    figures = {"shared_mem_per_block": 0, "local_mem_per_thread": 8}
    compiled = SimpleNamespace(regs_per_thread=40, **figures)
    namespace = {
        "f_kernel": Dispatcher(one=compiled),
        "helper": Dispatcher(one=SimpleNamespace()),
        "user": SimpleNamespace(overloads={"x": compiled}),
        "broken": type("Odd", (Dispatcher,), {"overloads": property(lambda s: 1 / 0)}),
        "number": 3,
    }
    (found,) = cuda_kernels.compiled_kernels([namespace])
    assert found["name"] == "f_kernel" and found["registers"] == 40 and found["local"] == 8
    assert found["capability"] == [9, 0]
