"""numba.cuda code as text: which arguments of a kernel are arrays, which it writes, who moves them.

Everything here is proved by the text of one file; what is not certain comes back as None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..codegen import list_uses
from ..model import Region, Source
from . import basics

Loop = ast.For | ast.While
_PLAIN_CALLS = frozenset({"range", "len", "int", "float", "min", "max", "abs", "round", "bool"})
"""Built-ins that a kernel hands a scalar to; they keep and write no array."""
_SHAPE = frozenset({"shape", "size", "ndim"})
_ON_DEVICE = ("to_device", "device_array", "mapped_array", "managed_array", "pinned_array")
_MAKERS = frozenset({"zeros", "ones", "empty", "full", "arange"})
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})


# --------------------------------------------------------------------- kernels
@dataclass(frozen=True)
class Use:
    """What a kernel does with one of its parameters."""

    indexed: bool
    written: bool
    """Certainly not written where False."""
    known: bool
    """False: it goes to a function, or gets another name, and may be indexed there."""


def use_of(source: Source, kernel: ast.FunctionDef, name: str) -> Use:
    """How a kernel uses a parameter: ``x[i]``, ``x.shape``, ``cuda.atomic.add(x, 0, 1)``."""
    indexed = written = False
    known = not tools.stores(kernel, name)
    above = tools.parents(source)
    for use in tools.loads(kernel, name):
        holder = above[use]
        match holder:
            case ast.Subscript(value=value, ctx=ctx) if value is use:
                indexed = True
                written = written or not isinstance(ctx, ast.Load)
                known = known and not _row_escapes(source, kernel, holder)
            case ast.Attribute(attr=attr):
                known = known and attr in _SHAPE
            case ast.Call(func=func, args=args) if use in args:
                called = basics.meaning(source, func) or ""
                if called.startswith("numba.cuda.atomic."):
                    indexed = written = True
                elif not _is_plain(source, func, called):
                    known = False
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                pass  # arithmetic: a scalar
            case ast.Subscript():
                pass  # part of an index
            case ast.Tuple():
                known = known and isinstance(above[holder], ast.Subscript)
            case _:
                known = False
    return Use(indexed, written, known)


def _row_escapes(source: Source, kernel: ast.FunctionDef, element: ast.expr) -> bool:
    """Whether ``x[i]``, which may be a row, is written or handed on: ``row = x[i]; row[0] = 1``."""
    holder = tools.parents(source)[element]
    match holder:
        case ast.Subscript(value=value):
            return value is element  # x[i][j] = 1
        case ast.Call(func=func):
            called = basics.meaning(source, func) or ""
            return not _is_plain(source, func, called) and not called.startswith("numba.cuda.")
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is element:
            rows = (n for n in ast.walk(kernel) if isinstance(n, ast.Subscript))
            return any(isinstance(n.value, ast.Name) and n.value.id == name for n in rows)
        case ast.Assign(targets=[ast.Subscript()]):
            return False  # y[i] = x[i] copies
        case ast.Assign(value=value) | ast.NamedExpr(value=value) | ast.Return(value=value):
            return value is element
        case ast.For() | ast.Starred() | ast.Attribute():
            return True
    return False


def _is_plain(source: Source, func: ast.expr, called: str) -> bool:
    if called.startswith("math."):
        return True
    return (
        isinstance(func, ast.Name) and func.id in _PLAIN_CALLS and tools.is_builtin(source, func.id)
    )


def prefix(source: Source, kernel: ast.FunctionDef) -> str | None:
    """How the file calls ``numba.cuda``: what stands before ``.jit``; None: it imports ``jit``."""
    decorator = kernel.decorator_list[0]
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return source.text(name.value) if isinstance(name, ast.Attribute) else None


# ---------------------------------------------------------------------- arrays
def arrays_of(source: Source, launches: Iterable[basics.Launch]) -> tuple[dict[str, bool], bool]:
    """Names that kernels index -> whether one may write them; and whether that is all of them.

    The second is False where a kernel hands a parameter on, or an argument that is an array is no
    plain name.
    """
    found: dict[str, bool] = {}
    complete = True
    for launch in launches:
        spec = launch.kernel.args
        parameters = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        complete = complete and len(parameters) == len(launch.arguments) and not spec.vararg
        for parameter, argument in zip(parameters, launch.arguments, strict=False):
            use = use_of(source, launch.kernel, parameter)
            complete = complete and use.known
            if use.indexed and isinstance(argument, ast.Name):
                found[argument.id] = found.get(argument.id, False) or use.written
            elif use.indexed:
                complete = False
    return found, complete


def may_be_on_device(source: Source, region: Region, name: str) -> bool:
    """Whether something in the scope binds the name to an array on the device."""
    scope = region.function or source.tree
    for value in list_uses.values_bound(source, scope, name):
        if isinstance(value, ast.Call):
            called = basics.meaning(source, value.func) or ""
            last = called.rpartition(".")[2]
            if last.startswith(_ON_DEVICE) or called.partition(".")[0] in ("cupy", "torch"):
                return True
            # x.cuda(), torch.zeros(n).to(device), device_array.copy_to_device() ..
            if isinstance(value.func, ast.Attribute) and value.func.attr in ("cuda", "to"):
                return True
    return False


def made_here(source: Source, loop: Loop, name: str) -> ast.stmt | None:
    """The statement before the loop that makes a NumPy array which nothing else can reach.

    It stands in the loop's own block, and between it and the loop the name is only filled
    (``x[1:3] = 5``) or asked for its shape. ``view = x[1:]`` would be a second way to the array,
    and so would ``frames.append(x)``.
    """
    block = tools.block_of(source, loop)
    before = block[: block.index(loop)]
    for number, statement in reversed(list(enumerate(before))):
        if not tools.stores(statement, name):
            continue
        if not _makes_array(source, statement, name):
            return None
        later = before[number + 1 :]
        uses = [use for part in later for use in tools.loads(part, name)]
        return statement if all(_keeps_to_itself(source, use) for use in uses) else None
    return None


def _makes_array(source: Source, statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return False
    package, _, function = (basics.meaning(source, value.func) or "").partition(".")
    if package != "numpy" or any(k.arg not in ("dtype", "fill_value") for k in value.keywords):
        return False  # order="F", like=cupy_array, subok
    positional = 3 if function == "full" else 2
    if function in _MAKERS:
        return function == "arange" or len(value.args) <= positional
    if function not in _LIKE or len(value.args) > 2 or not isinstance(value.args[0], ast.Name):
        return False
    # np.empty_like(f) of an F-ordered, or of a masked array, is one too.
    model = value.args[0].id
    block = tools.block_of(source, statement)
    earlier = [s for s in block[: block.index(statement)] if tools.stores(s, model)]
    return bool(earlier) and _makes_array(source, earlier[-1], model)


def _keeps_to_itself(source: Source, use: ast.Name) -> bool:
    above = tools.parents(source)
    holder = above[use]
    match holder:
        case ast.Subscript(value=value, ctx=ast.Store()) if value is use:
            return True
        case ast.Attribute(attr=attr):
            return attr in _SHAPE
        case ast.Call(func=func, args=[first, *_]) if first is use:
            called = basics.meaning(source, func) or ""
            if called.rpartition(".")[2] in _LIKE and called.startswith("numpy."):
                return True
            return (
                isinstance(func, ast.Name) and func.id == "len" and tools.is_builtin(source, "len")
            )
    return False


# ----------------------------------------------------------------------- moves
def moves(source: Source, loop: Loop, arrays: Iterable[str]) -> list[ast.Assign] | None:
    """The loop's exchanges of arrays: ``a, b = b, a``, or ``tmp = a; a = b; b = tmp``.

    None if a name of an array is bound in any other way: ``a = b`` drops an array that somebody
    else may hold.
    """
    known = set(arrays)
    found: list[ast.Assign] = []
    for node in tools.own_nodes(loop):
        if isinstance(node, ast.Assign) and _is_exchange(node, known):
            found.append(node)
            continue
        block = getattr(node, "body", [])
        for trio in _trios(block if isinstance(block, list) else [], known):
            found += trio
    for trio in _trios(loop.body, known):
        found += trio
    found = list(dict.fromkeys(found))
    inside = {inner for move in found for inner in ast.walk(move)}
    stray = [s for name in known for s in tools.stores(loop, name) if s not in inside]
    return None if stray else sorted(found, key=lambda move: move.lineno)


def _is_exchange(node: ast.Assign, arrays: set[str]) -> bool:
    target, value = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Tuple):
        return False
    if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
        return False
    names = [e.id for e in (*target.elts, *value.elts) if isinstance(e, ast.Name)]
    half = len(target.elts)
    left, right = names[:half], names[half:]
    return (
        len(names) == 2 * half
        and set(names) <= arrays
        and len(set(left)) == half
        and sorted(left) == sorted(right)
    )


def _trios(block: list[ast.stmt], arrays: set[str]) -> Iterator[list[ast.Assign]]:
    for number in range(len(block) - 2):
        three = block[number : number + 3]
        pairs = [_copied(statement) for statement in three]
        if None in pairs:
            continue
        (t1, a1), (a2, b1), (b2, t2) = (pair for pair in pairs if pair is not None)
        exchange = t1 == t2 and a1 == a2 and b1 == b2 and len({t1, a1, b1}) == 3
        if exchange and {a1, b1} <= arrays and t1 not in arrays:
            yield [s for s in three if isinstance(s, ast.Assign)]


def _copied(statement: ast.stmt) -> tuple[str, str] | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=value)):
            return target, value
    return None


def kernel_seconds(region: Region, line: int) -> float | None:
    """Seconds on the device of the kernels that a line launches; None where nothing was traced.

    What a better kernel can save at most; the line's own time is mostly launching and copying.
    """
    if region.gpu is None:
        return None
    return region.gpu[line].kernel_time if line in region.gpu else 0.0
