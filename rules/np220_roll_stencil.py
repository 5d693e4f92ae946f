"""Take slices of one copy with a wrapped border instead of many ``np.roll`` copies.

Why it is slow: every ``np.roll`` allocates and fills a whole shifted copy, and a diagonal
neighbour takes two; a stencil needs each element only once, with one more cell around it.
Why it may differ: it does not while the array is an ordinary one; this is tested before each use,
and the sums are taken in the original order. Sums of small whole numbers are taken in single bytes
where a test of the values shows that they fit, and are returned in the original type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Region,
    Rewrites,
    Source,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import rolls
from gpuadvise.codegen.roll_groups import groups
from gpuadvise.codegen.wrapped import (
    Border,
    Group,
    changed_lines,
    extents,
    pure_sums,
    sums_cells,
    whole_lines,
    wrap_border,
)
from gpuadvise.names import free_name

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def diffuse(u, steps):
    for _ in range(steps):
        lap = (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0)
               + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1) - 4 * u)
        u = u + 0.1 * lap
    return u
""",
        inputs="args = (rng.random((17, 12)), 4)",
        function="diffuse",
        contains=("u_wrapped[:-2, 1:-1]",),
    ),
    Rewrites(
        before="""\
import numpy as np


def life(Z):
    N = sum(np.roll(np.roll(Z, i, 0), j, 1)
            for i in (-1, 0, 1) for j in (-1, 0, 1)
            if (i != 0 or j != 0))
    return ((N == 3) | ((Z == 1) & (N == 2))).astype(int)


def run(Z, steps):
    for _ in range(steps):
        Z = life(Z)
    return Z
""",
        inputs="args = (rng.integers(0, 2, (11, 14)), 3)",
        function="run",
        contains=("Z_wrapped[1 - i : 1 - i + Z.shape[0]",),
    ),
    Ignores(
        before="""\
import numpy as np


def advance(u, steps):
    for _ in range(steps):
        u = u - 0.5 * (u - np.roll(u, 1))
    return u
""",
        because="one roll is one copy, and so is the border",
        inputs="args = (rng.random(30), 3)",
        function="advance",
    ),
    Ignores(
        before="""\
import numpy as np


def spread(u, damp, steps):
    for _ in range(steps):
        u = np.roll(u, 1, 0) + damp(u) + np.roll(u, -1, 0) + np.roll(u, 1, 1)
    return u
""",
        because="damp may change u before the second roll looks at it",
        inputs="args = (rng.random((4, 4)), lambda u: u.sort() or 0.0, 2)",
        function="spread",
    ),
    Ignores(
        before="""\
import numpy as np


def means(u, steps):
    total = 0.0
    for _ in range(steps):
        total += np.roll(u, 1, 0).mean() + np.roll(u, -1, 0).std() + np.roll(u, 1, 1)[0, 0]
    return total
""",
        because="the mean of a slice adds in another order than the mean of a copy",
        inputs="args = (rng.random((5, 7)), 2)",
        function="means",
    ),
)

FEWEST = 3
"""Rolls of one array from which one copy with a border is cheaper than a copy for each."""


@rule(needs={"numpy"}, cases=CASES)
def roll_stencil(region: Region) -> Match | None:
    """A stencil made of rolls, in the hot loop or in a function that it calls."""
    edits: list[Edit] = []
    ledger: list[Condition] = []
    bases: list[str] = []
    taken: set[str] = set()
    for scope, block_holder in _scopes(region):
        for group in groups(region.source, block_holder):
            made = _rewrite(region, scope, group, taken)
            if made is not None:
                edits.append(made[0])
                ledger += made[1]
                bases.append(group.base)
    if not edits:
        return None
    arrays = " and ".join(dict.fromkeys(bases))
    return Match(
        edits=tuple(edits),
        why=f"every np.roll makes a whole shifted copy of {arrays}",
        change=f"slices of one copy of {arrays} with a wrapped border",
        needs=frozenset({"numpy"}),
        ledger=tuple(ledger),
    )


# ------------------------------------------------------------ where to look
def _scopes(region: Region) -> Iterator[tuple[tools.Scope, ast.AST]]:
    """The hot loop, and the functions of this file that it calls, directly or not."""
    source = region.source
    yield region.function or source.tree, region.loop
    known: dict[str, list[ast.FunctionDef]] = {}
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef):
            known.setdefault(node.name, []).append(node)
    seen: set[int] = {id(region.function)}
    todo: list[ast.AST] = [region.loop]
    while todo:
        for name in _called(todo.pop()):
            # By name alone, so perhaps one too many: the rewrite is right wherever it stands.
            for function in known.get(name, []):
                if id(function) not in seen:
                    seen.add(id(function))
                    todo.append(function)
                    yield function, function


def _called(node: ast.AST) -> Iterator[str]:
    """The last part of the name of everything called: ``step`` for ``self.model.step()``."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name


# ------------------------------------------------------------------- guards
def _rewrite(
    region: Region, scope: tools.Scope, group: Group, taken: set[str]
) -> tuple[Edit, list[Condition]] | None:
    source = region.source
    if not _same_array_throughout(source, scope, group):
        return None
    ndim = _ndim(region, group)
    border = _border(group, ndim)
    if ndim is None or border is None or not _worth_it(group):
        return None
    if not all(_may_be_slice(source, scope, roll) for roll in group.rolled):
        return None
    if not all(tools.stands_alone(source, statement) for statement in group.statements):
        return None
    return _emit(region, group, ndim, border, taken)


def _same_array_throughout(source: Source, scope: tools.Scope, group: Group) -> bool:
    """Whether the array stays what it is from the first roll to the last."""
    base = group.base
    root = base.partition(".")[0]
    if {rolls.dotted(roll.base) for roll in group.rolled} != {base}:
        return False
    # The second branch of an earlier rewrite holds the original for odd arrays.
    above = tools.parents(source)[group.statements[0]]
    if isinstance(above, ast.If) and group.statements[0] in above.orelse:
        tests = {rolls.dotted(n) for n in ast.walk(above.test) if isinstance(n, ast.Attribute)}
        if f"{base}.flags.c_contiguous" in tests:
            return False
    if not all(tools.is_builtin(source, name) for name in ("type", "min")):
        return False
    # u = np.roll(u, 1, 0) + damp(u) + np.roll(u, 1, 1)    damp may write into u in between
    if any(rolls.unknown_call(source, statement) for statement in group.statements):
        return False
    # class Grid: @property def u(self): return self.frames.pop()
    if "." in base and _is_computed(source, base.rpartition(".")[2]):
        return False
    # for dx in (-1, 1): u += np.roll(u, dx, 0)    rolls what the first pass made of u
    if isinstance(group.statements[0], ast.For):
        return _loop_leaves_alone(source, group.statements[0], root)
    # x = sum(np.roll(x, 1) for x in rows)    is another x
    comprehensions = (
        inner.target
        for statement in group.statements
        for inner in ast.walk(statement)
        if isinstance(inner, ast.comprehension)
    )
    return not any(tools.stores(target, root) for target in comprehensions)


def _is_computed(source: Source, attribute: str) -> bool:
    functions = (n for n in source.nodes if isinstance(n, ast.FunctionDef))
    return any(
        function.name in (attribute, "__getattr__", "__getattribute__") for function in functions
    )


def _loop_leaves_alone(source: Source, loop: ast.For, root: str) -> bool:
    """Whether a loop over shifts writes to names only, to none that may share the array."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Name) and node.id == root and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.While | ast.With | ast.Try | ast.Delete | ast.Return):
            return False
        # total = u    then    for dx in (-1, 1): total += np.roll(u, dx, 0)    changes u as well
        if isinstance(node, ast.AugAssign):
            target = node.target
            if not isinstance(target, ast.Name) or not _made_before(source, loop, target.id):
                return False
    return not loop.orelse


def _made_before(source: Source, loop: ast.For, name: str) -> bool:
    block = tools.block_of(source, loop)
    for statement in reversed(block[: block.index(loop)]):
        if tools.stores(statement, name):
            made = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
            if not made or len(statement.targets) != 1:  # type: ignore[attr-defined]
                return False
            value = statement.value  # type: ignore[attr-defined]
            makers = {"zeros", "zeros_like", "ones", "ones_like", "full", "full_like"}
            return rolls.integer(value) is not None or (
                tools.numpy_function(source, value) in makers
            )
        # other = total    between the two gives the array a second name
        if tools.loads(statement, name):
            return False
    return False


def _ndim(region: Region, group: Group) -> int | None:
    """Dimensions the rewrite is written for; the emitted guard tests them."""
    axes = {axis for roll in group.rolled for axis in roll.shifts}
    if None in axes:
        return 1 if axes == {None} else None
    known = [axis for axis in axes if axis is not None]
    needed = max([axis + 1 for axis in known] + [-axis for axis in known])
    seen = region.observation.values.get(group.base) if region.observation else None
    if seen is not None and seen.kind == "ndarray" and seen.ndim is not None:
        return seen.ndim if seen.ndim >= needed else None
    return needed


def _border(group: Group, ndim: int | None) -> Border | None:
    """Cells needed before and after along each axis."""
    if ndim is None:
        return None
    border = [(0, 0)] * ndim
    for roll in group.rolled:
        along = [0 if axis is None else axis % ndim for axis in roll.shifts]
        # np.roll(np.roll(u, 1, axis=0), 1, axis=-2)    shifts one axis twice
        if len(set(along)) < len(along):
            return None
        for at, (low, high) in zip(along, roll.values(group.names).values(), strict=True):
            before, after = border[at]
            border[at] = (max(before, high, 0), max(after, -low, 0))
    return tuple(border) if max(max(pair) for pair in border) <= 8 else None


def _worth_it(group: Group) -> bool:
    count = 0
    for roll in group.rolled:
        times = 1
        for shift in roll.shifts.values():
            times *= len(group.names[shift.name]) if shift.name is not None else 1
        count += times
    return count >= FEWEST


def _may_be_slice(source: Source, scope: tools.Scope, roll: rolls.Roll) -> bool:
    """Whether a slice of the bordered copy can stand where the rolled copy stood."""
    if rolls.only_elementwise(source, roll.node):
        return True
    # up = np.roll(u, 1, 0)    and later   up += 1   would change its neighbours' slices
    holder = tools.parents(source)[roll.node]
    if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
        return False
    target = holder.targets[0]
    if not isinstance(target, ast.Name) or isinstance(scope, ast.Module):
        return False
    name = target.id
    alone = len(tools.stores(scope, name)) == 1 and tools.deferred_uses(source, scope, name) is None
    return (
        alone
        and tools.reads_frames(scope) is None
        and all(rolls.only_elementwise(source, use) for use in tools.loads(scope, name))
    )


# -------------------------------------------------------------------- text
def _emit(
    region: Region,
    group: Group,
    ndim: int,
    border: Border,
    taken: set[str],
) -> tuple[Edit, list[Condition]] | None:
    source = region.source
    unit = tools.indent_unit(source)
    original = tools.shifted(source, group.statements, unit)
    base = group.base
    wrapped = free_name(source, f"{base.rpartition('.')[2]}_wrapped", taken)
    taken.add(wrapped)
    terms = None if _seen_as_float(region, group) else pure_sums(source, group)
    changed = changed_lines(source, group, terms, wrapped, border)
    if original is None or changed is None:
        return None
    numpy = tools.module_alias(source, "numpy")
    width = max(max(pair) for pair in border)
    # 0 + True is 1: the built-in sum() of truth values gives integers
    kinds = "iuf" if terms is not None and sums_cells(group) else "biuf"
    tests = (
        f"if type({base}) is {numpy}.ndarray and {base}.ndim == {ndim} "
        f'and {base}.dtype.kind in "{kinds}"'
    )
    copy = _wrapping(source, base, wrapped, border, terms, str(numpy), taken)
    lines = [
        f"{tests} and {base}.flags.c_contiguous and min({base}.shape) >= {width}:",
        *[unit + line for line in copy],
        *[unit + line if line else "" for line in changed],
        "else:",
        *original,
    ]
    if len(lines[0]) + len(tools.indent_of(source, group.statements[0])) > 99:
        lines[:1] = [
            f"{tests.replace('if ', 'if (', 1)}",
            f"{unit}{unit}and {base}.flags.c_contiguous and min({base}.shape) >= {width}):",
        ]
    first, last = group.statements[0], group.statements[-1]
    indent = tools.indent_of(source, first)
    text = "\n".join(indent + line if line else "" for line in lines)
    start, end = whole_lines(source, first, last)
    whole = f"{tests.removeprefix('if ')} and {base}.flags.c_contiguous"
    whole += f" and min({base}.shape) >= {width}"
    return Edit(start, end, text), _conditions(group, ndim, width, terms, whole)


def _seen_as_float(region: Region, group: Group) -> bool:
    """Whether single bytes would never be used: then nothing is written about them."""
    seen = region.observation.values.get(group.base) if region.observation else None
    return seen is not None and (seen.dtype or "").startswith("float")


def _wrapping(
    source: Source,
    base: str,
    wrapped: str,
    border: Border,
    terms: int | None,
    numpy: str,
    taken: set[str],
) -> list[str]:
    """The statements that make the copy."""
    lines = []
    dtype = f"{base}.dtype"
    if terms is not None:
        stem = base.rpartition(".")[2]
        small = free_name(source, f"{stem}_is_small", taken)
        dtype = free_name(source, f"{stem}_dtype", taken)
        taken |= {small, dtype}
        lines += [
            f"# sums of {terms} cells up to {255 // terms} fit into single bytes",
            f'{small} = {base}.dtype.kind in "iu" and {base}.itemsize > 1',
            f"{small} = {small} and {base}.min() >= 0 and {base}.max() <= {255 // terms}",
            f"{dtype} = {numpy}.uint8 if {small} else {base}.dtype",
        ]
    return [
        *lines,
        "# one copy with its border wrapped round, instead of one for every np.roll",
        f"{wrapped} = {numpy}.empty({extents(base, border)}, {dtype})",
        *wrap_border(base, wrapped, border),
    ]


def _conditions(
    group: Group, ndim: int, width: int, terms: int | None, whole: str
) -> list[Condition]:
    base, line = group.base, f"line {group.statements[0].lineno}"
    found = [
        Condition(
            f"{base} is an ordinary {ndim}-dimensional array of at least {width} along each axis",
            Basis.OBSERVED,
            line,
            guarded=True,
            test=whole,
        ),
        Condition(
            f"nothing changes {base} between the first and the last roll, and the rolled copies "
            "go into arithmetic only",
            Basis.PROVED,
            line,
        ),
    ]
    if terms is not None:
        text = f"single bytes are used only where all of {base} lies in 0..{255 // terms}"
        test = f"{base}.min() >= 0 and {base}.max() <= {255 // terms}"
        found.append(Condition(text, Basis.OBSERVED, line, guarded=True, test=test))
    return found
