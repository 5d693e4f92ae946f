"""A hot loop over whole arrays with the arrays for its results made once, in front of it."""

from __future__ import annotations

import ast

from ..edits import PatchError
from ..layout import LEVEL, reindent, replace_statement
from ..model import Basis, Condition, Edit, Refusal, Region
from . import ast_tools as tools
from .bf_flow import Flow, Unsupported
from .bf_inline import CannotInline, Inliner
from .bf_text import Writer, header
from .bf_uses import all_calls_known
from .bf_values import Array, Axis, Scalar, from_observation
from .wrapped import extents

FEWEST = 1000
"""Elements below which a new array comes from NumPy's own store of small blocks, for nothing."""
_CAUGHT = frozenset({"FloatingPointError", "RuntimeWarning", "ArithmeticError", "Warning"})
_RESHAPING = frozenset({"resize", "setflags", "__setstate__", "byteswap", "partition"})


def buffered(region: Region) -> tuple[Edit, tuple[Condition, ...], int] | Refusal | None:
    """The loop with buffers in front of it: the edit, its ledger, and how many buffers.

    None where the loop does no arithmetic on whole arrays that are worth a buffer.
    """
    made = None
    reason = "no result may go into a buffer: each is kept, handed on, or of varying shape or type"
    try:
        if not may_look(region):
            reason = "the loop, or the file around it, does more than can be followed"
        else:
            made = _buffered(region)
    except CannotInline:
        reason = "a function that the loop calls cannot be written out in the loop"
    except PatchError as error:
        reason = str(error)
    if made is not None:
        return made
    line = _whole_array_line(region)
    return None if line is None else Refusal(f"the arrays cannot be reused: {reason}", line)


def _whole_array_line(region: Region) -> int | None:
    """The first arithmetic on a whole array of some size, by name: ``u * v``, not ``u[i] * 2``."""
    if region.observation is None:
        return None
    seen = region.observation.values
    for node in tools.own_nodes(region.loop):
        if isinstance(node, ast.BinOp):
            for operand in (node.left, node.right):
                info = seen.get(ast.unparse(operand))
                if (
                    info is not None
                    and info.kind == "ndarray"
                    and _is_large(region, ast.unparse(operand))
                ):
                    return node.lineno
    return None


def _buffered(region: Region) -> tuple[Edit, tuple[Condition, ...], int] | None:
    inliner = Inliner(region)
    body = inliner.block(region.loop.body)
    flow = flow_of(region, inliner, body)
    if flow is None:
        return None
    writer = Writer(region.source, flow, inliner.name, nobody_looks(region))
    lines = writer.block(body, 2)
    if not writer.made and not writer.bordered:
        return None
    guard, ledger = _guard(region, inliner, flow, writer)
    arrays = _arrays(writer, flow)
    if guard is None or arrays is None:
        return None
    source, loop = region.source, region.loop
    text = [
        *guard,
        *[LEVEL + line for line in arrays],
        LEVEL + header(loop, source),
        *lines,
        *_otherwise(region),
        "else:",
        *reindent(source, loop, 1).split("\n"),
    ]
    count = len(writer.made) + len(writer.bordered)
    return replace_statement(source, loop, text), ledger, count


def _otherwise(region: Region) -> list[str]:
    if not region.loop.orelse:
        return []
    block = reindent(region.source, region.loop.orelse, 2)
    return [LEVEL + "else:", *block.split("\n")]


def may_look(region: Region) -> bool:
    """Whether the text allows to reason about this loop at all."""
    source = region.source
    if region.observation is None or tools.module_alias(source, "numpy") is None:
        return False
    if region.function is None and region.loop not in tools.own_nodes(source.tree):
        return False
    if not tools.stands_alone(source, region.loop) or tools.reads_frames(source.tree) is not None:
        return False
    if not all(
        tools.is_builtin(source, name) for name in ("type", "all", "float", "int", "complex", "min")
    ):
        return False
    for node in source.nodes:
        # u.shape = (n, m)    changes a buffer's shape under our feet
        if isinstance(node, ast.Attribute):
            stored = not isinstance(node.ctx, ast.Load)
            if node.attr in _RESHAPING or (stored and node.attr in ("shape", "dtype", "strides")):
                return False
    odd = ast.Await | ast.Try | ast.TryStar | ast.Delete
    return not any(isinstance(n, odd) for n in ast.walk(region.loop))


def nobody_looks(region: Region) -> bool:
    """Whether no handler could see an array half-way after an operation raised.

    ``with np.errstate(all="raise")`` and ``except FloatingPointError: save(u)``
    """
    scope = region.function or region.source.tree
    around = tools.handlers_around(region.source, scope, region.loop)
    if isinstance(around, ast.With):
        items = [tools.numpy_function(region.source, item.context_expr) for item in around.items]
        around = None if set(items) == {"errstate"} else around
    return around is None and tools.catches(region.source, _CAUGHT) is None


def flow_of(region: Region, inliner: Inliner, body: list[ast.stmt]) -> Flow | None:
    """What is known of each name before each statement; None where that cannot be followed."""
    assert region.observation is not None
    known = from_observation(dict(region.observation.values))
    head = region.loop.iter if isinstance(region.loop, ast.For) else region.loop.test
    attributes = all_calls_known(region.source, [ast.Expr(head), *body])
    attributes = attributes and not _computes_attributes(region)
    entry = {
        name: value
        for name, value in known.items()
        if _is_steady(region, inliner, name, attributes) and _is_bound(region, name)
    }
    if not any(_is_large(region, name) for name in entry):
        return None
    objects = _plain_objects(region) if attributes else frozenset()
    flow = Flow(region.source, entry, objects, _captured(region, body))
    if not nobody_looks(region):
        flow.escaped |= {id(node) for stmt in body for node in ast.walk(stmt)}
    loop = type(region.loop)(**{**vars(region.loop), "body": body})
    try:
        flow.loop(loop, dict(entry))
    except Unsupported:
        return None
    return flow


def _is_large(region: Region, name: str) -> bool:
    assert region.observation is not None
    size = 1
    for extent in region.observation.values[name].max_shape or (0,):
        size *= extent
    return size >= FEWEST


def _is_steady(region: Region, inliner: Inliner, name: str, attributes: bool) -> bool:
    """Whether only the loop's own statements can bind the name while it runs."""
    root, dot, _ = name.partition(".")
    if dot and not attributes:
        return False
    scope = region.function or region.source.tree
    for node in region.source.nodes:
        if isinstance(node, ast.Global | ast.Nonlocal) and root in node.names:
            return False
    if region.function is None:
        return True
    nested = (n for n in ast.walk(scope) if isinstance(n, tools.SCOPES) and n is not scope)
    return not any(tools.stores(n, root) for n in nested)


def _is_bound(region: Region, name: str) -> bool:
    """Whether the guard may read the name: it has a value whenever the loop is reached."""
    function, root = region.function, name.partition(".")[0]
    if function is None or not tools.stores(function, root):
        return True
    if any(isinstance(n, ast.arg) and n.arg == root for n in ast.walk(function.args)):
        return True
    block: ast.AST = region.loop
    for above in [*tools.ancestors(region.source, region.loop)]:
        for part in getattr(above, "body", []):
            if part is block:
                break
            kinds = ast.Assign | ast.AnnAssign | ast.With
            if isinstance(part, kinds) and tools.stores(part, root):
                return True
        block = above
        if above is function:
            break
    return False


def _captured(region: Region, body: list[ast.stmt]) -> frozenset[str]:
    """Names through which functions may see arrays of the loop, and hold on to them."""
    scope = region.function or region.source.tree
    called = {
        getattr(n.func, "attr", getattr(n.func, "id", None))
        for statement in body
        for n in ast.walk(statement)
        if isinstance(n, ast.Call)
    }
    known = all_calls_known(region.source, body)
    # global u; for i in range(n): u = v + w; remember()    and remember() keeps u
    found = {
        name
        for n in region.source.nodes
        if isinstance(n, ast.Global | ast.Nonlocal)
        for name in n.names
    }
    for node in ast.walk(scope):
        if isinstance(node, tools.SCOPES) and node is not scope:
            # At module level a function that is not called now may be so later, without harm.
            relevant = region.function is not None or getattr(node, "name", None) in called
            if relevant or not known:
                found |= {n.id for n in tools.names_in(node)}
    return frozenset(found)


def _plain_objects(region: Region) -> frozenset[str]:
    """Names of objects whose classes, with all bases, are classes of this file."""
    assert region.observation is not None
    classes = {n.name: n for n in region.source.tree.body if isinstance(n, ast.ClassDef)}

    def is_plain(name: str, below: tuple[str, ...] = ()) -> bool:
        known = classes.get(name)
        if known is None or name in below:
            return False
        bases = [getattr(base, "id", "?") for base in known.bases]
        return all(base == "object" or is_plain(base, (*below, name)) for base in bases)

    return frozenset(
        name
        for name, info in region.observation.values.items()
        if info.kind == "object" and is_plain(info.type_name.rpartition(".")[2])
    )


def _computes_attributes(region: Region) -> bool:
    special = {"__getattr__", "__getattribute__", "__setattr__", "__slots__"}
    return any(
        isinstance(n, ast.FunctionDef)
        and (n.name in special or any(_is_property(d) for d in n.decorator_list))
        for n in region.source.nodes
    )


def _is_property(node: ast.expr) -> bool:
    return any(
        getattr(n, "id", getattr(n, "attr", "")) in ("property", "cached_property", "setter")
        for n in ast.walk(node)
    )


# --------------------------------------------------------------------- guard
def _guard(
    region: Region, inliner: Inliner, flow: Flow, writer: Writer
) -> tuple[list[str] | None, tuple[Condition, ...]]:
    """The test of everything that was only observed."""
    numpy = tools.module_alias(region.source, "numpy")
    used = {name: value for name, value in flow.entry.items() if name in flow.consulted}
    arrays = {name: value for name, value in used.items() if isinstance(value, Array)}
    if not arrays:
        return None, ()
    tests = [f"type({name}) is {home}" for name, home in inliner.receivers.items()]
    for dtype in dict.fromkeys(value.dtype for value in arrays.values()):
        names = [name for name, value in arrays.items() if value.dtype == dtype]
        tests += are_arrays(
            inliner, names, f"{numpy}.{dtype}{'_' if dtype == 'bool' else ''}", numpy
        )
    tests += shapes_alike(arrays)
    tests += _room(arrays, writer)
    for kind in ("float", "int", "complex", "float64"):
        names = [n for n, value in used.items() if value == Scalar(kind)]
        text = f"{numpy}.float64" if kind == "float64" else kind
        if len(names) > 1:
            tests.append(f"all(type(x) is {text} for x in ({', '.join(names)}))")
        elif names:
            tests.append(f"type({names[0]}) is {text}")
    proved = "no name holds an array any more when it is written over, and nothing else can"
    ledger: tuple[Condition, ...] = (
        Condition("the same operations run in the same order", Basis.PROVED),
        Condition(proved, Basis.PROVED, "lines {}-{}".format(*region.lines)),
    )
    ledger += tuple(
        Condition(" ".join(test.split()), Basis.OBSERVED, guarded=True) for test in tests
    )
    if len(tests) == 1:
        return [f"if {tests[0]}:"], ledger
    return ["if (", LEVEL + tests[0], *[f"{LEVEL}and {t}" for t in tests[1:]], "):"], ledger


def are_arrays(inliner: Inliner, names: list[str], dtype: str, numpy: str | None) -> list[str]:
    """Tests that the names stand for plain arrays of the dtype."""
    # carray: contiguous and writeable, so that no store into u raises in other words than before
    checks = f"type({{0}}) is {numpy}.ndarray", f"{{0}}.dtype == {dtype}", "{0}.flags.carray"
    if len(names) == 1:
        return [check.format(names[0]) for check in checks]
    variable = "a" if inliner.region.function is None else inliner.name("array")
    every = " and ".join(check.format(variable) for check in checks)
    return [
        f"all(\n{LEVEL * 2}{every}\n{LEVEL * 2}for {variable} in ({', '.join(names)})\n{LEVEL})"
    ]


def shapes_alike(arrays: dict[str, Array]) -> list[str]:
    """Tests that the arrays' shapes go together as they did when they were observed."""
    tests = []
    first: dict[str, tuple[str, Array]] = {}
    for name, value in arrays.items():
        family = value.shape[0].base
        if family not in first:
            first[family] = (name, value)
            tests.append(f"{name}.ndim == {len(value.shape)}")
            continue
        other, known = first[family]
        more = [a.cut - b.cut for a, b in zip(known.shape, value.shape, strict=True)]
        if not any(more):
            tests.append(f"{name}.shape == {other}.shape")
            continue
        extents = [f"{other}.shape[{axis}]{_plus(n)}" for axis, n in enumerate(more)]
        tests.append(f"{name}.shape == ({', '.join(extents)}{',' * (len(extents) == 1)})")
    return tests


def _room(arrays: dict[str, Array], writer: Writer) -> list[str]:
    """The arrays are at least as wide as their borders: a shift by 3 of two cells is one by 1."""
    least: dict[str, int] = {}
    for (shape, _), border in writer.bordered.values():
        name = next(n for n, v in arrays.items() if v.shape[0].base == shape[0].base)
        less = max(a.cut - b.cut for a, b in zip(shape, arrays[name].shape, strict=True))
        width = max(max(pair) for pair in border) + max(less, 0)
        least[name] = max(least.get(name, 0), width)
    return [f"min({name}.shape) >= {width}" for name, width in least.items()]


def _plus(number: int) -> str:
    return "" if number == 0 else f" + {number}" if number > 0 else f" - {-number}"


# -------------------------------------------------------------------- arrays
def _arrays(writer: Writer, flow: Flow) -> list[str] | None:
    lines = []
    for name, (shape, dtype) in writer.made.items():
        like = _example(shape, dtype, flow)
        if like is None:
            return None
        lines.append(f"{name} = {writer.numpy}.empty_like({like})")
    for name, ((shape, dtype), border) in writer.bordered.items():
        like = _example(shape, dtype, flow)
        if like is None or ", dtype=" in like:
            return None
        lines.append(f"{name} = {writer.numpy}.empty({extents(like, border)}, {like}.dtype)")
    return lines


def _example(shape: tuple[Axis, ...], dtype: str, flow: Flow) -> str | None:
    """An array, or a part of one, that has the shape (and the dtype, or it is said)."""
    best: tuple[bool, int, str] | None = None
    for name, value in flow.entry.items():
        if not isinstance(value, Array) or name not in flow.consulted:
            continue
        if [(a.base, a.axis) for a in shape] != [(a.base, a.axis) for a in value.shape]:
            continue
        cuts = [a.cut - b.cut for a, b in zip(shape, value.shape, strict=True)]
        if min(cuts) >= 0:
            other = value.dtype != dtype
            kind = f"dtype={_dtype_text(dtype)}"
            text = name if not any(cuts) else f"{name}[{', '.join(map(_part, cuts))}]"
            this = (other, sum(cuts), f"{text}, {kind}" if other else text)
            best = this if best is None else min(best, this)
    return best[2] if best else None


def _dtype_text(dtype: str) -> str:
    return "bool" if dtype == "bool" else repr(dtype).replace("'", '"')


def _part(cut: int) -> str:
    return ":" if cut == 0 else "1:" if cut == 1 else f"{cut - 1}:-1"
