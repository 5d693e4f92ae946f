"""Lists that the loop makes or grows: compiled code has lists of its own, with one element type.

numba's lists behave as Python's do: ``append``, negative indices, ``IndexError``, ``[x] * n``, rows
as objects; what they return becomes Python lists of Python numbers.
"""

from __future__ import annotations

import ast

from ..loopnest.ir import CHAR, PY_INT, Append, AppendRow, Load, Nest, statements
from ..loopnest.lower_lists import is_list
from ..loopnest.lower_rows import source_of
from ..loopnest.scope import dotted
from ..loopnest.text import FIRST_WORD
from ..model import Region
from .nb_bounded import bounded
from .nb_chars import element_type
from .nb_iterables import Iterables
from .nb_state import State, TextEdit, fail
from .nb_values import Num, Unsupported, View, hull


class Growth(Iterables):
    """Statements that make lists and append to them."""

    def list_statement(self, node: ast.stmt) -> bool:
        """Execute the statement if it makes or grows a list; False if it is something else."""
        if self.scope.helper:
            return False
        match node:
            case ast.AugAssign(target=ast.Name(id=name), value=value) if name in self.state.native:
                self._append(name, value, node)
                self._as_append(node)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self._replaced():
                self._hand_on(name, value)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_list(value):
                if name not in self.state.native:
                    return False
                self._make(name, value)
                self.scope.env[name] = self._view(name)
                self.scope.maybe.discard(name)
                return True
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]
                )
            ) if dotted(owner) in self.state.native:
                self._append(dotted(owner) or "", arg, node)
                return True
        return False

    def _replaced(self) -> frozenset[str]:
        nest = self.state.region.nest
        return nest.replaced if isinstance(nest, Nest) else frozenset()

    def _hand_on(self, name: str, value: ast.expr) -> None:
        """``previous = current``; a copy is spelled so that it is one of an array, too."""
        found = source_of(value)
        assert found is not None
        other, copied = found
        if copied:
            self.state.replace(value, f"list({other})")
        row = self.scope.lookup(other, value)
        if not isinstance(row, View) or (row.ndim, row.element) != (1, self._view(name).element):
            raise Unsupported(f"{name} is replaced by other than such a list", value.lineno)
        self.scope.need(name)
        if other not in self.state.made:
            self.scope.need(other)
        if self.state.recording:
            self.state.grown.setdefault(name)

    def _view(self, name: str) -> View:
        nest = self.state.region.nest
        assert isinstance(nest, Nest)
        array = nest.arrays[name]
        return View(name, element_type(nest, name), array.ndim)

    def _make(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.List(elts=elts):
                for item in elts:
                    self._put_in(name, self.ev.number(item), item)
            case (
                ast.BinOp(left=ast.List(elts=[item]), right=count)
                | ast.BinOp(left=count, right=ast.List(elts=[item]))
            ):
                self._put_in(name, self.ev.number(item), item)
                self._count(count)
            case ast.ListComp(
                elt=item, generators=[ast.comprehension(iter=ast.Call(args=[count]))]
            ):
                self._count(count)
                if is_list(item):
                    self._make(name, item)
                else:
                    self._put_in(name, self.ev.number(item), item)
            case _:
                text = f"`{ast.unparse(value)}` cannot be compiled"
                raise Unsupported(text, value.lineno)

    def _count(self, node: ast.expr) -> None:
        if self.ev.number(node).type != PY_INT:
            raise Unsupported(f"a list repeated `{ast.unparse(node)}` times", node.lineno)

    def _as_append(self, node: ast.AugAssign) -> None:
        """``out += ch`` becomes ``out.append(ch)``."""
        source, state = self.state.source, self.state
        start, end = source.span(node.target)[1], source.span(node)[1]
        between = source.data[start : source.span(node.value)[0]]
        at = start + between.index(b"+=")
        after = at + len(b"+=")
        while source.data[after : after + 1] == b" ":
            after += 1
        if state.recording:
            state.edits.add(TextEdit(start, 0, after, ".append("))
            state.edits.add(TextEdit(end, 2 * 10**9, end, ")"))

    def _append(self, name: str, arg: ast.expr, node: ast.stmt) -> None:
        view = self._view(name)
        if self.state.recording and name not in self.state.made:
            self.state.grown.setdefault(name)
        if view.ndim == 1:
            self._put_in(name, self.ev.number(arg), arg)
        elif isinstance(arg, ast.Tuple):
            for item in arg.elts:
                self._put_in(name, self.ev.number(item), item)
        elif is_list(arg):
            self._make(name, arg)
        else:
            row = self.ev.value(arg)
            if not isinstance(row, View) or (row.ndim, row.element) != (1, view.element):
                raise Unsupported(f"`{ast.unparse(node)}` cannot be compiled", node.lineno)

    def _put_in(self, name: str, value: Num, node: ast.expr) -> None:
        """An element: of exactly the list's type, or its type would change in compiled code."""
        element = self._view(name).element
        if value.types != {element}:
            held = " or ".join(sorted(map(str, value.types)))
            text = f"`{ast.unparse(node)}` is put into {name}, a list of {element}, and is {held}"
            undecided = Unsupported(text, node.lineno)
            raise undecided
        if element == CHAR and not value.within(0, FIRST_WORD - 1):
            text = f"`{ast.unparse(node)}` may be other text than one character"
            fail(self.state, text, node)
        value = bounded(self.state, value, node, None)
        if self.state.recording and element == PY_INT and name in read_lists(self.state.region):
            before = self.state.stored.get(name, value)
            self.state.stored[name] = hull([before, value], PY_INT)


def native_lists(region: Region) -> tuple[frozenset[str], frozenset[str]]:
    """Lists that are compiled code's own: those the nest makes, and all that it appends to."""
    nest = region.nest
    if not isinstance(nest, Nest):
        return frozenset(), frozenset()
    appended = {s.array for s in statements((nest.root,)) if isinstance(s, Append | AppendRow)}
    # a row made on the spot, rows.append([x, y]), has no name in the text
    made = nest.made - nest.invented
    return made, made | nest.replaced | frozenset(appended - nest.made)


def unread_lists(state: State) -> frozenset[str]:
    """Lists from before the loop that it only appends to."""
    return frozenset(state.grown) - frozenset(state.read)


def read_lists(region: Region) -> frozenset[str]:
    """Arrays and lists of which elements are read."""
    from ..loopnest.ir import expressions, walk

    assert isinstance(region.nest, Nest)
    return frozenset(
        expr.array
        for statement in statements((region.nest.root,))
        for top in expressions(statement)
        for expr in walk(top)
        if isinstance(expr, Load)
    )
