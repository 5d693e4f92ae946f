"""Lists of records, objects of one class or tuples of one length: which ones a loop works on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...loopnest.lower_lists import is_list
from ...loopnest.scope import dotted, own_nodes, stored_names
from ...model import Source, ValueInfo
from .draft import Draft

NUMBERS = frozenset({"bool", "int", "float"})
_GROWING = frozenset({"append", "extend", "insert", "pop", "sort", "reverse", "clear", "remove"})
_HOOKS = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"})


@dataclass(frozen=True)
class Table:
    """One list of records."""

    path: str
    """How the loop calls it: ``"bodies"``, ``"self.bodies"``."""
    kind: str
    """``list`` or ``tuple``."""
    members: Mapping[str, ValueInfo]
    """Attribute or place -> what was seen of the list of its values."""
    owner: ast.ClassDef | None
    """The class of the objects; None for tuples."""

    is_regular: bool = False
    """Rows of one type of number: an array of two dimensions, too."""

    @property
    def prefix(self) -> str:
        """What the names of its columns begin with."""
        return self.path.rpartition(".")[2].lstrip("_")


def tables_of(draft: Draft) -> dict[str, Table]:
    """The lists of records among what was seen at the loop's entry."""
    found = {}
    for path, info in draft.values.items():
        table = _table(draft, path, info)
        if table is not None:
            found[path] = table
    return found


def record_names(loop: ast.stmt, tables: Mapping[str, Table]) -> dict[str, str]:
    """Variables of the loop that stand for records -> the list that they are from."""
    found: dict[str, str] = {}

    def note(target: ast.expr, source: ast.expr) -> None:
        match target, source:
            case ast.Name(id=name), ast.Subscript(value=value):
                if (path := dotted(value)) in tables and path is not None:
                    found[name] = path
            case ast.Name(id=name), ast.Name() | ast.Attribute():
                if (path := dotted(source)) in tables and path is not None:
                    found[name] = path
            case (ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[over])):
                note(inner, over)
            case (
                ast.Tuple(elts=left),
                ast.Call(func=ast.Name(id="zip"), args=right) | ast.Tuple(elts=right),
            ) if len(left) == len(right):
                for one, other in zip(left, right, strict=True):
                    note(one, other)
            case _, ast.Call(func=ast.Name(id="reversed"), args=[over]):
                note(target, over)

    for node in (loop, *own_nodes(loop)):
        if isinstance(node, ast.For):
            note(node.target, node.iter)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            note(node.targets[0], node.value)
    return found


def _table(draft: Draft, path: str, info: ValueInfo) -> Table | None:
    element = info.element
    if info.kind not in ("list", "tuple") or element is None:
        return None
    if info.ndim == 1 and element.kind == "object" and element.members:
        owner = plain_class(draft.source, element.type_name)
        if owner is None:
            return None
        methods = {n.name for n in owner.body if isinstance(n, ast.FunctionDef)}
        sure = set(_always_assigned(owner)) - methods
        members = {name: seen for name, seen in element.members if name in sure}
        return Table(path, info.kind, members, owner)
    if info.ndim != 2 or info.shape is None or info.shape[1] is None:
        return None
    if element.kind == "mixed":
        return Table(path, info.kind, dict(element.members), None)
    if element.kind in NUMBERS:
        column = _column(info, element)
        members = {str(k): column for k in range(info.shape[1])}
        return Table(path, info.kind, members, None, is_regular=True)
    return None


def _column(info: ValueInfo, element: ValueInfo) -> ValueInfo:
    """One column of a regular list of rows, as far as the whole tells of it."""

    def first(shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if shape is None else shape[:1]

    assert info.shape is not None
    return ValueInfo(
        "list",
        "builtins.list",
        ndim=1,
        shape=info.shape[:1],
        min_shape=first(info.min_shape),
        max_shape=first(info.max_shape),
        minimum=info.minimum,
        maximum=info.maximum,
        has_nan=info.has_nan,
        element=element,
    )


def unchanged(draft: Draft, path: str) -> list[str]:
    """Tests that no list the loop writes to is the one that is copied."""
    return [f"{written} is not {path}" for written in _written_lists(draft)]


def apart(draft: Draft, rows: str) -> list[str] | None:
    """Tests that no list the loop writes to is one of the rows; None if it may write to rows.

    What is read from a copy of the rows would else be what was there before the loop.
    """
    inside = stored_names(draft.loop)
    for target in _written(draft):
        path = dotted(target)
        if path is None or (path.partition(".")[0] in inside and not _is_made(draft, path)):
            return None
    return [f"all(row is not {path} for row in {rows})" for path in _written_lists(draft)]


def _is_made(draft: Draft, name: str) -> bool:
    """Whether the loop binds the name to lists that it makes, and to nothing else."""
    stores = values = 0
    for node in own_nodes(draft.loop):
        match node:
            case ast.Name(id=found, ctx=ast.Store()) if found == name:
                stores += 1
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                values += is_list(value)
            case _:
                pass
    return stores == values


def _written(draft: Draft) -> Iterator[ast.expr]:
    for node in own_nodes(draft.loop):
        match node:
            case ast.Subscript(value=value, ctx=ast.Store()):
                yield value
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _GROWING:
                yield value
            case _:
                pass


def _written_lists(draft: Draft) -> list[str]:
    """Lists from before the loop that it writes to, by what it calls them."""
    found: dict[str, None] = {}
    for target in _written(draft):
        while isinstance(target, ast.Subscript):
            target = target.value
        path = dotted(target)
        if path is not None and path.partition(".")[0] in stored_names(draft.loop):
            continue  # not the one from before the loop
        info = draft.values.get(path) if path is not None else None
        known = info is not None and info.kind == "list"
        if path is not None and known and path not in draft.names:
            found.setdefault(path)
    return list(found)


# --------------------------------------------------------------------- classes
def plain_class(source: Source, type_name: str) -> ast.ClassDef | None:
    """The class of the file by that name, if its instances hold attributes and do no more.

    No base class, no hook that runs when an attribute is read or written, nothing in the file
    that changes the class or deletes attributes.
    """
    name = type_name.rpartition(".")[2]
    found = [n for n in source.nodes if isinstance(n, ast.ClassDef) and n.name == name]
    if len(found) != 1 or found[0] not in source.tree.body:
        return None
    owner = found[0]
    if owner.bases or owner.keywords or not all(map(_is_dataclass, owner.decorator_list)):
        return None
    methods = [n for n in owner.body if isinstance(n, ast.FunctionDef)]
    if any(m.name in _HOOKS for m in methods):
        return None
    return None if _is_tampered(source, name) else owner


def _is_dataclass(node: ast.expr) -> bool:
    """``@dataclass``, ``@dataclasses.dataclass(slots=True)``; frozen ones are read only."""
    called = node.func if isinstance(node, ast.Call) else node
    return (dotted(called) or "").rpartition(".")[2] == "dataclass"


def is_frozen(owner: ast.ClassDef) -> bool:
    """Whether assigning an attribute raises, as far as the decorators tell."""
    return any("frozen" in ast.unparse(d) for d in owner.decorator_list)


def _is_tampered(source: Source, name: str) -> bool:
    for node in source.nodes:
        match node:
            case ast.Name(id="setattr" | "delattr") | ast.Attribute(attr="__dict__" | "__class__"):
                return True
            case ast.Attribute(ctx=ast.Del()):
                return True
            case ast.Attribute(value=ast.Name(id=found), ctx=ast.Store()) if found == name:
                return True
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case _:
                pass
    return False


def _always_assigned(owner: ast.ClassDef) -> Iterator[str]:
    """Attributes that every instance has: fields, and what ``__init__`` is sure to assign.

    A name that the class body binds too, to something computed, may be a descriptor.
    """
    is_dataclass = bool(owner.decorator_list)
    computed = {
        target.id
        for node in owner.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in owner.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) if is_dataclass:
                yield name
            case ast.FunctionDef(name="__init__" | "__post_init__", args=args, body=body):
                this = args.args[0].arg if args.args else ""
                for statement in body:
                    if any(isinstance(n, ast.Return) for n in ast.walk(statement)):
                        break
                    yield from (n for n in _assigned(statement, this) if n not in computed)
            case _:
                pass


def _assigned(statement: ast.stmt, this: str) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(target=target, value=ast.expr()):
            targets = [target]
        case _:
            return
    for one in targets:
        for node in ast.walk(one):
            if isinstance(node, ast.Attribute) and dotted(node.value) == this:
                yield node.attr
