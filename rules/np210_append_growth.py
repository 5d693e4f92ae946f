"""Collect the pieces in a list and join them once, instead of growing an array in a loop.

Why it is slow: ``np.append``, ``np.vstack``, ``np.hstack`` and ``np.concatenate`` copy the whole
array for every piece, so n pieces cost about n * n / 2 copied elements.
Why it may differ: the array's type could change with a late piece (integers, then a float); the
emitted helper lets the first piece settle the type and falls back to growing piece by piece
where a later one would change it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Refusal,
    Region,
    Rewrites,
    Source,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.names import free_name

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def orbit(r, x, steps):
    values = np.array([])
    for _ in range(steps):
        x = r * x * (1 - x)
        values = np.append(values, x)  # logistic map
    return values
""",
        inputs="args = (3.7, 0.4, 50)",
        function="orbit",
        contains=("values_pieces.append(np.array(x, subok=True))  # logistic map",),
    ),
    Rewrites(
        before="""\
import numpy as np


def path(start, velocity, steps):
    position = start.copy()
    track = start[None, :]
    k = 0
    while k < steps:
        position += velocity
        if k % 2 == 0: track = np.vstack((track, position))
        k += 1
    return track
""",
        inputs="args = (np.zeros(3), np.array([1.0, 0.5, -2.0]), 9)",
        function="path",
    ),
    Rewrites(
        before="""\
import numpy as np


def squares(n):
    found = []
    kinds = np.array([1, 2])
    for i in range(n):
        found = np.append(found, i * i)
        kinds = np.concatenate([kinds, [i, i + 0.5]])
    return found, kinds
""",
        inputs="args = (12,)",
        function="squares",
    ),
    Ignores(
        before="""\
import numpy as np


def fibonacci(n):
    x = np.array([0, 1])
    for _ in range(n):
        x = np.append(x, x[-1] + x[-2])
    return x
""",
        because="the loop reads the array while it grows",
        inputs="args = (20,)",
        function="fibonacci",
        reason="reads x while it grows",
    ),
    Ignores(
        before="""\
import numpy as np


def collect(values):
    out = np.array([])

    def report():
        return out.size

    sizes = []
    for v in values:
        out = np.append(out, v)
        sizes.append(report())
    return sizes
""",
        because="a nested function sees the array grow",
        inputs="args = ([1.0, 2.0, 3.0],)",
        function="collect",
        reason="mentioned in a nested function",
    ),
    Ignores(
        before="""\
import numpy as np


def parse(words):
    out = np.array([])
    try:
        for w in words:
            out = np.append(out, float(w))
    except ValueError:
        pass
    return out
""",
        because="the handler shows what had been collected when a word was no number",
        inputs="args = (['1', '2', 'x', '3'],)",
        function="parse",
        reason="try",
    ),
    Ignores(
        before="""\
import numpy as np


def prepend(n):
    out = np.array([])
    for i in range(n):
        out = np.append(i, out)
    return out
""",
        because="grows at the front; the order of the pieces would be turned round",
        inputs="args = (10,)",
        function="prepend",
    ),
)

_STACKS = frozenset({"vstack", "hstack", "column_stack", "concatenate"})
_JOIN_ERRORS = frozenset({"ValueError", "TypeError"})


@dataclass(frozen=True)
class Growth:
    """One statement ``array = np.append(array, piece)``."""

    statement: ast.Assign
    array: str
    function: str
    """``append``, ``vstack`` .."""
    axis: str
    """Text of the axis argument with its comma (``", axis=0"``), or nothing."""
    first: ast.Name
    """Where the statement itself reads the array."""
    piece: ast.expr


@rule(needs={"numpy"}, cases=CASES)
def append_growth(region: Region) -> Match | Refusal | None:
    """The hot loop grows arrays that it does not otherwise use."""
    grown = _growths(region)
    if not grown:
        return None
    refusal: Refusal | None = None
    edits: list[Edit] = []
    done: list[str] = []
    for name in dict.fromkeys(growth.array for growth in grown):
        growths = [growth for growth in grown if growth.array == name]
        objection = _objection(region, name, growths)
        if objection is None:
            made = _edits(region, name, growths)
            edits += made
            done += [name] if made else []
        refusal = refusal or objection
    if not done:
        return refusal
    names = " and ".join(done)
    function = grown[0].function
    return Match(
        edits=tuple(edits),
        why=f"np.{function} copies all of {names} for every piece that is added",
        change=f"collect the pieces of {names} in a list and join them once after the loop",
        needs=frozenset({"numpy"}),
        ledger=_ledger(region, names),
        differences=(
            "a piece that cannot be joined raises its error after the loop instead of in it; "
            "nothing in this file catches that error",
            "the pieces are held in memory until the loop has ended",
        ),
    )


def _ledger(region: Region, names: str) -> tuple[Condition, ...]:
    first, last = region.lines
    numpy = tools.module_alias(region.source, "numpy")
    return (
        Condition(
            f"nothing else in the loop reads or changes {names}",
            Basis.PROVED,
            f"lines {first}-{last}",
        ),
        Condition(
            "the pieces are copied when they are collected",
            Basis.PROVED,
            f"lines {first}-{last}",
        ),
        Condition(
            "no piece changes the type of the array",
            Basis.OBSERVED,
            guarded=True,
            test=f"{numpy}.promote_types(array.dtype, piece.dtype) == array.dtype",
        ),
    )


# ------------------------------------------------------------------ detection
def _growths(region: Region) -> list[Growth]:
    found = []
    for node in tools.own_nodes(region.loop):
        if isinstance(node, ast.Assign):
            growth = _growth(region.source, node)
            if growth is not None:
                found.append(growth)
    return sorted(found, key=lambda growth: growth.statement.lineno)


def _growth(source: Source, node: ast.Assign) -> Growth | None:
    function = tools.numpy_function(source, node.value)
    if function is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    call = node.value
    assert isinstance(call, ast.Call)
    axis = _axis(source, call)
    parts = _parts(call, function)
    if axis is None or parts is None:
        return None
    first, piece = parts
    name = node.targets[0].id
    if not isinstance(first, ast.Name) or first.id != name or isinstance(piece, ast.Starred):
        return None
    return Growth(node, name, function, axis, first, piece)


def _axis(source: Source, call: ast.Call) -> str | None:
    """The axis keyword as text, None if there are other keywords (``dtype=``, ``casting=``)."""
    if not call.keywords:
        return ""
    if len(call.keywords) > 1 or call.keywords[0].arg != "axis":
        return None
    value = call.keywords[0].value
    return f", axis={source.text(value)}" if isinstance(value, ast.Constant) else None


def _parts(call: ast.Call, function: str) -> tuple[ast.expr, ast.expr] | None:
    if function == "append" and len(call.args) == 2:
        return call.args[0], call.args[1]
    if function in _STACKS and len(call.args) == 1:
        sequence = call.args[0]
        if isinstance(sequence, ast.Tuple | ast.List) and len(sequence.elts) == 2:
            return sequence.elts[0], sequence.elts[1]
    return None


# --------------------------------------------------------------------- guards
def _objection(region: Region, name: str, growths: list[Growth]) -> Refusal | None:
    loop, source = region.loop, region.source
    scope: tools.Scope = region.function or source.tree
    own = {id(growth.first) for growth in growths}
    read = next((use for use in tools.loads(loop, name) if id(use) not in own), None)
    if read is not None:
        # x = np.append(x, x[-1] + dx)  and  while x.size < n:  see every length it has.
        return Refusal(
            f"the loop reads {name} while it grows (line {read.lineno})",
            read.lineno,
            f"collect into a list, and use the list's last item or length instead of {name}'s",
        )
    if len(tools.stores(loop, name)) != len(growths):
        # x = np.array([]) at the top of each pass starts again; the pieces would pile up.
        return Refusal(f"the loop also assigns {name} otherwise", loop.lineno)
    if len({(growth.function, growth.axis) for growth in growths}) > 1:
        # np.append(m, v) flattens what np.vstack((m, row)) had stacked.
        return Refusal(f"the loop grows {name} in more than one way", loop.lineno)
    seen = tools.deferred_uses(source, scope, name)
    if seen is not None:
        # def report(): print(out.size)   called in the loop
        line = getattr(seen, "lineno", loop.lineno)
        return Refusal(f"{name} is mentioned in a nested function or declared global", line)
    frames = tools.reads_frames(scope)
    if frames is not None:
        # print(locals())  shows the array half-way
        return Refusal(f"{frames.id}() can see {name} at any moment", frames.lineno)
    shadowed = next((n for n in ("type", "all") if not tools.is_builtin(source, n)), None)
    if shadowed is not None:
        # type = "linear" at the top of the file: the helper would call a string
        return Refusal(f"the file gives {shadowed} another meaning", loop.lineno)
    return _exits(region, scope, name)


def _exits(region: Region, scope: tools.Scope, name: str) -> Refusal | None:
    loop, source = region.loop, region.source
    if loop.orelse:
        # for .. else: print(out)   would come before the joining
        return Refusal("the loop has an else branch, which could read the array", loop.lineno)
    around = tools.handlers_around(source, scope, loop)
    if around is not None:
        # try: for w in words: out = np.append(out, float(w))
        # except ValueError: pass     leaves what had been collected so far
        return Refusal(f"a try or with around the loop can see {name} half-way", around.lineno)
    handler = tools.catches(source, _JOIN_ERRORS)
    if handler is not None:
        # try: grow() except ValueError: ..   the misfit would be noticed later than before
        return Refusal("an error in growing the array might be caught", handler)
    return None


# ---------------------------------------------------------------------- edits
def _edits(region: Region, name: str, growths: list[Growth]) -> list[Edit]:
    source, loop = region.source, region.loop
    if not tools.stands_alone(source, loop):
        return []
    growth = growths[0]
    numpy = tools.module_alias(source, "numpy")
    assert numpy is not None
    pieces = free_name(source, f"{name}_pieces")
    helper, text = _helper(source, growth, numpy)
    below = tools.below_imports(source, "numpy", text)
    if below is None or any(_has_comment(source, g) for g in growths):
        return []
    edits = [
        below,
        tools.insert_before(source, loop, [f"{pieces} = []"]),
        tools.insert_after(source, loop, [f"{name} = {helper}({name}, {pieces})"]),
    ]
    for each in growths:
        start, end = source.span(each.statement)
        piece = source.text(each.piece)
        edits.append(Edit(start, end, f"{pieces}.append({numpy}.array({piece}, subok=True))"))
    return edits


def _has_comment(source: Source, growth: Growth) -> bool:
    """A comment inside a statement of several lines would be lost."""
    text = source.text(growth.statement)
    return "\n" in text and "#" in text


def _helper(source: Source, growth: Growth, numpy: str) -> tuple[str, list[str]]:
    """The name and the text of the function that joins the pieces."""
    suffix = "" if not growth.axis else "_axis_" + growth.axis.rpartition("=")[2].replace("-", "m")
    name = free_name(source, f"_{growth.function}_all{suffix}")
    step = f"{numpy}.{growth.function}(({{}}, {{}}){growth.axis})"
    join = f"{numpy}.{growth.function}([array, *same_type]{growth.axis})"
    piece = "piece"
    if growth.function == "append":
        step = f"{numpy}.append({{}}, {{}}{growth.axis})"
        join = f"{numpy}.concatenate([array, *same_type]{growth.axis})"
        piece = "piece" if growth.axis else "piece.ravel()"
    tab = tools.indent_unit(source)
    lines = [
        f"def {name}(array, pieces):",
        f'{tab}"""What ``array = {step.format("array", "piece")}`` for every piece leaves."""',
        f"{tab}if not pieces:",
        f"{tab}{tab}return array",
        f"{tab}array = {step.format('array', 'pieces[0]')}",
        f"{tab}rest = pieces[1:]",
        f"{tab}# A piece of another type may change the array's type: then they go in one by one.",
        f"{tab}if rest and type(array) is {numpy}.ndarray and all(",
        f"{tab}{tab}type(piece) is {numpy}.ndarray",
        f"{tab}{tab}and {numpy}.promote_types(array.dtype, piece.dtype) == array.dtype",
        f"{tab}{tab}for piece in rest",
        f"{tab}):",
        f"{tab}{tab}same_type = [{piece}.astype(array.dtype, copy=False) for piece in rest]",
        f"{tab}{tab}return {join}",
        f"{tab}for piece in rest:",
        f"{tab}{tab}array = {step.format('array', 'piece')}",
        f"{tab}return array",
    ]
    return name, lines
