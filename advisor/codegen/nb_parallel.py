"""What the loop as a whole allows: threads, and extremes that keep their value from before."""

from __future__ import annotations

import ast

from ..loopnest.ir import Nest
from ..model import Region
from .nb_analyse import Analysed
from .nb_values import Unsupported


def parallel_edits(region: Region, found: Analysed) -> tuple[tuple[int, int], ...]:
    """Byte ranges of the ``range`` names that become ``prange``. Raises Unsupported."""
    from ..loopnest.dependence import Parallel, Reduction, analyse

    nest, loop = region.nest, region.loop
    assert isinstance(nest, Nest)
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range") as name, args=[_] | [_, _])):
            pass
        case _:
            raise Unsupported("the outermost loop does not count with range()", loop.lineno)
    for made in sorted(found.state.native):
        raise Unsupported(f"the iterations share or make the list {made}", loop.lineno)
    if found.state.may_raise or found.state.division.python:
        raise Unsupported("an exception cannot leave a parallel loop", loop.lineno)
    verdict = analyse(nest).verdict(nest.root)
    match verdict:
        case Parallel():
            pass
        case Reduction():
            raise Unsupported("a sum in threads adds in another order", loop.lineno)
        case _:
            reason = getattr(verdict, "reason", "the iterations depend on each other")
            raise Unsupported(reason, loop.lineno)
    if found.live_out:
        names = ", ".join(found.live_out)
        raise Unsupported(f"{names} is read after the loop", loop.lineno)
    return (region.source.span(name),)


def only_exceeded(loop: ast.For | ast.While, name: str) -> bool:
    """Whether every assignment of ``name`` replaces it by something strictly beyond it.

    ``worst = max(worst, d)``, or ``if d > worst: worst = d``. Then an unchanged value means that it
    was never assigned: what ``float`` or ``float64`` it was at entry, it still is.
    """
    stores = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name and _stored(n)]
    proper = [n for n in ast.walk(loop) if isinstance(n, ast.stmt) and _exceeds(n, name)]
    directions = {_exceeds(n, name) for n in proper}
    return len(stores) == len(proper) > 0 and len(directions) == 1


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _exceeds(node: ast.AST, name: str) -> str | None:
    """``"max"`` or ``"min"`` where the statement takes a new extreme."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Name(id="max" | "min" as kind), args=[ast.Name(id=first), *_]),
        ) if target == first == name:
            return kind
        case ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body):
            larger, smaller = (left, right) if isinstance(op, ast.Gt) else (right, left)
            if not isinstance(op, ast.Gt | ast.Lt):
                return None
            for statement in body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                        if _is_name(smaller, name) and ast.dump(larger) == ast.dump(value):
                            return "max"
                        if _is_name(larger, name) and ast.dump(smaller) == ast.dump(value):
                            return "min"
    return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
