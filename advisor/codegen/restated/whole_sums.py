"""``sum`` of whole numbers as a loop, which also runs in Python where it is not compiled.

``total += item`` adds floats one after the other; ``sum`` compensates from Python 3.12 on. Numbers
that were whole in the run may be floats in the next: what is added is asked to be whole in front,
and else the user's own text runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...loopnest.ir import ArrayInput, Assign, Binary, Const, Kind, Nest, Var, statements
from ...model import Basis, Condition
from .draft import Draft

_WHOLE = (Kind.INT, Kind.BOOL)


def asking_whole_numbers(draft: Draft, nest: Nest) -> Draft | None:
    """The draft for whole numbers alone; None where that cannot be asked in front of it."""
    sums = {n for n in draft.sums if nest.privates[n].is_python and not _counts(n, nest)}
    if not sums:
        return draft
    for name, info in nest.arrays.items():
        if not info.read or info.container not in ("list", "tuple") or not info.element.is_python:
            continue  # numbers of NumPy are added alike, and bytes are whole
        if info.letters or info.element.kind not in _WHOLE:
            continue
        if name in draft.names | nest.made | nest.grown or info.ndim > 2:
            return None
        for test in _tests(name, info):
            draft = _asking(draft, test)
    for name, scalar in nest.scalars.items():
        if scalar.type.is_python and scalar.type.kind in _WHOLE and name not in draft.names:
            draft = _asking(draft, f"type({name}) is {scalar.type.kind.value}")
    return draft


def _asking(draft: Draft, test: str) -> Draft:
    return draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))


def _counts(name: str, nest: Nest) -> bool:
    """Whether only constants are added: ``sum(1 for x in xs if x > 0)``."""
    for statement in statements((nest.root,)):
        match statement:
            case Assign(name=target) if target != name:
                pass
            case Assign(value=Const() | Binary(op="+", left=Var(), right=Const())):
                pass
            case Assign():
                return False
    return True


def _tests(name: str, info: ArrayInput) -> Iterator[str]:
    kind = info.element.kind.value
    yield f"type({name}) is {info.container}"
    if info.ndim == 1:
        yield f"set(map(type, {name})) <= {{{kind}}}"
    else:
        yield f"set(map(type, {name})) <= {{list, tuple}}"
        yield f"all(set(map(type, row)) <= {{{kind}}} for row in {name})"
