"""All that a rule may import.

A rule is one file in ``rules/`` named ``<code>_<name>.py`` (``np201_loops_to_numpy.py``). It holds
a docstring in three parts, a tuple ``CASES`` and one function decorated with ``@rule``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .gpumodel import LineWork
from .model import (
    Basis,
    Candidate,
    Condition,
    Edit,
    Exactness,
    Match,
    Mistake,
    Purpose,
    Refusal,
    Region,
    SiteObservation,
    Source,
    ValueInfo,
)

__all__ = [
    "Answer",
    "Basis",
    "Candidate",
    "Case",
    "Condition",
    "Edit",
    "Exactness",
    "Ignores",
    "Match",
    "Mistake",
    "Purpose",
    "Refusal",
    "Region",
    "Rewrites",
    "RuleFunction",
    "SiteObservation",
    "Source",
    "Spots",
    "ValueInfo",
    "rule",
]

Answer = Match | Refusal | tuple[Mistake, ...] | None
"""None: not this rule's business. Refusal: it is, and here is why not. Mistakes: known ones of GPU
code, each with its rewrite or without."""
RuleFunction = Callable[[Region], Answer]


@dataclass(frozen=True)
class Rewrites:
    """A case the rule must rewrite; executable.

    ``before`` is a module whose hot loop is the outermost loop of the function named ``function``
    (of the module itself if None). ``inputs`` is a statement block, with ``np``, ``rng`` (a seeded
    ``numpy.random.Generator``) and ``math`` at hand, that sets ``args`` (a tuple), or, at module
    level, the names the loop reads. ``contains`` are strings the new text must hold.
    """

    before: str
    inputs: str
    function: str | None = None
    contains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spots:
    """GPU code in which the rule must name a mistake; read here, executed where there is a GPU.

    ``before`` is a module; the loop is the outermost one of the function named ``function``, or
    the first one of the module. ``line`` is the mistake's. ``after`` is the whole text behind the
    rewrite; None where the rule only advises. ``inputs`` sets ``args`` for the function, with
    ``cp`` (or ``torch``, ``cuda``) and ``np`` at hand, for the comparison on a GPU machine; empty
    where the module runs as it is.
    """

    before: str
    line: int
    after: str | None = None
    function: str | None = None
    inputs: str = ""
    gpu: Mapping[int, LineWork] | None = None
    """What was traced, by line: for rules that act on the trace alone."""


@dataclass(frozen=True)
class Ignores:
    """A case the rule must leave alone, with the reason a guard's comment would give.

    ``reason``: part of the refusal's text, if the rule refuses (rather than ignores) it.
    """

    before: str
    because: str
    inputs: str = "args = ()"
    function: str | None = None
    reason: str | None = None
    static: bool = False
    """Read, and not executed: GPU code."""
    gpu: Mapping[int, LineWork] | None = None
    """Static: what was traced, by line."""


Case = Rewrites | Spots | Ignores


def rule(
    *,
    needs: Iterable[str] = (),
    cases: tuple[Case, ...],
    row_calls: bool = False,
    comprehensions: bool = False,
    several: bool = False,
) -> Callable[[RuleFunction], RuleFunction]:
    """Mark the one rule function of a file. Code and name come from the file's name.

    ``needs``: packages every match of the rule imports (``{"numba"}``); the engine skips the rule
    where the user does not allow them. ``row_calls``: the rule looks at statements that go over
    rows inside pandas, too (``df.apply(f, axis=1)``), see ``rowcalls``. ``comprehensions``:
    it looks at statements with a comprehension, too. ``several``: it rewrites all loops in
    ``region.beside`` at once, and is asked about nothing else.
    """

    def mark(function: RuleFunction) -> RuleFunction:
        marks = (frozenset(needs), cases, row_calls, comprehensions, several)
        function.__gpuadvise_rule__ = marks  # type: ignore[attr-defined]
        return function

    return mark
