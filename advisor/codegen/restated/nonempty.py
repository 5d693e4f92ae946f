"""``max(xs[i : i + n])`` as a loop raises where there is nothing: arrays cannot, so that is asked.

The plainer form of ``min`` and ``max`` ends with ``if not some_largest: max(())``. Where the loop
in front of it surely runs, by a test that holds for all iterations alike, that line is not needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit
from ..nb_values import Unsupported
from . import unrolled
from .bounds import added, linear, spelled
from .draft import Draft

_MOST = 20


def without_empty_extremes(draft: Draft) -> Draft:
    """The draft without lines that raise of nothing. Raises Unsupported."""
    for _ in range(_MOST):
        found = next(_raising(draft), None)
        if found is None:
            return draft
        block, loop, last = found
        test = _runs(draft, loop)
        start, end = draft.source.span(loop)[1], draft.source.span(last)[1]
        draft = draft.advanced([Edit(start, end, ""), *_from_the_first(draft, block, loop)])
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    raise Unsupported("too many extremes in one loop", draft.loop.lineno)


def _from_the_first(draft: Draft, block: list[ast.stmt], loop: ast.For) -> list[Edit]:
    """Edits that begin with the first element instead of a flag; none where it is not that plain.

    ``largest = xs[a]``, then ``for k in range(a + 1, b): if xs[k] > largest: largest = xs[k]``.
    """
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]),
            body=[
                *given,
                ast.If(
                    test=ast.BoolOp(
                        op=ast.Or(),
                        values=[
                            ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=flag)),
                            ast.Compare() as larger,
                        ],
                    ) as test,
                    body=[
                        ast.Assign(targets=[ast.Name(id=best)], value=ast.Name(id=new)) as kept,
                        ast.Assign(targets=[ast.Name(id=found)]) as set_,
                    ],
                ),
            ],
        ) if found == flag and len(given) <= 2:
            pass
        case _:
            return []
    above = block[: block.index(loop)][-2:]
    names = [s.targets[0] for s in above if isinstance(s, ast.Assign) and len(s.targets) == 1]
    if [n.id for n in names if isinstance(n, ast.Name)] != [best, flag]:
        return []
    uses = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == flag]
    first: dict[str, ast.expr] = {index: start}
    for one in given:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=element):
                first[name] = unrolled.put(element, first)
            case _:
                return []
    if len(uses) != 4 or flag not in draft.names or new not in first:
        return []
    source = draft.source
    later = spelled(added(linear(start), {"": 1}))
    return [
        Edit(
            source.span(above[0])[0],
            source.span(above[1])[1],
            f"{best} = {ast.unparse(first[new])}",
        ),
        Edit(*source.span(loop.iter), f"range({later}, {ast.unparse(stop)})"),
        Edit(*source.span(test), ast.unparse(larger)),
        Edit(source.span(kept)[1], source.span(set_)[1], ""),
    ]


def _raising(draft: Draft) -> Iterator[tuple[list[ast.stmt], ast.For, ast.If]]:
    """Loops over what is compared, with the line below that raises if there is nothing."""
    for owner in (draft.loop, *own_nodes(draft.loop)):
        for block in (getattr(owner, "body", None), getattr(owner, "orelse", None)):
            if not isinstance(block, list):
                continue
            for loop, last in pairwise(block):
                if isinstance(loop, ast.For) and isinstance(last, ast.If) and _is_empty_call(last):
                    yield block, loop, last


def _is_empty_call(node: ast.If) -> bool:
    match node:
        case ast.If(
            test=ast.UnaryOp(op=ast.Not(), operand=ast.Name()),
            body=[
                ast.Expr(value=ast.Call(func=ast.Name(id="min" | "max"), args=[ast.Tuple(elts=[])]))
            ],
            orelse=[],
        ):
            return True
    return False


def _runs(draft: Draft, loop: ast.For) -> str:
    """A test that the loop runs, whatever the iteration around it. Raises Unsupported."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] as args, keywords=[]):
            low = linear(args[0]) if len(args) > 1 else {}
            trips = added(linear(args[-1]), low, -1)
            text = " + ".join(
                f"{count} * ({term})" if term else str(count) for term, count in trips.items()
            )
            text = (
                next(iter(trips))
                if list(trips.values()) == [1] and "" not in trips
                else text or "0"
            )
        case ast.Name(id=name):
            text = f"len({name})"
        case _:
            raise Unsupported("what is compared may be nothing", loop.lineno)
    stored = {
        n.id
        for n in ast.walk(draft.loop)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if stored & {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}:
        raise Unsupported("what is compared may be nothing in some iterations", loop.lineno)
    return f"{text} > 0"
