"""Lists that the loop makes or grows: ``row = []``, ``row.append(x)``, ``rows.append(row)``."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..model import ValueInfo
from . import typing_rules as typing
from .bindings import Gone, Stop, View
from .ir import (
    CHAR,
    PY_INT,
    Append,
    AppendRow,
    Expr,
    Len,
    NewList,
    Scalar,
    Stmt,
)
from .lower_statements import StatementLowering
from .scope import dotted, own_nodes


class ListLowering(StatementLowering):
    """Lists of numbers, and lists of such lists, with one element type each.

    The type shows in what is put in; a list read before that in the text is taken for one of ints
    in the first round and lowered again.
    """

    element_types: dict[str, Scalar]
    """By list; kept from round to round."""
    presumption: Scalar
    """Element type of a list of which nothing is known yet."""
    retyped: bool
    """The presumption was wrong for some list: what it led to is to be forgotten."""
    changed: bool

    def survey_lists(self, loop: ast.For | ast.While) -> None:
        """What the loop's own text makes and grows; at the start of every round."""
        nodes = [loop, *own_nodes(loop)]
        self.makes = frozenset(
            target.id
            for n in nodes
            if isinstance(n, ast.Assign) and is_list(n.value)
            for target in n.targets
            if isinstance(target, ast.Name)
        )
        found = {
            dotted(n.func.value)
            for n in nodes
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            if n.func.attr == "append"
        }
        self.strings = self.growing_strings(nodes)
        self.replaced = self.replaced_lists(nodes)
        grown = {p for p in found if p is not None} | self.strings | self.replaced
        self.grows = frozenset(grown) - self.makes
        self.made: set[str] = set()
        self.filled: set[str] = set()
        self.rows: set[str] = set()
        self.widths: dict[str, int | None] = {}
        """Lists of rows: the length where the rows are tuples, None where they are lists."""
        self.measured: set[str] = set()
        """Grown lists that are read or measured."""
        self.walked: list[str] = []
        """Grown lists with a loop over them under way."""
        self.presumed: set[str] = set()

    def replaced_lists(self, nodes: Sequence[ast.AST]) -> frozenset[str]:
        """Lists from before the loop that it only replaces by other lists."""
        raise NotImplementedError

    def growing_strings(self, nodes: list[ast.AST]) -> frozenset[str]:
        """Local strings that the loop only adds to: ``out += ch``."""
        added = [
            n.target.id
            for n in nodes
            if isinstance(n, ast.AugAssign)
            and isinstance(n.op, ast.Add)
            and isinstance(n.target, ast.Name)
        ]
        used = [n.id for n in nodes if isinstance(n, ast.Name)]
        return frozenset(
            name
            for name in added
            if name in self.observation.values
            and self.observation.values[name].kind == "str"
            and added.count(name) == used.count(name)
            and (name in self.local or self.frame.function is None)
        )

    def augmented(self, node: ast.AugAssign) -> list[Stmt]:
        """``out += ch`` is a list of characters that grows; all else as before."""
        if not (isinstance(node.target, ast.Name) and node.target.id in self.strings):
            return super().augmented(node)
        name = node.target.id
        value = self.item(node.value)
        if not self.frame.is_root or not isinstance(value, Expr) or value.type != CHAR:
            raise Stop(f"other than a character is added to the string {name}", node.lineno)
        self.appended.setdefault(name, set()).add(CHAR)
        return [Append(node.lineno, node, name, self.put_in(name, value, node.lineno))]

    # ------------------------------------------------------------- making
    def assignment(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """``row = []`` and the like; all else as before."""
        if not is_list(value) or isinstance(targets[0], ast.Tuple | ast.List):
            return super().assignment(targets, value, node)
        match targets:
            case [ast.Name(id=name)] if self.frame.is_root:
                return self.make(name, value, node)
        raise Stop("a list made inside the loop", node.lineno)

    def make(self, name: str, value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """The statements that give the name a fresh list."""
        assert self.env is not None
        first: list[Stmt]
        rest: list[Expr] = []
        match value:
            case ast.List(elts=elts):
                rest = self.exprs(elts)
                first = [NewList(node.lineno, node, name)]
            case _:
                extents, inner = self.repeated(value)
                fill = self.put_in(name, self.expr(inner), node.lineno)
                first = [NewList(node.lineno, node, name, extents, fill)]
        for other, bound in self.env.items():
            if isinstance(bound, View) and bound.array == name:
                self.env[other] = Gone("is an older list of that name")
        self.kill(name)
        self.made.add(name)
        rank = max(1, len(first[0].extents)) if isinstance(first[0], NewList) else 1
        self.used_arrays[name] = self.list_info(name, rank)
        self.env[name] = View(name)
        self.rebound.setdefault(name, node.lineno)
        return first + [
            Append(node.lineno, node, name, self.put_in(name, item, node.lineno)) for item in rest
        ]

    def repeated(self, value: ast.expr) -> tuple[tuple[Expr, ...], ast.expr]:
        """Extents and element of ``[x] * n`` and ``[[x] * m for _ in range(n)]``. Raises Stop."""
        line = value.lineno
        match value:
            case (
                ast.BinOp(left=ast.List(elts=[item]), right=count)
                | ast.BinOp(left=count, right=ast.List(elts=[item]))
            ) if not is_list(item):
                return (self.count(count),), item
            case ast.ListComp(
                elt=item,
                generators=[
                    ast.comprehension(
                        target=ast.Name(id=unused),
                        iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]),
                        ifs=[],
                        is_async=0,
                    )
                ],
            ) if not _reads_name(item, unused):
                extents: tuple[Expr, ...] = (self.count(count),)
                if is_list(item):
                    inner, item = self.repeated(item)
                    extents += inner
                constant = isinstance(item, ast.Constant | ast.UnaryOp)
                if len(extents) <= 2 and constant:
                    return extents, item
        raise Stop("a list made inside the loop", line, "append to an empty list in a loop")

    def count(self, node: ast.expr) -> Expr:
        """How often the element is repeated."""
        found = self.settled(self.expr(node))
        if found.type != PY_INT:
            raise Stop(f"a list repeated {found.type} times", node.lineno)
        return found

    # ------------------------------------------------------------ growing
    def append(self, path: str, arg: ast.expr, node: ast.stmt) -> list[Stmt]:
        """``xs.append(value)`` on a list of the loop, or one from before it."""
        if not self.frame.is_root:
            raise Stop(f"a helper appends to {path}", node.lineno)
        if path in self.walked:
            raise Stop(f"{path} grows while it is looped over", node.lineno)
        inside = path in self.makes
        if inside:
            found = (self.env or {}).get(path)
            if not isinstance(found, View) or found.prefix or found.array != path:
                why = found.why if isinstance(found, Gone) else "is something else here"
                raise Stop(f"{path} {why}", node.lineno)
        else:
            self.check_from_before(path, node.lineno)
        row = self.row(arg, node)
        if row is not None:
            if inside:
                raise Stop(f"rows are appended to {path}, itself made in the loop", node.lineno)
            width = len(arg.elts) if isinstance(arg, ast.Tuple) else None
            if self.widths.setdefault(path, width) != width:
                raise Stop(f"rows of different kinds are appended to {path}", node.lineno)
            return self.append_row(path, row, node, as_tuple=width is not None)
        value = self.item(arg)
        if not isinstance(value, Expr):
            raise Stop(f"a row or tuple appended to {path}", node.lineno)
        if path in self.rows or (inside and self.rank(View(path)) != 1):
            raise Stop(f"numbers and rows are appended to {path}", node.lineno)
        value = self.put_in(path, value, node.lineno)
        if not inside:
            self.appended.setdefault(path, set()).add(value.type)
        return [Append(node.lineno, node, path, value)]

    def check_from_before(self, path: str, line: int) -> None:
        """The list must have been a plain list before the loop, under one name."""
        info = self.observation.values.get(path)
        env = self.env if self.env is not None else {}
        if (
            path in env
            or info is None
            or info.kind != "list"
            or info.type_name not in ("builtins.list", "list")
            or path.split(".")[0] in self.frame.names.values()
        ):
            raise Stop(f"append to {path}, which is not a list from before the loop", line)
        for pair in self.observation.aliases:
            if path in pair:
                other = pair[0] if pair[1] == path else pair[1]
                raise Stop(f"{path} and {other} were one list", line)

    def row(self, arg: ast.expr, node: ast.stmt) -> tuple[str, list[Stmt]] | None:
        """The made list that is appended, with the statements that make it on the spot."""
        if is_list(arg):
            name = self.invent("row")
            return name, self.make(name, arg, node)
        if isinstance(arg, ast.Tuple) and arg.elts:
            name = self.invent("row")
            items = ast.copy_location(ast.List(elts=arg.elts, ctx=ast.Load()), arg)
            return name, self.make(name, items, node)
        if isinstance(arg, ast.Name):
            bound = (self.env or {}).get(self.key(arg.id))
            if isinstance(bound, Gone) and arg.id in self.makes:
                raise Stop(f"{arg.id} {bound.why}", node.lineno)
            if isinstance(bound, View) and bound.array in self.made and not bound.prefix:
                return bound.array, []
        return None

    def append_row(
        self, path: str, row: tuple[str, list[Stmt]], node: ast.stmt, *, as_tuple: bool
    ) -> list[Stmt]:
        """``rows.append(row)``; the row is not to be touched again, or two lists would share it."""
        assert self.env is not None
        name, before = row
        if path in self.appended and path not in self.rows:
            raise Stop(f"numbers and rows are appended to {path}", node.lineno)
        if self.rank(View(name)) != 1:
            raise Stop(f"a table appended to {path}", node.lineno)
        self.rows.add(path)
        kind = self.element_types.get(name)
        if kind is not None:
            self.note_type(path, kind, node.lineno)
            self.appended.setdefault(path, set()).add(kind)
        for other, bound in self.env.items():
            if isinstance(bound, View) and bound.array == name:
                # row.append(1); rows.append(row); row.append(2): the rows would change later
                self.env[other] = Gone(f"was handed on to {path}")
        return [*before, AppendRow(node.lineno, node, path, name, as_tuple)]

    # -------------------------------------------------------------- types
    def put_in(self, name: str, value: Expr, line: int) -> Expr:
        """A value that becomes an element of the list, whose type is noted."""
        self.settled(value)
        self.note_type(name, value.type, line)
        self.filled.add(name)
        return value

    def note_type(self, name: str, kind: Scalar, line: int) -> None:
        """All elements of a list have one type. Raises Stop."""
        known = self.element_types.get(name)
        if known is None:
            self.element_types[name] = kind
            if name in self.presumed and kind != self.presumption:
                self.changed = self.retyped = True
        elif known != kind:
            raise Stop(f"{name} would hold {known} and {kind} values", line, "put in one type only")
        info = self.observation.values.get(name)
        if name not in self.makes and info is not None and info.element is not None:
            before = typing.scalar_of(info.element)
            if before != kind and name in self.measured:
                raise Stop(f"values of another type than {before} are appended to {name}", line)

    def list_info(self, name: str, rank: int = 1) -> ValueInfo:
        """What is known of a list made or grown here, in the terms of an observation."""
        kind = self.element_types.get(name)
        if kind is None:
            info = self.observation.values.get(name)
            if name not in self.makes and info is not None and info.element is not None:
                kind = typing.scalar_of(info.element)
        if kind is None:
            self.presumed.add(name)
            kind = self.presumption
        word = kind.kind.value if kind.is_python else "numpy_scalar"
        element = ValueInfo(word, f"builtins.{word}", dtype=kind.dtype)
        return ValueInfo("list", "builtins.list", ndim=rank, shape=(None,) * rank, element=element)

    def view(self, node: ast.expr) -> View | None:
        """See ``ArrayLowering``; lists from before that grow are read under their present type."""
        if isinstance(node, ast.Name | ast.Attribute):
            path = self.path(node)
            if path in self.grows and path not in (self.env or {}) and self.frame.is_root:
                assert path is not None
                self.check_from_before(path, node.lineno)
                if path in self.rows:
                    raise Stop(f"{path} is read while rows are appended to it", node.lineno)
                info = self.observation.values[path]
                if info.element is not None and info.ndim != 1:
                    raise Stop(f"{path} is read while it grows", node.lineno)
                self.measured.add(path)
                self.used_arrays[path] = self.list_info(path)
                return View(path)
        return super().view(node)

    def varies(self, array: str) -> bool:
        """Whether the length of the list may change in the nest."""
        return array in self.makes or array in self.grows

    def length_of(self, view: View, axis: int, line: int) -> Expr:
        """``len`` along an axis of an array; of the list as it is now, where it grows."""
        if not self.varies(view.array):
            return super().length_of(view, axis, line)
        if axis:
            raise Stop(f"the length of a row of {view.array}", line)
        return Len(PY_INT, line, view.array)

    def check_lists(self, line: int) -> None:
        """At the end of a round. Raises Stop."""
        for name in sorted(self.made - self.filled):
            raise Stop(f"nothing is ever put into the list {name}", line)
        for name in sorted(self.measured):
            kind, info = self.element_types.get(name), self.observation.values[name]
            if info.element is not None and kind != typing.scalar_of(info.element):
                raise Stop(f"values of another type are appended to {name}", line)


def _reads_name(node: ast.expr, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(node)
    )


def is_list(node: ast.expr) -> bool:
    """A list display, a repeated one, or a comprehension."""
    match node:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=ast.List(), op=ast.Mult()) | ast.BinOp(op=ast.Mult(), right=ast.List()):
            return True
    return False
