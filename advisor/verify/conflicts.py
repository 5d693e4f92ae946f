"""The best set of rewrites that are right together, where all of them together are not.

Delta debugging over a handful of rewrites: what fails is shrunk to the few that cannot stand each
other, and the next best set without them is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

MOST = 8
"""Rewrites that are searched; there are 256 sets of them, and few runs rule most of them out."""


@dataclass(frozen=True)
class Conflict:
    """Rewrites that fail together, though every smaller set of them passes; by position."""

    members: frozenset[int]
    reason: str


@dataclass(frozen=True)
class Search:
    """What the search came to."""

    best: tuple[int, ...]
    conflicts: tuple[Conflict, ...]


def heaviest_passing(
    weights: Sequence[float], problem: Callable[[tuple[int, ...]], str | None]
) -> Search:
    """The set of largest total weight that passes; the larger set where weights are equal.

    Args:
        weights: what each rewrite gains, positive. Each passes alone.
        problem: why a set of positions (ascending, at least two) fails; None if it passes. Sets
            that hold a failing set are taken to fail, and not asked for.

    Whatever ``problem`` raises goes through.
    """
    count = min(len(weights), MOST)
    # The most valuable ones, if there are more than can be searched.
    usable = sorted(sorted(range(len(weights)), key=lambda k: -weights[k])[:count])
    sets = [chosen for size in range(1, count + 1) for chosen in combinations(usable, size)]
    sets.sort(key=lambda chosen: (-sum(weights[k] for k in chosen), -len(chosen)))
    conflicts: list[Conflict] = []
    for chosen in sets:
        if any(conflict.members <= set(chosen) for conflict in conflicts):
            continue
        reason = problem(chosen) if len(chosen) > 1 else None
        if reason is None:
            return Search(chosen, tuple(conflicts))
        conflicts.append(_shrink(chosen, weights, problem, reason))
    return Search((), tuple(conflicts))


def _shrink(
    failing: tuple[int, ...],
    weights: Sequence[float],
    problem: Callable[[tuple[int, ...]], str | None],
    reason: str,
) -> Conflict:
    """A smallest failing part: without any one of its members it passes."""
    for position in sorted(failing, key=lambda k: weights[k]):
        rest = tuple(k for k in failing if k != position)
        again = problem(rest) if len(rest) > 1 else None
        if again is not None:
            failing, reason = rest, again
    return Conflict(frozenset(failing), reason)
