"""What a loop on CuPy arrays may change, as far as the text alone tells; every doubt is a refusal.

Two questions: may anything in the loop change data on the host (`host_effects`)? And may anything
change, or keep, the array on the device that a name stands for (`device_use`)?
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..codegen import ast_tools as tools
from ..model import Refusal
from .basics import meaning
from .cupy import Types
from .cupy_names import arguments_of, own_function
from .cupy_tables import ELEMENTWISE, REDUCTIONS, words

READING_BUILTINS = words("float int bool len abs round print isinstance str repr type")
ITERATING_BUILTINS = words("sum list tuple sorted min max zip enumerate")
HOST_METHODS = words(
    "sum mean max min std var prod any all argmax argmin copy astype tolist item dot"
)
NUMPY_WRITERS = words("copyto put place putmask fill_diagonal put_along_axis shuffle resize")
METADATA = words("shape size ndim dtype nbytes itemsize strides flags")
FRESH_METHODS = frozenset([*HOST_METHODS, "get", "cumsum", "cumprod", "nonzero", "__len__"])
VIEW_METHODS = words("reshape ravel transpose squeeze swapaxes view diagonal")
FRESH_FUNCTIONS = words(
    "asnumpy where roll dot matmul tensordot outer concatenate stack vstack hstack zeros_like "
    "ones_like empty_like full_like cumsum cumprod diff sort argsort unique histogram bincount "
    "array pad tile repeat linalg.norm fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 "
    "interp take"
)
VIEW_FUNCTIONS = words(
    "asarray ascontiguousarray asanyarray reshape ravel transpose squeeze broadcast_to "
    "atleast_1d atleast_2d expand_dims real imag"
)


# ------------------------------------------------------------ data on the host
@dataclass
class HostEffects:
    """What a loop may do to data on the host."""

    refusal: Refusal | None = None
    iterated: list[str] = field(default_factory=list)
    """Names that are iterated over and not known to be lists: a generator may run any code."""


def host_effects(types: Types, loop: ast.For | ast.While, protected: str) -> HostEffects:
    """Whether anything in the loop can change the host data that ``protected`` stands for."""
    found = HostEffects()
    for node in tools.own_nodes(loop):
        found.refusal = found.refusal or _host_effect(types, node, protected, frozenset())
    if isinstance(loop, ast.For) and found.refusal is None:
        _iterates(types, loop.iter, found)
    return found


def _host_effect(
    types: Types, node: ast.AST, protected: str, active: frozenset[str]
) -> Refusal | None:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.With | ast.AsyncWith):
        # with stream: .. orders work on the device anew; a yield lets anybody run
        return Refusal("other code runs in the middle of the loop", line)
    if isinstance(node, (*tools.SCOPES, ast.Global, ast.Nonlocal)):
        return Refusal("a function is defined in the loop", line)
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return Refusal(f"{ast.unparse(node)} is assigned", line)
    written = _written(node)
    above = tools.parents(types.source).get(node)
    augmented = isinstance(above, ast.AugAssign) and above.target is node
    if written is not None and not _writes_elsewhere(types, written, protected, augmented):
        return Refusal(f"the loop writes into {ast.unparse(written)}", line)
    target = node.target if isinstance(node, ast.AugAssign) else None
    if isinstance(target, ast.Name) and types.of(target).what not in ("device", "number"):
        # base += 1 changes the array that a view of it shows
        return Refusal(f"{target.id} may be changed in place", line)
    if isinstance(node, ast.For):
        found = HostEffects()
        _iterates(types, node.iter, found)
        if found.refusal or found.iterated:
            return Refusal("what is iterated over is not known", line)
    if isinstance(node, ast.Call):
        return _call_effect(types, node, protected, active)
    return None


def _written(node: ast.AST) -> ast.expr | None:
    """What ``x[i] = ..``, ``x[i] += ..`` and ``del x[i]`` write into."""
    store = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return node.value if isinstance(node, ast.Subscript) and store else None


def own_list(types: Types, node: ast.expr) -> bool:
    """Whether a name only ever stands for lists that its own scope writes out: ``rows = []``."""
    if not isinstance(node, ast.Name):
        return False
    bindings = [
        parent
        for store in tools.stores(types.scope, node.id)
        if isinstance(parent := tools.parents(types.source)[store], ast.Assign | ast.AnnAssign)
    ]
    plain = len(bindings) == len(tools.stores(types.scope, node.id)) > 0
    return plain and all(
        isinstance(b.value, ast.List | ast.ListComp)
        and (isinstance(b, ast.AnnAssign) or len(b.targets) == 1)
        for b in bindings
    )


def _writes_elsewhere(types: Types, base: ast.expr, protected: str, augmented: bool) -> bool:
    """Whether what is written into is certainly other memory than ``protected``."""
    value = types.of(base)
    if value.what == "device":
        return True  # memory of the device
    if not isinstance(base, ast.Name) or base.id == protected:
        return False
    if value.what == "list":
        # rows[0] += 1 changes the array that is in the list; alias[0] = 1 the list behind weights
        return not augmented and own_list(types, base)
    # frames = np.empty(..): an array of its own, as long as all bindings of the name are such
    bindings = [
        node.value
        for node in tools.own_nodes(types.scope)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == base.id for t in node.targets)
    ]
    made = all(
        isinstance(value, ast.Call)
        and meaning(types.source, value.func)
        in ("numpy.zeros", "numpy.empty", "numpy.ones", "numpy.full")
        for value in bindings
    )
    shared = any(
        base.id in {n.id for n in tools.names_in(node.value)}
        for node in tools.own_nodes(types.scope)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == protected for t in node.targets)
    )
    return bool(bindings) and made and not shared and value.what == "host"


def _iterates(types: Types, iterable: ast.expr, found: HostEffects) -> None:
    value = types.of(iterable)
    if value.what in ("device", "host", "list", "number"):
        return
    if isinstance(iterable, ast.Tuple | ast.Constant):
        return
    if isinstance(iterable, ast.Name):
        found.iterated.append(iterable.id)
        return
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        name = iterable.func.id
        if name == "range" and tools.is_builtin(types.source, name):
            return
        known = name in ("enumerate", "zip", "reversed") and tools.is_builtin(types.source, name)
        if known and not iterable.keywords:
            for argument in iterable.args:
                _iterates(types, argument, found)
            return
    found.refusal = Refusal("what is iterated over may run code of its own", iterable.lineno)


def _call_effect(
    types: Types, call: ast.Call, protected: str, active: frozenset[str]
) -> Refusal | None:
    source, line = types.source, call.lineno
    unknown = Refusal(f"{ast.unparse(call.func)} may change data on the host", line)
    called = meaning(source, call.func)
    if called is not None:
        package, _, name = called.partition(".")
        if package in ("cupy", "cupyx"):
            # all other functions of CuPy write to arrays of its own, if they write at all
            return unknown if name == "asnumpy" and _more(call) else None
        if package == "numpy":
            writes = name.rpartition(".")[2] in NUMPY_WRITERS or "." in name
            return unknown if writes or _has_out(call) or len(call.args) > 2 else None
        return None if package in ("math", "time") else unknown
    if isinstance(call.func, ast.Attribute):
        return None if _harmless_method(types, call, call.func) else unknown
    if not isinstance(call.func, ast.Name):
        return unknown
    name = call.func.id
    if name in READING_BUILTINS | {"range"} and tools.is_builtin(source, name):
        return None
    if name in ITERATING_BUILTINS and tools.is_builtin(source, name):
        return _iterating_call(types, call, unknown)
    if types.of(call.func).what == "kernel":
        return None
    function = own_function(source, name)
    inside = function and types.inside(call, function)
    if function is None or not inside or name in active:
        return unknown
    for node in tools.own_nodes(function):
        refusal = _host_effect(inside, node, protected, active | {name})
        if refusal is not None:
            return refusal
    return None


def _iterating_call(types: Types, call: ast.Call, unknown: Refusal) -> Refusal | None:
    parents = tools.parents(types.source)
    above = parents.get(call)
    if isinstance(above, ast.For) and above.iter is call:
        return None  # looked at as what the loop iterates over
    known = all(
        types.of(a).what in ("device", "host", "list", "number")
        or isinstance(a, ast.Tuple | ast.GeneratorExp)
        for a in call.args
    )
    return None if known else unknown


def _harmless_method(types: Types, call: ast.Call, func: ast.Attribute) -> bool:
    what = types.of(func.value).what
    if what == "device":
        return not (func.attr == "get" and _more(call, 0))
    if what == "host":
        return func.attr in HOST_METHODS and not _has_out(call)
    if what == "list":
        return func.attr == "append" and own_list(types, func.value)
    if what == "generator":
        # rng.random(n, dtype, out)
        few = len(call.args) <= 2 and not _has_out(call)
        return few and func.attr not in ("shuffle", "permuted")
    text = isinstance(func.value, ast.Constant) and isinstance(func.value.value, str)
    return what in ("kernel", "pool") or text


def _has_out(call: ast.Call) -> bool:
    return any(keyword.arg in ("out", None) for keyword in call.keywords)


def _more(call: ast.Call, positional: int = 1) -> bool:
    return len(call.args) > positional or bool(call.keywords)


# --------------------------------------------------------- data on the device
def device_use(
    types: Types,
    nodes: Iterable[ast.AST],
    name: str,
    seen: frozenset[tuple[int, str]] = frozenset(),
) -> Refusal | None:
    """Why the array behind a name may be changed, or kept under another name, in these nodes."""
    key = (id(types.scope), name)
    if key in seen:
        return None
    for node in list(nodes):
        if isinstance(node, ast.AugAssign) and _is(node.target, name):
            return Refusal(f"{name} is changed in place", node.lineno)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            refusal = value_use(types, node, seen | {key})
            if refusal is not None:
                return refusal
    return None


def value_use(
    types: Types, node: ast.expr, seen: frozenset[tuple[int, str]] = frozenset()
) -> Refusal | None:
    """Why the array that an expression gives may be changed or kept by what uses it."""
    above = tools.parents(types.source)[node]
    kept = Refusal(f"{ast.unparse(node)} may be changed or kept", node.lineno)
    match above:
        case ast.Attribute(attr=attr):
            return _attribute_use(types, above, attr, seen, kept)
        case ast.Subscript(value=value) if value is node:
            return value_use(types, above, seen) if isinstance(above.ctx, ast.Load) else kept
        case ast.Subscript() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.FormattedValue():
            return None
        case ast.Expr() | ast.If() | ast.While():
            return None
        case ast.AugAssign(target=ast.Name() as target):
            return None if types.of(target).what in ("device", "number") else kept
        case (
            ast.AugAssign(target=ast.Subscript(value=base))
            | ast.Assign(targets=[ast.Subscript(value=base)])
        ):
            return None if types.on_device(base) else kept
        case ast.IfExp(test=test):
            return None if test is node else value_use(types, above, seen)
        case ast.Assign(targets=[ast.Name(id=alias)]):
            # v = w: what is done to v is done to w
            return device_use(types, tools.own_nodes(types.scope), alias, seen)
        case ast.Call():
            return _argument_use(types, above, node, seen, kept)
    return kept


def _attribute_use(
    types: Types, node: ast.Attribute, attr: str, seen: frozenset[tuple[int, str]], kept: Refusal
) -> Refusal | None:
    above = tools.parents(types.source)[node]
    if isinstance(above, ast.Call) and above.func is node:
        if _has_out(above):
            return kept
        if attr == "astype" and _more(above):
            return value_use(types, above, seen)  # may be the array itself
        if attr in FRESH_METHODS:
            return None
        return value_use(types, above, seen) if attr in VIEW_METHODS else kept
    if not isinstance(node.ctx, ast.Load):
        return kept
    if attr in METADATA:
        return None
    return value_use(types, node, seen) if attr in ("T", "real", "imag") else kept


def _argument_use(
    types: Types,
    call: ast.Call,
    node: ast.expr,
    seen: frozenset[tuple[int, str]],
    kept: Refusal,
) -> Refusal | None:
    if call.func is node or _has_out(call):
        return kept
    position = call.args.index(node)  # a keyword's value has the keyword above it
    called = meaning(types.source, call.func) or ""
    package, _, name = called.partition(".")
    if package == "cupy":
        if name in ELEMENTWISE:
            # cp.add(x, y, w) writes into w
            return None if len(call.args) <= ELEMENTWISE[name][0] else kept
        if name in VIEW_FUNCTIONS:
            return value_use(types, call, seen)
        reads = name in REDUCTIONS or name in FRESH_FUNCTIONS
        # cp.dot(x, y, w) writes into w
        first = position == 0 or name == "where" or (name in ("dot", "matmul") and position == 1)
        return None if reads and first else kept
    if not isinstance(call.func, ast.Name):
        return kept
    if call.func.id in READING_BUILTINS and tools.is_builtin(types.source, call.func.id):
        return None
    return _handed_on(types, call, call.func.id, node, seen, kept)


def _handed_on(
    types: Types,
    call: ast.Call,
    name: str,
    node: ast.expr,
    seen: frozenset[tuple[int, str]],
    kept: Refusal,
) -> Refusal | None:
    """What a function of the file does with the array it is given."""
    function = own_function(types.source, name)
    inside = function and types.inside(call, function)
    bound = function and arguments_of(call, function)
    if function is None or not inside or not bound:
        return kept
    for parameter, argument in bound.items():
        if argument is node:
            return device_use(inside, tools.own_nodes(function), parameter, seen)
    return kept


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# --------------------------------------------------------------------- others
def clocks(types: Types, node: ast.AST) -> Iterator[ast.expr]:
    """What takes the time below a node: there, waiting for the device serves the measurement."""
    for inner in tools.own_nodes(node):
        if not isinstance(inner, ast.Call):
            continue
        called = meaning(types.source, inner.func) or ""
        timed = called.startswith(("time.", "timeit.", "datetime.")) or called in (
            "cupy.cuda.Event",
            "cupy.cuda.get_elapsed_time",
            "cupyx.time.repeat",
            "cupyx.profiler.benchmark",
        )
        record = isinstance(inner.func, ast.Attribute) and inner.func.attr in ("record", "lap")
        if timed or record:
            yield inner


def changes_arrays(types: Types, statement: ast.stmt, name: str) -> Refusal | None:
    """Why an array on the device, or what ``name`` stands for, may change in a statement."""
    for node in (statement, *tools.own_nodes(statement)):
        line = getattr(node, "lineno", statement.lineno)
        unknown = Refusal(f"{name} may be changed", line)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return unknown
        if (
            _written(node) is not None
            and types.of(_written(node) or ast.Constant(0)).what != "list"
        ):
            return unknown
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return unknown
        if isinstance(node, ast.AugAssign) and types.of(node.target).what != "number":
            return unknown
        if isinstance(node, (*tools.SCOPES, ast.With, ast.AsyncWith, ast.Yield, ast.Await)):
            return unknown
        if isinstance(node, ast.For) and not _plain_steps(types, node.iter):
            return unknown
        if isinstance(node, ast.Call) and not _reads(types, node):
            return unknown
    return None


def _plain_steps(types: Types, iterable: ast.expr) -> bool:
    """Whether stepping through it runs no code of its own."""
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        return iterable.func.id == "range" and tools.is_builtin(types.source, "range")
    return isinstance(iterable, ast.Tuple) or types.of(iterable).what != "other"


def _reads(types: Types, call: ast.Call) -> bool:
    """Whether a call certainly changes no array."""
    called = meaning(types.source, call.func)
    if called is not None:
        package, _, name = called.partition(".")
        last = name.rpartition(".")[2]
        if _has_out(call) or last in NUMPY_WRITERS:
            return False
        if name in ELEMENTWISE:
            return len(call.args) <= ELEMENTWISE[name][0]
        known = name in REDUCTIONS or name in FRESH_FUNCTIONS or name in VIEW_FUNCTIONS
        return (package in ("numpy", "cupy") and known) or package in ("math", "time")
    if isinstance(call.func, ast.Attribute):
        what = types.of(call.func.value).what
        if what == "list":
            return call.func.attr == "append"
        known = call.func.attr in FRESH_METHODS or call.func.attr in VIEW_METHODS
        return what in ("host", "device") and known and not _has_out(call)
    if not isinstance(call.func, ast.Name) or not tools.is_builtin(types.source, call.func.id):
        return False
    return call.func.id in READING_BUILTINS or call.func.id == "range"
