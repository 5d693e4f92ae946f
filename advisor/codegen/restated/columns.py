"""Lists of records as one list for each attribute or place, with the loop over positions."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...loopnest.liveness import live_after
from ...loopnest.scope import literal
from ...model import Basis, Condition, Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft
from .record_search import RecordSearch, is_numeric, pairs_of, path_of, walked_along
from .records import NUMBERS, apart, is_frozen, tables_of, unchanged


def without_records(draft: Draft) -> Draft:
    """The draft with columns in place of the lists of records that the loop works on."""
    if not draft.has_inner_loop:
        return draft  # for p in ps: p.x += p.v: putting them into columns takes as long
    for table in tables_of(draft).values():
        if not any(path_of(n) == table.path for n in ast.walk(draft.loop)):
            continue
        columns = _Columns(draft, table)
        try:
            new = columns.written()
        except Unsupported:
            if table.owner is None:
                continue  # rows[i][j] may do as an array of two dimensions
            raise
        draft = new if columns.unpacked or not table.is_regular else draft
    return draft


class _Columns(RecordSearch):
    """One list of records, put into columns."""

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        draft = self.draft
        self.find_elements()
        for node in ast.walk(draft.loop):
            self._rewrite(node)
        self._check_rest()
        self._check_aliases()
        values = {column: self._seen(member) for member, column in self.used.items()}
        edits = [*draft.above(draft.loop, self._gathered()), *self.edits]
        names = frozenset((*self.used.values(), *self.elements.values()))
        loop = draft.advanced(edits, values, gone=(self.table.path, *self.elements))
        loop = replace(loop, names=loop.names | names)
        return self._asked(self._scattered(loop))

    # ------------------------------------------------------------- rewriting
    def _rewrite(self, node: ast.AST) -> None:
        if id(node) in self.done:
            return
        match node:
            case ast.For(target=target, iter=iterable):
                self._walk(target, iterable)
            case ast.Assign():
                for target, value in pairs_of(node):
                    if self.is_record(value):
                        self._bind(target, value)
            case ast.Attribute(value=value, attr=name) if (
                self.table.owner is not None and self.is_record(value)
            ):
                self._member(node, value, name)
            case ast.Subscript(value=value, slice=index) if (
                self.table.owner is None
                and self.is_record(value)
                and isinstance(place := literal(index), int)
            ):
                self._member(node, value, str(place % max(1, len(self.table.members))))
            case ast.Compare(
                left=left,
                ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op],
                comparators=[right],
            ) if self.is_record(left) and self.is_record(right):
                self._same(left, op, right)
            case ast.Call(func=ast.Name(id="len"), args=[argument]) if self.is_table(argument):
                self.done.update(map(id, ast.walk(argument)))
                self._put(argument, self._any_column())

    def _put(self, node: ast.expr, text: str) -> None:
        self.edits.append(Edit(*self.draft.source.span(node), text))

    def _column(self, member: str, node: ast.AST) -> str:
        """The name of a member's column."""
        line = getattr(node, "lineno", None)
        if member not in self.table.members:
            text = f"{self.table.path} holds records, of which {member} is not known"
            raise Unsupported(text, line)
        if member not in self.used:
            wanted = f"{self.table.prefix}_{member}"
            self.used[member] = self.draft.free(wanted, *self.used.values())
        return self.used[member]

    def _any_column(self) -> str:
        for column in self.used.values():
            return column
        for member, seen in self.table.members.items():
            if self._serves(seen):
                return self._column(member, self.draft.loop)
        raise Unsupported(f"the records of {self.table.path} hold no numbers", None)

    def _walk(self, target: ast.expr, iterable: ast.expr) -> None:
        """``for b in bodies`` as ``for b_at in range(len(bodies_x))``."""
        if self.is_walked(iterable):
            inside = iterable.value if isinstance(iterable, ast.Subscript) else iterable
            self.done.update(map(id, (inside, iterable)))
            self.done.update(map(id, ast.walk(inside)))
            if isinstance(target, ast.Name):
                self.unpacked = True
                self.done.add(id(target))
                self._put(target, self.elements[target.id])
                self._put(iterable, self._positions(iterable))
            elif isinstance(target, ast.Tuple) and self.table.owner is None:
                self._unpacked(target, iterable)
            else:
                raise Unsupported(f"an unpacking of {ast.unparse(iterable)}", target.lineno)
            return
        if (index := self.numbered(target, iterable)) is not None:
            # for i, b in enumerate(bodies): the number is the position
            self.done.update(map(id, ast.walk(iterable)))
            self.done.update(map(id, ast.walk(target)))
            self._put(target, index)
            self._put(iterable, f"range(len({self._any_column()}))")
            return
        for part, inner in walked_along(target, iterable):
            self._walk(part, inner)

    def _positions(self, iterable: ast.expr) -> str:
        match iterable:
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
                start = "0" if lower is None else self.position(lower, is_start=True)
                stop = f"len({self._any_column()})"
                if upper is not None:
                    stop = self.position(upper, is_start=False)
                return f"range({start}, {stop})"
        return f"range(len({self._any_column()}))"

    def _unpacked(self, target: ast.Tuple, iterable: ast.expr) -> None:
        """``for x, y in points`` as ``for x, y in zip(points_0, points_1)``."""
        if not self.is_table(iterable) or len(target.elts) != len(self.table.members):
            raise Unsupported(f"an unpacking of {ast.unparse(iterable)}", target.lineno)
        self.unpacked = True
        reads = {
            n.id
            for n in ast.walk(self.draft.loop)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        kept: list[tuple[str, str]] = []
        for place, part in enumerate(target.elts):
            unread = isinstance(part, ast.Name) and part.id not in reads
            seen = self.table.members[str(place)]
            if unread and not is_numeric(seen) and self._dead(part):
                continue
            kept.append((self.draft.source.text(part), self._column(str(place), part)))
        if len(kept) == 1:
            self._put(target, kept[0][0])
            self._put(iterable, kept[0][1])
            return
        names = ", ".join(text for text, _ in kept)
        self._put(target, f"({names})" if _bracketed(self.draft, target) else names)
        self._put(iterable, f"zip({', '.join(column for _, column in kept)})")

    def _dead(self, part: ast.expr) -> bool:
        read = live_after(self.draft.source, self.draft.function, self.draft.loop)
        return isinstance(part, ast.Name) and read is not None and part.id not in read

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        """``b = bodies[i]`` as ``b_at = i``; ``x, y = points[i]`` by columns."""
        index = self._index(value)
        if isinstance(target, ast.Name):
            self.unpacked = True
            self.done.add(id(target))
            self._put(target, self.elements[target.id])
            self._put(value, index)
        elif isinstance(target, ast.Tuple) and self.table.owner is None:
            if len(target.elts) != len(self.table.members):
                raise Unsupported(f"an unpacking of {ast.unparse(value)}", target.lineno)
            self.unpacked = True
            parts = [f"{self._column(str(k), value)}[{index}]" for k in range(len(target.elts))]
            self._put(value, ", ".join(parts))
        else:
            raise Unsupported(f"an unpacking of {ast.unparse(value)}", target.lineno)

    def _index(self, node: ast.expr) -> str:
        """The position that a record is at; the nodes of it are done with."""
        self.done.update(map(id, ast.walk(node)))
        if isinstance(node, ast.Name):
            return self.elements[node.id]
        assert isinstance(node, ast.Subscript)
        for inner in ast.walk(node.slice):
            if self.is_table(inner) or (isinstance(inner, ast.Name) and inner.id in self.elements):
                raise Unsupported(f"the index of {ast.unparse(node)} reads records", node.lineno)
        return self.draft.source.text(node.slice)

    def _member(self, node: ast.Attribute | ast.Subscript, record: ast.expr, member: str) -> None:
        """``bodies[i].x`` as ``bodies_x[i]``."""
        column = self._column(member, node)
        if not isinstance(node.ctx, ast.Load):
            if self.table.owner is None or is_frozen(self.table.owner):
                raise Unsupported(f"`{ast.unparse(node)}` is assigned", node.lineno)
            if not is_numeric(self.table.members[member]):
                text = f"`{ast.unparse(node)}` is assigned and is no number"
                raise Unsupported(text, node.lineno)
            self.stored.setdefault(member)
        self._put(node, f"{column}[{self._index(record)}]")

    def _same(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        """``a is b`` as ``a_at == b_at``."""
        owner = self.table.owner
        by_value = isinstance(op, ast.Eq | ast.NotEq)
        if owner is None or (by_value and _compares_by_value(owner)):
            text = f"records of {self.table.path} are compared"
            raise Unsupported(text, left.lineno)
        for side in (left, right):
            self._put(side, self._index(side))
        if not by_value:
            start, end = self.draft.source.span(left)[1], self.draft.source.span(right)[0]
            self.edits.append(Edit(start, end, " == " if isinstance(op, ast.Is) else " != "))
        self.stored.setdefault("")  # positions stand for objects: each is in the list once

    # --------------------------------------------------------------- checks
    def _check_rest(self) -> None:
        """Nothing else may be done with the list and its records. Raises Unsupported."""
        loop = self.draft.loop
        for node in ast.walk(loop):
            if id(node) in self.done:
                continue
            if isinstance(node, ast.Name) and node.id in self.elements:
                text = f"{node.id}, a record of {self.table.path}, is used as a whole"
                raise Unsupported(text, node.lineno)
            if self.is_table(node):
                text = f"{self.table.path} is used as a whole"
                raise Unsupported(text, getattr(node, "lineno", None))

    def _check_aliases(self) -> None:
        """Attributes that are written may be those of the same object by another name."""
        if self.table.owner is None or not self.stored:
            return
        mine = self.table.owner.name
        for node in ast.walk(self.draft.loop):
            if not isinstance(node, ast.Attribute) or id(node) in self.done:
                continue
            if node.attr not in self.used:
                continue
            base = path_of(node.value)
            seen = self.draft.values.get(base) if base is not None else None
            record = isinstance(node.value, ast.Name | ast.Subscript) and self.is_record(node.value)
            if record or (seen is not None and seen.type_name.rpartition(".")[2] != mine):
                continue
            text = f"`{ast.unparse(node)}` may be an attribute of a record of {self.table.path}"
            raise Unsupported(text, node.lineno)
        for path, info in self.draft.values.items():
            other = info.element
            if path == self.table.path or other is None or other.kind != "object":
                continue
            if other.type_name.rpartition(".")[2] == mine:
                text = f"{path} and {self.table.path} may hold the same objects"
                raise Unsupported(text, self.draft.loop.lineno)

    # ----------------------------------------------------------------- text
    def _gathered(self) -> list[str]:
        path, item = self.table.path, self._item()
        lines = []
        for member, column in self.used.items():
            one = f"{item}.{member}" if self.table.owner is not None else f"{item}[{member}]"
            lines.append(f"{column} = [{one} for {item} in {path}]")
        return lines

    def _item(self) -> str:
        owner = self.table.owner
        return self.draft.free(owner.name.lower() if owner else "row", *self.used.values())

    def _serves(self, seen: ValueInfo) -> bool:
        """Numbers; or rows of numbers, which the objects keep while the loop works on them."""
        rows = self.table.owner is not None and seen.ndim == 2
        kind = seen.element.kind if seen.element is not None else ""
        return is_numeric(seen) or (rows and kind in NUMBERS)

    def _seen(self, member: str) -> ValueInfo:
        seen = self.table.members[member]
        if self._serves(seen):
            return seen
        held = seen.element.type_name if seen.element is not None else seen.type_name
        text = f"{self.table.path} holds records whose {member} is {held}"
        raise Unsupported(text, self.draft.loop.lineno)

    def _scattered(self, draft: Draft) -> Draft:
        """What was assigned goes back into the objects, also where the loop raises."""
        columns = {m: c for m, c in self.used.items() if m in self.stored}
        if not columns:
            return draft
        item = self._item()
        values = {m: draft.free(f"new_{m}", item, *self.used.values()) for m in columns}
        head = ", ".join((item, *values.values()))
        lines = [f"for {head} in zip({', '.join((self.table.path, *columns.values()))}):"]
        lines += [f"    {item}.{member} = {value}" for member, value in values.items()]
        return draft.finally_(lines)

    def _asked(self, draft: Draft) -> Draft:
        path, owner = self.table.path, self.table.owner
        tests = [f"type({path}) is {self.table.kind}"]
        if owner is not None:
            tests.append(f"set(map(type, {path})) <= {{{owner.name}}}")
        else:
            alone = apart(self.draft, path)
            kinds = "tuple" if alone is None else "tuple, list"
            tests.append(f"set(map(type, {path})) <= {{{kinds}}}")
            tests.append(f"set(map(len, {path})) <= {{{len(self.table.members)}}}")
            tests += alone or ()
        tests += [test for test in unchanged(self.draft, path) if not test.startswith(f"{path} ")]
        if self.stored:
            tests.append(f"len(set(map(id, {path}))) == len({path})")
        for test in tests:
            condition = Condition(test, Basis.OBSERVED, guarded=True, test=test)
            draft = draft.asking(test, condition)
        return draft


def _bracketed(draft: Draft, node: ast.Tuple) -> bool:
    return draft.source.text(node).startswith("(")


def _compares_by_value(owner: ast.ClassDef) -> bool:
    named = {n.name for n in owner.body if isinstance(n, ast.FunctionDef)}
    return bool(owner.decorator_list) or "__eq__" in named
