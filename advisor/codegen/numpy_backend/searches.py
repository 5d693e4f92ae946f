"""``if x[i] > limit: found = True; break``: a search whose end shows in its result only.

All that the loop does is to set names to constants, always the same ones; going on after the first
hit would set them again. So the ``break`` can go, and what is left is ``any``.
"""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.fold import reads
from ...loopnest.ir import Assign, Break, Const, For, If, Nest, Stmt, Var, statements
from .normal import exposed
from .planning import scalars_read_after


def without_breaks(root: For, nest: Nest) -> For:
    """The nest without the ``break`` of loops that only search."""
    if not any(isinstance(s, Break) for s in statements((root,))):
        return root
    after = dict(scalars_read_after(root, nest.live_out))
    return _loop(root, after, nest)


def _loop(loop: For, after: dict[int, frozenset[str]], nest: Nest) -> For:
    if _only_searches(loop, after[id(loop)] | nest.live_out):
        return replace(loop, body=_cleared(loop.body))
    body: list[Stmt] = []
    for statement in loop.body:
        body.append(_loop(statement, after, nest) if isinstance(statement, For) else statement)
    return replace(loop, body=tuple(body))


def _only_searches(loop: For, after: frozenset[str]) -> bool:
    """One ``if`` sets constants; everything else names values or leaves loops on these."""
    body = tuple(statements(loop.body))
    hits = [s for s in body if isinstance(s, If) and any(isinstance(t, Assign) for t in s.then)]
    if len(hits) != 1 or not isinstance(hits[0].then[-1], Break) or hits[0].orelse:
        return False
    flags: dict[str, Const] = {}
    for statement in hits[0].then[:-1]:
        match statement:
            case Assign(name=name, value=Const() as value) if name not in flags:
                flags[name] = value
            case _:
                return False
    if not all(_is_harmless(s, hits[0], flags) for s in body):
        return False
    named = {s.name for s in body if isinstance(s, Assign) and s.name not in flags}
    named |= {s.index for s in (loop, *body) if isinstance(s, For)}
    carried = exposed(loop.body) & named - {loop.index}
    return not (named & after) and not carried and not (reads(hits[0].test) & flags.keys())


def _is_harmless(statement: Stmt, hit: If, flags: dict[str, Const]) -> bool:
    match statement:
        case If(test=Var(name=name), then=(Break(),), orelse=()):
            return name in flags and bool(flags[name].value)
        case If():
            return statement is hit
        case Assign(name=name):
            return name not in flags or statement in hit.then
        case For() | Break():
            return True
    return False


def _cleared(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for statement in body:
        match statement:
            case If(then=(Break(),)):
                continue
            case If(then=then):
                result.append(replace(statement, then=then[:-1]))
            case For():
                result.append(replace(statement, body=_cleared(statement.body)))
            case _:
                result.append(statement)
    return tuple(result)
