"""Arrays that a loop copies to the host, and what becomes of them there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Region
from .basics import meaning
from .cupy_tables import REDUCTIONS
from .cupy_text import objection, types_of

METHODS = {"amax": "max", "amin": "min"}


@dataclass(frozen=True)
class Use:
    """A fetched array whose use is one number: ``int(frame.sum())``."""

    whole: ast.expr
    """``frame.sum()``: what becomes a Python number."""
    number: str
    """``int``, ``float`` or ``bool``."""
    function: str
    """The reduction; empty for one element."""
    rest: str
    """What follows the array in the text: ``.sum()``, ``[0, 5]``."""


def fetches(region: Region) -> Iterator[tuple[ast.Call, ast.Name]]:
    """``grid.get()`` and ``cp.asnumpy(grid)`` of a CuPy array, in the loop."""
    types = types_of(region)
    for node in sorted(tools.own_nodes(region.loop), key=_position):
        if not isinstance(node, ast.Call) or node.keywords:
            continue
        array: ast.expr | None = None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and not node.args:
            array = node.func.value
        elif meaning(region.source, node.func) == "cupy.asnumpy" and len(node.args) == 1:
            array = node.args[0]
        if isinstance(array, ast.Name) and types.on_device(array):
            yield node, array


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


# ------------------------------------------------------------------------ uses
def uses(region: Region, fetch: ast.Call) -> list[Use]:
    """All uses of what was fetched, if each of them is one number; else none."""
    source = region.source
    above = tools.parents(source)[fetch]
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]):
            scope = region.function or source.tree
            # frame is shown after the loop, or bound elsewhere as well
            if len(tools.stores(scope, name)) != 1 or objection(region, name) is not None:
                return []
            loads = tools.loads(scope, name)
            made = [_use(region, load) for load in loads]
            return [use for use in made if use] if all(made) else []
    use = _use(region, fetch)
    return [] if use is None else [use]


def _use(region: Region, node: ast.expr) -> Use | None:
    source = region.source
    above = tools.parents(source)[node]
    whole: ast.expr
    match above:
        case ast.Attribute(attr=attr) if attr in REDUCTIONS:
            call = tools.parents(source)[above]
            if not isinstance(call, ast.Call) or call.func is not above or _options(call):
                return None
            whole, function, rest = call, attr, f".{attr}()"
        case ast.Call(args=[argument]) if argument is node and not above.keywords:
            called = meaning(source, above.func) or ""
            function = called.removeprefix("numpy.")
            if function == called or function not in REDUCTIONS or function == "count_nonzero":
                return None
            whole, rest = above, f".{METHODS.get(function, function)}()"
        case ast.Subscript(value=value, slice=index) if value is node and _fixed(region, index):
            whole, function, rest = above, "", f"[{source.text(index)}]"
        case _:
            return None
    outside = tools.parents(source)[whole]
    if not isinstance(outside, ast.Call) or outside.args != [whole] or outside.keywords:
        return None
    number = outside.func.id if isinstance(outside.func, ast.Name) else ""
    # what stays a NumPy number on the host would be an array on the device
    if number not in ("int", "float", "bool") or not tools.is_builtin(source, number):
        return None
    return Use(whole, number, function, rest)


def _options(call: ast.Call) -> bool:
    return bool(call.args or call.keywords)


def _fixed(region: Region, index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    types = types_of(region)
    return all(types.of(part).what == "number" and types.of(part).kind == "i" for part in parts)
