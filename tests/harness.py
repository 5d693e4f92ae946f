"""What tests of rules and back ends share: regions from text, and runs to compare.

    from harness import assert_same, region_for, run

    region = region_for(TEXT, "smooth", (np.zeros(5), np.ones(5)))
    match = emit(region)
    after = apply_edits(region.source, match.edits).decode()
    assert_same(run(TEXT, "smooth", args), run(after, "smooth", args))

``region_for`` observes the outermost loop of the function while it really runs on the arguments,
lowers it, and returns a `Region`; ``chain_for`` also gives the loops inside it. A method is
called ``"Grid.step"``, with the instance as the first argument; ``None`` is the module itself.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import math
import random
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from other_frames import parts_of

from gpuadvise.cases import case_regions, chain_for, execute, first_match, region_for

__all__ = ["Run", "assert_same", "case_regions", "chain_for", "first_match", "region_for", "run"]

_files = tempfile.TemporaryDirectory(prefix="gpuadvise-cases-")
"""One folder for all runs: to make and remove one for each takes longer than most runs."""


@dataclass(frozen=True)
class Run:
    """All that one run of a piece of code left behind."""

    result: Any
    args: Any
    names: Mapping[str, Any]
    """The module's names afterwards, functions, classes and modules left out."""
    printed: str
    error: tuple[type[BaseException], str] | None
    warned: tuple[tuple[type[Warning], str], ...]


def run(
    text: str,
    function: str | None,
    args: tuple[Any, ...] = (),
    *,
    inputs: str = "",
    folder: Path | None = None,
    seed: int = 0,
) -> Run:
    """Execute the text as a module of its own and call the function on copies of ``args``.

    The text is a real file meanwhile, in ``folder`` if given: one file for equal texts, beside
    which ``numba`` caches. So a kernel is compiled once for each type that it is called with, and
    not for each set of data.
    """
    with contextlib.ExitStack() as stack:
        file = _file_of(text, folder or Path(_files.name))
        code = compile(text, str(file), "exec", dont_inherit=True)
        printed = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        names: dict[str, Any] = {"__file__": str(file)}
        result = error = None
        try:
            result, names = execute(code, function, copy.deepcopy(args), inputs, names, seed)
        except Exception as problem:
            error = (type(problem), str(problem))
        return Run(
            result=result,
            args=names.get("args", ()),
            names={k: v for k, v in names.items() if _is_data(k, v)},
            printed=printed.getvalue(),
            error=error,
            warned=tuple(dict.fromkeys((w.category, str(w.message)) for w in caught)),
        )


def _file_of(text: str, folder: Path) -> Path:
    data = text.encode("utf-8")
    file = folder / f"case_{hashlib.blake2b(data, digest_size=8).hexdigest()}.py"
    if not file.exists():
        file.write_bytes(data)
    return file


def _is_data(name: str, value: object) -> bool:
    if name.startswith("__") or name in ("args", "rng"):
        return False
    return not isinstance(value, FunctionType | ModuleType | type) and not hasattr(value, "py_func")


def assert_same(
    before: Run,
    after: Run,
    *,
    tolerance: float = 0.0,
    new_names: frozenset[str] = frozenset(),
    compare_warnings: bool = True,
    scalar_names: bool = True,
) -> None:
    """Raise AssertionError with the place of the first difference.

    Types, dtypes, shapes, signs of zero and NaN count; ``tolerance`` is relative and for floating
    point only. Names that only the rewritten module has are free if they start with ``_`` or are
    in ``new_names``. ``scalar_names=False``: numbers among the names may differ or be gone; for
    loops at module level, whose temporaries nobody reads.
    """
    assert before.error == after.error, f"raised {before.error}, now {after.error}"
    assert before.printed == after.printed, f"printed {before.printed!r}, now {after.printed!r}"
    if compare_warnings:
        assert set(after.warned) <= set(before.warned), f"new warnings: {after.warned}"
    compare(before.result, after.result, "result", tolerance)
    compare(before.args, after.args, "args", tolerance)
    extra = set(after.names) - set(before.names) - new_names
    assert not [name for name in extra if not name.startswith("_")], f"new names: {extra}"
    for name, value in before.names.items():
        if not scalar_names and isinstance(value, bool | int | float | complex | np.generic):
            continue
        assert name in after.names, f"{name} is gone"
        compare(value, after.names[name], name, tolerance)


def needed(text: str) -> tuple[pytest.MarkDecorator, ...]:
    """Skips a test of a program that imports a package which the tool itself does without."""
    missing = "import pandas" in text and find_spec("pandas") is None
    return (pytest.mark.skipif(missing, reason="pandas is not installed"),)


def compare(a: Any, b: Any, where: str, tolerance: float = 0.0) -> None:
    """Deep equality, with identity of structure left out."""
    same_class = type(a) is type(b) or type(a).__qualname__ == type(b).__qualname__
    assert same_class, f"{where}: {type(a)} became {type(b)}"
    if isinstance(a, float):
        assert _same_float(a, b, tolerance), f"{where}: {a!r} became {b!r} (tolerance {tolerance})"
    elif isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype, f"{where}: {a.dtype} became {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} became {b.shape}"
        _compare_arrays(np.asarray(a), np.asarray(b), where, tolerance)
    elif isinstance(a, complex):
        compare([a.real, a.imag], [b.real, b.imag], where, tolerance)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), f"{where}: {len(a)} items became {len(b)}"
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            compare(x, y, f"{where}[{number}]", tolerance)
    elif isinstance(a, dict):
        assert list(a) == list(b), f"{where}: keys {list(a)} became {list(b)}"
        for key in a:
            compare(a[key], b[key], f"{where}[{key!r}]", tolerance)
    elif isinstance(a, np.random.Generator):
        compare(a.bit_generator.state, b.bit_generator.state, where)
    elif isinstance(a, np.random.RandomState):
        compare(a.get_state(legacy=False), b.get_state(legacy=False), where)
    elif isinstance(a, random.Random):
        compare(a.getstate(), b.getstate(), where)
    elif hasattr(a, "iloc"):
        compare(parts_of(a), parts_of(b), where, tolerance)
    elif hasattr(a, "__dict__") and not callable(a):
        compare(vars(a), vars(b), where, tolerance)
    elif not callable(a) and not hasattr(a, "__next__"):
        assert a == b, f"{where}: {a!r} became {b!r}"


def _same_float(a: float, b: float, tolerance: float) -> bool:
    """As `_compare_arrays` has it; lists of floats are long, and an array for each is slow."""
    if a == b:
        return tolerance > 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b)
    if math.isfinite(a) and math.isfinite(b):
        return abs(a - b) <= tolerance * abs(a) + tolerance * abs(b)
    return math.isnan(a) and math.isnan(b)


def _compare_arrays(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], where: str, tolerance: float
) -> None:
    if a.dtype.kind not in "fc":
        assert np.array_equal(a, b), f"{where}: {a!r} became {b!r}"
        return
    assert np.array_equal(np.isnan(a), np.isnan(b)), f"{where}: NaN moved"
    if tolerance == 0.0:
        equal = np.array_equal(a, b, equal_nan=True)
        signs = np.array_equal(np.signbit(a.real) & ~np.isnan(a), np.signbit(b.real) & ~np.isnan(b))
        assert equal and signs, f"{where}: {a!r} became {b!r}"
        return
    known = a[np.isfinite(a)]
    scale = float(np.abs(known).max()) if known.size else 0.0
    close = np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    assert close, f"{where}: {a!r} became {b!r} (tolerance {tolerance})"


def tolerance_for(length: int) -> float:
    """Relative, for float64 sums of ``length`` terms in another order."""
    return 16 * sys.float_info.epsilon * math.sqrt(max(1, length))
