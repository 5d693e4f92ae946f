"""Several array operations as one kernel: which are fused, and that results are equal."""

from __future__ import annotations

import random

import numpy as np
import pytest
from array_programs import HEAD, SIZE
from harness import assert_same, region_for, run
from test_arrays import cupy  # noqa: F401  (a fixture)

from gpuadvise.codegen.cupy_backend import arrays_on_gpu
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits


def written(body: str, *args: object, after: str = "u") -> tuple[str, str]:
    """A program with this loop body, before and after."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    head = f"{HEAD}def f(u, v, c, steps):\n    for n in range(steps):\n"
    text = f"{head}{lines}    return {after}\n"
    answer = arrays_on_gpu(region_for(text, "f", args))
    assert isinstance(answer, Match), answer
    return text, apply_edits(
        answer.edits and region_for(text, "f", args).source, answer.edits
    ).decode()


def floats(dtype: str = "float64", seed: int = 1) -> tuple[object, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=SIZE).astype(dtype), rng.normal(size=SIZE).astype(dtype), 0.3, 3


def same(text: str, new: str, args: tuple[object, ...]) -> None:
    before, after = run(text, "f", args), run(new, "f", args)
    private = {n for n in after.names if n.startswith("_f_cells")}
    assert_same(before, after, new_names=frozenset({"cp", *private}))


def kernels(text: str) -> int:
    return text.count("cp.ElementwiseKernel(")


FUSED = {
    "three operations": "u[1:-1] = c * (u[2:] - u[:-2] + v[1:-1])",
    "statements of one pass": "a = u + v\nb = a * c\nu = np.where(b < 0.5, a - b, b)",
    "a division and a root": "u = np.sqrt(np.abs(u) / (v * v + 1.0))",
    "functions that CuPy calls alike": "u = np.exp(-u * u) + np.floor(v) * 0.5",
    "a constant that float32 rounds": "u = u * 0.1 + v * 0.7 - 1e-3",
    "what the host computes": "u = u - c / 3.0 * v * (u - v)",
    "zeros and ones": (
        "u = np.where((u > c) & (v < 0.0) | ~(u < v), np.zeros_like(u), np.ones_like(u))"
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("body", FUSED.values(), ids=FUSED.keys())
def test_one_kernel(body: str, dtype: str, cupy: bool) -> None:  # noqa: F811
    if dtype == "float32" and "where" in body and "zeros" not in body:
        body = body.replace("0.5", "c")
    text, new = written(body, *floats(dtype))
    assert kernels(new) == 1
    if "exp" in body and cupy:
        return  # of another library
    same(text, new, floats(dtype, seed=2))


def test_products_are_not_fused_with_sums() -> None:
    _, new = written(FUSED["three operations"], *floats())
    assert "result = __dmul_rn(c, ((u - u_1) + v));" in new
    _, new = written(FUSED["a constant that float32 rounds"], *floats("float32"))
    assert "__fmul_rn(u, ((float)0.1))" in new


NOT_FUSED = {
    "two operations": ("u = (u + v) * c", 0),
    "a value that the loop keeps": ("a = u + v\nb = a * c + u\nu = b - a * c\nv = a + v", 1),
    "an int that may not fit 64 bits": ("u = u * n + v * n - u", 0),
    "a maximum, which NaN decides": ("u = np.maximum(u, v) + np.maximum(u * c, v)", 0),
    "a power": ("u = u**3 + v**3 - u", 0),
}


@pytest.mark.parametrize(("body", "count"), NOT_FUSED.values(), ids=NOT_FUSED.keys())
def test_not_fused(body: str, count: int, cupy: bool) -> None:  # noqa: F811
    text, new = written(body, *floats())
    assert kernels(new) == count
    if "**" not in body and "maximum" not in body:
        same(text, new, floats(seed=2))


def test_a_value_that_is_read_after_the_loop(cupy: bool) -> None:  # noqa: F811
    body = "a = u + v\nb = a * c\nu = b - a * 2.0"
    text, new = written(body, *floats(), after="u, a")
    assert "gpu_a = " in new and "_f_cells(gpu_a, c)" in new
    same(text, new, floats(seed=2))
    text, new = written(body, *floats())
    assert "gpu_a" not in new and kernels(new) == 1
    same(text, new, floats(seed=2))


def test_whole_numbers(cupy: bool) -> None:  # noqa: F811
    body = "a = u + v * 3 - 7\nu = np.where((a & 1 == 1) ^ (a > 4), a, u)"
    rng = np.random.default_rng(3)
    args = (rng.integers(-9, 9, SIZE), rng.integers(-(2**62), 2**62, SIZE), 0.5, 3)
    text, new = written(body.replace("a & 1 == 1", "a != 1"), *args)
    assert kernels(new) == 1
    same(text, new, args)


def expression(rng: random.Random, depth: int) -> str:
    """Arithmetic over two arrays, their parts, a number and constants."""
    if depth == 0:
        return rng.choice(["u[1:-1]", "u[2:]", "u[:-2]", "v[1:-1]", "v[2:]"])
    one, other = expression(rng, depth - 1), expression(rng, rng.randrange(depth))
    kind = rng.randrange(8)
    if kind < 4:
        return f"({one} {'+-*/'[kind]} {other})"
    if kind == 4:
        return f"({one} * {rng.choice(['c', '0.1', '-2', 'c / 7.0'])})"
    if kind == 5:
        return f"(-{one})"
    if kind == 6:
        return f"np.where(({one} < {other}) | ({other} == {one}), {one}, {other})"
    return f"np.sqrt(np.abs({one}))"


@pytest.mark.parametrize("seed", range(12))
def test_random_passes(seed: int, cupy: bool) -> None:  # noqa: F811
    rng = random.Random(seed)
    body = f"a = {expression(rng, 3)}\nu[1:-1] = {expression(rng, 2)} - a * c\nv[1:-1] = a + a"
    args = floats("float32" if seed % 3 == 0 else "float64", seed)
    text, new = written(body, *args)
    with np.errstate(all="ignore"):
        same(text, new, args)
