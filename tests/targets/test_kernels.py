"""The kernels: both forms run and agree, and what is written by hand agrees with the loops."""

from __future__ import annotations

import importlib.util
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gpuadvise.targets.kernels import KINDS, POLYBENCH, Kernel, kernels

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ARRAYS = tuple(kernel for kernel in kernels() if kernel.kind == "arrays")
SIZES = (4, 7, 40)
"""Around the block of the blocked factorisation, and as small as the programs allow."""
DEEP = (4, 7, 14)
"""For kernels of four loops."""
SMALL = 12
CALLS = 5
ADDED_IN_ORDER = frozenset(
    {"adi", "deriche", "fdtd_2d", "floyd_warshall", "heat_3d", "jacobi_1d", "jacobi_2d"}
    | {"nussinov", "seidel_2d"}
)
"""Kernels whose NumPy form by hand gives the loops' bits."""
CONDITIONED = frozenset(
    {"cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv", "floyd_warshall", "nussinov"}
)
"""Kernels that not any numbers will do for: theirs are only changed a little."""
TOLERANCE = 1e-11
"""Of sums of up to 40 terms in another order, a few deep; a dropped term is above 1e-4."""


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("kernels_by_hand")


def load(kernel: Kernel) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{kernel.function}_{kernel.kind}", kernel.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_random_data(module: ModuleType, kernel: Kernel, size: int, seed: int) -> tuple[Any, ...]:
    """The program's arguments with other numbers in them."""
    rng = np.random.default_rng(seed)

    def shaken(arg: Any) -> Any:
        if not isinstance(arg, np.ndarray):
            return arg
        if arg.dtype.kind == "i":
            return rng.integers(0, 4 if kernel.function == "nussinov" else 100, arg.shape)
        if kernel.function in CONDITIONED:
            return arg * rng.uniform(0.9, 1.1, arg.shape)
        return rng.standard_normal(arg.shape)

    return tuple(map(shaken, module.data(size)))


def apart(a: Any, b: Any) -> float:
    """Largest difference of two results over the largest value."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple) and len(a) == len(b)
        return max(apart(x, y) for x, y in zip(a, b, strict=True))
    assert type(a) is type(b)
    if not isinstance(a, np.ndarray):
        assert a == b
        return 0.0
    assert a.dtype == b.dtype and a.shape == b.shape
    assert np.isfinite(a).all()
    return float(np.max(np.abs(a - b)) / max(float(np.max(np.abs(a))), 1e-300))


def compare_with_loops(
    kernel: Kernel, form: Callable[..., Any], sizes: tuple[int, ...], seeds: int
) -> float:
    """The largest difference between the loops and a form of them, on random data."""
    module = load(kernel)
    worst = 0.0
    for size in sizes:
        for seed in range(seeds):
            expected_args = on_random_data(module, kernel, size, seed)
            args = on_random_data(module, kernel, size, seed)
            expected = getattr(module, kernel.function)(*expected_args)
            found = form(*args)
            worst = max(worst, apart((expected, expected_args), (found, args)))
    return worst


# ------------------------------------------------------------------ programs
def test_the_catalogue_is_what_is_on_disk():
    for kind in KINDS:
        folder = kernels()[0].path.parent.parent / kind
        on_disk = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        assert on_disk == set(POLYBENCH.values())
    assert len(kernels()) == 60


RUN_ALL = """
import contextlib, io, json, runpy, sys
outputs = {}
for path in sys.argv[3:]:
    printed = io.StringIO()
    sys.argv[:] = [path, *sys.argv[1:3]]
    with contextlib.redirect_stdout(printed):
        runpy.run_path(path, run_name="__main__")
    outputs[path] = printed.getvalue()
print(json.dumps(outputs))
"""
"""One process for all: starting sixty would take ten times as long."""


def test_all_programs_run_and_both_forms_print_the_same():
    paths = [str(kernel.path) for kernel in kernels()]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_ALL, str(SMALL), str(CALLS), *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outputs = json.loads(done.stdout)
    printed = {(k.kind, k.function): outputs[str(k.path)] for k in kernels()}
    for function in POLYBENCH.values():
        assert printed["arrays", function] == printed["lists", function]
        numbers = [float(word) for word in printed["arrays", function].split()[1:5]]
        assert np.isfinite(numbers).all()
    assert len(set(printed.values())) == 30


@pytest.mark.parametrize("kernel", kernels(), ids=lambda k: f"{k.function}-{k.kind}")
def test_the_docstring_says_how_to_start_it(kernel):
    assert f"Usage: python {kernel.function}.py [n]" in kernel.source
    assert f"def {kernel.function}(" in kernel.source
    body = kernel.source.partition(f"def {kernel.function}(")[2].partition("\ndef ")[0]
    # Loops and scalars only: the array form may make arrays, and that is all it asks of NumPy.
    assert body.count("np.") == body.count("np.zeros(") + body.count("dtype=np.int64")


# ------------------------------------------------------------------- by hand
@pytest.mark.parametrize("kernel", ARRAYS, ids=lambda k: k.function)
def test_numpy_by_hand_computes_what_the_loops_compute(kernel, by_hand):
    sizes = DEEP if kernel.function in ("heat_3d", "doitgen") else SIZES
    error = compare_with_loops(kernel, by_hand.numpy_form(kernel.function), sizes, seeds=2)
    assert error == 0.0 if kernel.function in ADDED_IN_ORDER else error < TOLERANCE


def test_updates_by_columns_have_the_bits_of_the_loops(by_hand):
    lu = next(kernel for kernel in ARRAYS if kernel.function == "lu")
    assert compare_with_loops(lu, by_hand.numpy_products.lu_by_columns, SIZES, seeds=1) == 0.0


@pytest.mark.parametrize("kernel", ARRAYS, ids=lambda k: k.function)
def test_numba_by_hand_has_the_bits_of_the_loops(kernel, by_hand):
    # Uncompiled, which takes a second for all; the benchmark compares what it compiles.
    forms = importlib.import_module("kernels_by_hand.numba_forms").forms(kernel)
    assert "njit" in forms
    for form in forms.values():
        assert compare_with_loops(kernel, form.py_func, DEEP, seeds=1) == 0.0


def test_numba_by_hand_compiles_and_runs_in_threads(by_hand):
    kernel = next(k for k in ARRAYS if k.function == "gesummv")
    make = importlib.import_module("kernels_by_hand.numba_forms").forms
    assert set(make(kernel)) == {"njit", "prange"}
    for form in make(kernel).values():
        assert compare_with_loops(kernel, form, SIZES, seeds=1) == 0.0


def test_numba_by_hand_over_lists_makes_arrays_first(by_hand):
    kernel = next(k for k in kernels() if k.function == "gesummv" and k.kind == "lists")
    module = load(kernel)
    args = module.data(SMALL)
    form = importlib.import_module("kernels_by_hand.numba_forms").forms(kernel)["njit"]
    assert by_hand.over_lists("gesummv", form)(*args) == module.gesummv(*module.data(SMALL))


def test_only_the_listed_loops_are_marked(by_hand):
    kernel = next(k for k in ARRAYS if k.function == "fdtd_2d")
    form = importlib.import_module("kernels_by_hand.numba_forms").forms(kernel)["prange"]
    text = inspect.getsource(form.py_func)
    assert text.count(" in prange(") == 3
    assert "for t in range(" in text


@pytest.mark.parametrize("name", ["two_mm", "mvt", "bicg", "doitgen", "gramschmidt", "durbin"])
def test_over_lists_gives_lists_back_where_the_loops_do(name, by_hand):
    kernel = next(k for k in kernels() if k.function == name and k.kind == "lists")
    module = load(kernel)
    expected_args, args = module.data(SMALL), module.data(SMALL)
    expected = getattr(module, name)(*expected_args)
    found = by_hand.over_lists(name, by_hand.numpy_form(name))(*args)
    assert _close((expected, expected_args), (found, args))


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        same = type(a) is type(b) and len(a) == len(b)
        return same and all(_close(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == pytest.approx(b, rel=1e-9, abs=1e-9)
