"""Faults to write into correct rewrites: one generator each, named by what goes wrong.

Every operator takes a `Rewritten` and yields mutants; what it cannot make is left out in silence.
Operators that replace an expression put it in parentheses, so that precedence never changes more
than was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

# Importing them registers their operators.
import mutant_arrays  # noqa: F401
import mutant_compiled  # noqa: F401
import mutant_flow  # noqa: F401
import mutant_values  # noqa: F401
from mutant_parts import OPERATORS
from mutant_text import Mutant, Rewritten

__all__ = ["OPERATORS", "mutants"]


def mutants(code: Rewritten, names: frozenset[str] | None = None) -> Iterator[Mutant]:
    """All mutants of one rewrite, each text once."""
    seen: set[bytes] = set()
    for name, make in OPERATORS.items():
        if names is not None and name not in names:
            continue
        for mutant in make(code):
            if mutant is not None and mutant.text not in seen:
                seen.add(mutant.text)
                yield mutant
