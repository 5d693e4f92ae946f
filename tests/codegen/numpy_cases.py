"""What the tests of the NumPy back end share: cases, and the check that a rewrite is the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpuadvise.codegen.numpy_backend import emit, emit_products
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import assert_same, region_for, run

LAST_DIGIT = 1e-14
"""Relative: a few units in the last place, carried through one or two operations."""


@dataclass(frozen=True)
class Case:
    """A function ``k``, the arguments it is observed on, and others it must be right for."""

    text: str
    observed: tuple[Any, ...]
    others: Sequence[tuple[Any, ...]]


ROUNDING = 1e-12
"""Relative: of sums of some hundred products in another order."""


class Cases(dict[str, Case]):
    """Cases by name."""

    def add(
        self,
        name: str,
        text: str,
        observed: tuple[Any, ...],
        others: Sequence[tuple[Any, ...]] = (),
    ) -> None:
        """One more case; names are unique."""
        assert name not in self
        self[name] = Case(text, observed, others)


def rewritten(case: Case) -> tuple[Match, str]:
    """The match of the outermost loop and the new text; fails on a refusal."""
    region = region_for(case.text, "k", case.observed)
    match = emit(region)
    assert not isinstance(match, Refusal), match.reason
    return match, apply_edits(region.source, match.edits).decode()


def check(case: Case) -> str:
    """Both texts, on the observed arguments and on all others."""
    match, after = rewritten(case)
    assert match.safe
    tolerance = 0.0 if match.exactness is Exactness.BITS else LAST_DIGIT
    odd = perturbed(case.observed)
    for args in (case.observed, *case.others, *odd):
        old, new = run(case.text, "k", args), run(after, "k", args)
        assert_same(old, new, tolerance=tolerance, compare_warnings=False)
        # "in scalar add" becomes "in add": the kinds are compared, not the words
        # (inf - inf in an element that a condition leaves out warns, and is let pass)
        kinds = {kind for kind, _ in new.warned}
        assert kinds <= {kind for kind, _ in old.warned} or any(args is o for o in odd)
    return after


def check_products(
    text: str, observed: tuple[Any, ...], *others: tuple[Any, ...], safe: bool = True
) -> str:
    """The new text, equal up to rounding on the observed arguments, on others and on odd ones."""
    region = region_for(text, "k", observed)
    match = emit_products(region)
    assert isinstance(match, Match), match
    assert match.exactness is Exactness.REASSOCIATED
    assert match.safe is safe
    after = apply_edits(region.source, match.edits).decode()
    for args in (observed, *others, *perturbed(observed)):
        with np.errstate(all="ignore"):
            old, new = run(text, "k", args), run(after, "k", args)
        single = any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in args)
        assert_same(old, new, tolerance=1e-4 if single else ROUNDING, compare_warnings=False)
    return after


def perturbed(args: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The arguments with other layouts, types and values, and with one array passed twice."""
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.ndim]
    found: list[tuple[Any, ...]] = []

    def put(changes: dict[int, Any]) -> None:
        found.append(tuple(changes.get(i, a) for i, a in enumerate(args)))

    if not arrays:
        return found
    put({i: np.asfortranarray(args[i]) for i in arrays})
    put({i: np.repeat(args[i], 2, axis=0)[::2] for i in arrays})
    put({i: args[i][::-1] for i in arrays})
    put({i: args[i].astype(np.float32) for i in arrays})
    put({i: args[i].astype(np.int32) for i in arrays})
    put({i: args[i][:-1] for i in arrays[:1]})
    for i in arrays:
        if args[i].dtype.kind == "f":
            odd = args[i].copy()
            odd.flat[:: max(1, odd.size // 7)] = [np.nan, -0.0, np.inf, 0.0] * 2
            put({i: odd})
        for j in arrays:
            if j > i and args[i].shape == args[j].shape:
                put({j: args[i]})
    return [f for f in found if all(np.size(a) > 0 for a in f)]


def reason(text: str, *args: Any) -> str:
    """Why the outermost loop is refused."""
    match = emit(region_for(text, "k", args))
    assert isinstance(match, Refusal), "was rewritten"
    return match.reason
