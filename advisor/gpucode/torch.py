"""What the values of PyTorch code are, as far as the text of one file tells.

A small abstract interpretation by demand: a name is what all its bindings agree on, a parameter
what all calls of its function in the file hand over. What is not known is `OTHER`, on which no
rule builds.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache

from ..codegen import ast_tools as tools
from ..model import Source
from .basics import meaning
from .torch_kinds import (
    BOOLEAN,
    CONSTRUCTORS,
    DEPTH,
    FLOATING,
    FUNCTIONS,
    INTEGER,
    LAYERS,
    LOSSES,
    MODULE_METHODS,
    OTHER,
    POINTWISE,
    SAME,
    Kind,
    joined,
)
from .torch_text import (
    call_sites,
    forward_of,
    is_parameter,
    layers_of,
    own_class,
    own_function,
    results_of,
    scope_of,
)

Seen = frozenset[int]


@lru_cache(maxsize=4096)
def kind(source: Source, node: ast.expr) -> Kind:
    """What an expression of the file certainly is; `OTHER` where that is not known."""
    return _kind(source, node, frozenset()) or OTHER


def is_tensor(source: Source, node: ast.expr) -> bool:
    """Whether the expression is certainly a ``torch.Tensor``."""
    return kind(source, node).what == "tensor"


def _kind(source: Source, node: ast.expr, seen: Seen) -> Kind | None:
    if id(node) in seen:
        return None  # a binding that refers to itself adds nothing: x = x.to(device)
    if len(seen) > DEPTH:
        return OTHER
    seen |= {id(node)}
    match node:
        case ast.Constant(value=bool()):
            return Kind("number", "b")
        case ast.Constant(value=int()):
            return Kind("number", "i")
        case ast.Constant(value=float()):
            return Kind("number", "f")
        case ast.Constant(value=str(text)) if text.partition(":")[0] in ("cuda", "cpu"):
            return Kind("device")
        case ast.Name():
            return _name(source, node, seen)
        case ast.IfExp(body=body, orelse=orelse):
            return joined(_kind(source, body, seen), _kind(source, orelse, seen))
        case ast.UnaryOp(operand=operand):
            return _kind(source, operand, seen)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(_kind(source, left, seen), op, _kind(source, right, seen))
        case ast.Compare(left=left, comparators=[right], ops=[op]):
            if isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn):
                return Kind("number", "b")
            both = _arithmetic(_kind(source, left, seen), ast.Add(), _kind(source, right, seen))
            return both and (OTHER if both == OTHER else Kind(both.what, "b"))
        case ast.Subscript(value=value, slice=index):
            return _item(source, _kind(source, value, seen), index)
        case ast.Attribute(value=value, attr=attr):
            return _attribute(_kind(source, value, seen), attr)
        case ast.Call():
            return _call(source, node, seen)
        case ast.List() | ast.ListComp():
            return Kind("list")
    return OTHER


def _item(source: Source, base: Kind | None, index: ast.expr) -> Kind | None:
    if base is None or base.what != "tensor":
        return base and OTHER
    single = not isinstance(index, ast.Slice | ast.Tuple) and kind(source, index).what == "number"
    if isinstance(index, ast.Slice):
        return base
    axes = base.axes - 1 if single and base.axes is not None else None
    return replace(base, axes=axes)


def _attribute(base: Kind | None, attr: str) -> Kind | None:
    if base is None:
        return None
    if base.what == "tensor" and attr in ("T", "data", "mT"):
        return base
    if attr == "device" and base.what == "tensor":
        return Kind("device")
    return OTHER


def _arithmetic(one: Kind | None, op: ast.operator, two: Kind | None) -> Kind | None:
    if one is None or two is None:
        return None
    both = {one.what, two.what}
    if not both <= {"tensor", "number"}:
        return OTHER
    what = "tensor" if "tensor" in both else "number"
    if isinstance(op, ast.MatMult):
        same = one.elements if one.elements == two.elements else ""
        axes = one.axes if one.axes == two.axes else None
        return Kind(what, same, place=_common_place(one, two), axes=axes)
    elements = "" if not one.elements or not two.elements else _wider(one, two)
    if isinstance(op, ast.Div):
        elements = elements and "f"
    return Kind(what, elements, place=_common_place(one, two))


def _common_place(*values: Kind | None) -> str:
    places = {value.place for value in values if value is not None and value.what == "tensor"}
    return places.pop() if len(places) == 1 else ""


def _wider(one: Kind, two: Kind) -> str:
    return max(one.elements, two.elements, key="bif".index)


# ----------------------------------------------------------------------- names
def _name(source: Source, node: ast.Name, seen: Seen) -> Kind | None:
    scope = scope_of(source, node)
    if scope is None:
        return OTHER
    stores = [s for s in tools.stores(scope, node.id) if scope_of(source, s) is scope]
    parameter = isinstance(scope, ast.FunctionDef) and is_parameter(scope, node.id)
    if not stores and not parameter:
        if isinstance(scope, ast.Module) or tools.bound_names(source).get(node.id, 0) != 1:
            return OTHER
        stores = tools.stores(source.tree, node.id)
        if len(stores) != 1 or scope_of(source, stores[0]) is not source.tree:
            return OTHER
    found: Kind | None = None
    changes: list[ast.AugAssign] = []
    for store in stores:
        holder = tools.parents(source)[store]
        if isinstance(holder, ast.AugAssign):
            changes.append(holder)
        else:
            found = joined(found, _bound(source, store, seen))
    if parameter and isinstance(scope, ast.FunctionDef):
        found = joined(found, _handed(source, scope, node.id, seen))
    for change in changes:
        found = _changed(found, change.op, _kind(source, change.value, seen))
    return found


def _handed(source: Source, function: ast.FunctionDef, name: str, seen: Seen) -> Kind | None:
    """What all calls in the file hand over for a parameter; nobody else may call the function."""
    sites = call_sites(source, function)
    if not sites:
        return OTHER
    spec = function.args
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    found: Kind | None = None
    for site in sites:
        given: ast.expr | None = next((k.value for k in site.keywords if k.arg == name), None)
        if given is None and name in positional[: len(site.args)]:
            given = site.args[positional.index(name)]
        found = joined(found, OTHER if given is None else _kind(source, given, seen))
    return found


def _bound(source: Source, store: ast.Name, seen: Seen) -> Kind | None:
    above = tools.parents(source)
    path: list[int] = []
    node: ast.AST = store
    holder = above[node]
    while isinstance(holder, ast.Tuple | ast.List):
        path.insert(0, holder.elts.index(node))  # type: ignore[arg-type]
        node, holder = holder, above[holder]
    match holder:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _unpacked(source, value, path, seen)
        case ast.NamedExpr(value=value):
            return _kind(source, value, seen)
        case ast.For(target=target, iter=iterable) if target is node:
            return _iterated(source, iterable, path, seen)
    return OTHER


def _changed(base: Kind | None, op: ast.operator, value: Kind | None) -> Kind | None:
    """What a name is that is both ``base`` and, at times, ``base + value``."""
    if base is None or value is None or base.what not in ("tensor", "number"):
        return base
    if base.what == "tensor" and value.what == "number":
        return base  # in place: the elements keep their type
    # total = 0.0; total += loss: a number first, a tensor later
    return joined(base, _arithmetic(base, op, value))


def _unpacked(source: Source, value: ast.expr, path: list[int], seen: Seen) -> Kind | None:
    if not path:
        return _kind(source, value, seen)
    if isinstance(value, ast.Tuple) and path[0] < len(value.elts):
        return _unpacked(source, value.elts[path[0]], path[1:], seen)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        function = own_function(source, value.func.id)
        results = [] if function is None else list(results_of(function))
        found: Kind | None = None
        for result in results:
            single = not isinstance(result, ast.Tuple)
            found = joined(found, OTHER if single else _unpacked(source, result, path, seen))
        return found if results else OTHER
    return OTHER


def _iterated(source: Source, iterable: ast.expr, path: list[int], seen: Seen) -> Kind | None:
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        called = iterable.func.id
        if called == "range":
            return Kind("number", "i")
        if called == "enumerate" and iterable.args and path:
            if path[0] == 0:
                return Kind("number", "i")
            return _iterated(source, iterable.args[0], path[1:], seen)
        if called == "zip" and path and path[0] < len(iterable.args):
            return _iterated(source, iterable.args[path[0]], path[1:], seen)
    base = _kind(source, iterable, seen)
    if base is None:
        return None
    if base.what == "loader" and len(path) == 1 and path[0] < len(base.parts):
        return base.parts[path[0]]
    if base.what == "tensor" and not path:
        return replace(base, axes=None if base.axes is None else base.axes - 1)
    return OTHER


# ----------------------------------------------------------------------- calls
def _call(source: Source, node: ast.Call, seen: Seen) -> Kind | None:
    called = meaning(source, node.func)
    if called is not None and called.startswith("torch."):
        return _torch(source, node, called.removeprefix("torch."), seen)
    if isinstance(node.func, ast.Name):
        name = node.func.id
        if name in ("len", "int", "float") and tools.is_builtin(source, name):
            return Kind("number", "f" if name == "float" else "i")
        own = own_class(source, name)
        if own is not None:
            return _module_class(source, own)
        function = own_function(source, name)
        if function is not None:
            return _returned(source, function, seen)
    base = _kind(source, node.func, seen)
    if base is not None and base.what == "module":
        return Kind("tensor", "f") if base.plain else OTHER
    if isinstance(node.func, ast.Attribute):
        return _method(source, node, node.func, _kind(source, node.func.value, seen))
    return OTHER


def _torch(source: Source, node: ast.Call, name: str, seen: Seen) -> Kind | None:
    if name == "device":
        return Kind("device")
    if name in CONSTRUCTORS:
        elements = _dtype(source, node)
        if elements is None:
            elements = CONSTRUCTORS[name]
        place = "" if any(k.arg in ("device", None) for k in node.keywords) else "cpu"
        return Kind("tensor", elements, place=place, axes=_axes(source, node))
    if name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like") and node.args:
        base = _kind(source, node.args[0], seen)
        return base if base is None or not node.keywords else Kind("tensor")
    root, _, last = name.rpartition(".")
    if root == "nn":
        return _layer(source, node, last, seen)
    if root == "optim":
        return Kind("optimizer", node=node)
    if name == "utils.data.TensorDataset":
        parts = [_kind(source, argument, seen) for argument in node.args]
        return Kind("dataset", parts=tuple(part or OTHER for part in parts))
    if name == "utils.data.DataLoader" and node.args:
        data = _kind(source, node.args[0], seen)
        return data and Kind("loader", parts=data.parts, node=node)
    if root in ("", "nn.functional") and last in FUNCTIONS:
        values = [_kind(source, a, seen) for a in node.args]
        if any(v is None for v in values):
            return None
        # sin of a complex tensor is complex
        real = all(v is not None and v.elements for v in values if v and v.what == "tensor")
        elements = FUNCTIONS[last] if real else ""
        return Kind("tensor", elements, place=_common_place(*values))
    return OTHER


def _layer(source: Source, node: ast.Call, name: str, seen: Seen) -> Kind | None:
    if name == "Sequential":
        inner = [_kind(source, a, seen) or OTHER for a in node.args]
        plain = all(k.what == "module" and k.plain for k in inner) and not node.keywords
        return Kind("module", plain=plain, pointwise=plain and all(k.pointwise for k in inner))
    if name in LOSSES:
        reduced = not any(k.arg == "reduction" for k in node.keywords)
        return Kind("module", plain=reduced)
    if any(k.arg in ("dtype", None) for k in node.keywords):
        return Kind("module")  # complex layers
    return Kind("module", plain=name in LAYERS, pointwise=name in POINTWISE)


def _dtype(source: Source, node: ast.Call) -> str | None:
    """The kind that ``dtype=`` says; None where none is given, empty where it is not known."""
    given = next((k.value for k in node.keywords if k.arg == "dtype"), None)
    if given is None:
        return None
    name = (meaning(source, given) or "").removeprefix("torch.")
    return {"long": "i", "int": "i", "bool": "b", "half": "f", "double": "f", "bfloat": "f"}.get(
        name.rstrip("0123456789"), {"int": "i", "float": "f"}.get(name.rstrip("0123456789"), "")
    )


def _axes(source: Source, node: ast.Call) -> int | None:
    """``torch.randn(count, 128)`` has two axes, where both are certainly numbers."""
    name = (meaning(source, node.func) or "").rpartition(".")[2]
    if name not in ("zeros", "ones", "empty", "rand", "randn") or not node.args:
        return None
    if len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
        return len(node.args)
    if isinstance(node.args[0], ast.Tuple):
        return len(node.args[0].elts)
    return None


def _method(source: Source, node: ast.Call, func: ast.Attribute, base: Kind | None) -> Kind | None:
    if base is None:
        return None
    attr = func.attr
    if base.what == "module":
        if attr == "to" and not _is_place(source, node):
            return Kind("module")
        return base if attr in MODULE_METHODS else OTHER
    if base.what != "tensor":
        return OTHER
    if attr == "item":
        return Kind("number", base.elements)
    if attr in ("size", "numel", "dim"):
        return Kind("number", "i") if attr != "size" or node.args else OTHER
    if attr == "tolist":
        return Kind("list")
    if attr == "to":
        return _moved(source, node, base)
    if attr == "sum":
        return Kind("tensor", {"f": "f", "i": "i", "b": "i"}.get(base.elements, ""))
    if attr in ("max", "min", "median", "sort") and (node.args or node.keywords):
        return OTHER  # a pair
    keeps_axes = attr in ("cuda", "cpu", "detach", "clone", "contiguous")
    if attr == "cuda":
        return replace(base, place="")
    if attr in SAME:
        return base if keeps_axes else replace(base, axes=None)
    if attr in FLOATING:
        return Kind("tensor", "f" if base.elements else "")
    if attr in INTEGER:
        return Kind("tensor", "i")
    return Kind("tensor", "b") if attr in BOOLEAN else OTHER


def _moved(source: Source, node: ast.Call, base: Kind) -> Kind:
    return replace(base, place="") if _is_place(source, node) else Kind("tensor", axes=base.axes)


def _is_place(source: Source, node: ast.Call) -> bool:
    """``.to(..)`` with a device, and nothing that changes the type of the elements."""
    given = [*node.args, *(k.value for k in node.keywords if k.arg in ("device", "dtype"))]
    return bool(given) and all(kind(source, g).what == "device" for g in given)


# --------------------------------------------------------- classes and functions


def _returned(source: Source, function: ast.FunctionDef, seen: Seen) -> Kind | None:
    found: Kind | None = None
    results = list(results_of(function))
    for result in results:
        found = joined(found, _kind(source, result, seen))
    return found if results else OTHER


@lru_cache(maxsize=32)
def _module_class(source: Source, node: ast.ClassDef) -> Kind:
    bases = [meaning(source, base) for base in node.bases]
    if bases != ["torch.nn.Module"] or node.decorator_list or node.keywords:
        return OTHER
    return Kind("module", plain=_plain_forward(source, node))


def _plain_forward(source: Source, node: ast.ClassDef) -> bool:
    """``forward`` only calls known layers and functions: the same with and without gradients."""
    forward, layers = forward_of(node), layers_of(source, node)
    if forward is None or layers is None:
        return False
    for statement in forward.body:
        if not isinstance(statement, ast.Assign | ast.Return | ast.Expr):
            return False
    for call in (n for n in ast.walk(forward) if isinstance(n, ast.Call)):
        if not _plain_call(source, call, layers):
            return False
    returns = [s for s in forward.body if isinstance(s, ast.Return)]
    return len(returns) == 1 and not isinstance(returns[0].value, ast.Tuple | ast.Dict | ast.List)


def _plain_call(source: Source, call: ast.Call, layers: dict[str, ast.expr]) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            known = layers.get(attr)
            return known is not None and kind(source, known).plain
        case ast.Attribute(attr=attr) if meaning(source, call.func) is None:
            return attr in SAME | FLOATING | {"sum", "size"} and not attr.endswith("_")
    name = (meaning(source, call.func) or "").removeprefix("torch.")
    return name.removeprefix("nn.functional.") in FUNCTIONS and "dropout" not in name
