"""Lists of lists of different lengths as one flat list, and where each row begins in it.

Adjacency lists, as lists or as dictionaries with the keys 0, 1, 2 .. in this order, that the loop
only reads.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field, replace

from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import dotted, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft
from .records import apart, unchanged

_DICT = "builtins.dict"
_COUNTED = ValueInfo("list", "builtins.list", ndim=1, shape=(None,), minimum=0)


def without_ragged_rows(draft: Draft) -> Draft:
    """The draft with flat lists in place of the ragged ones that the loop reads."""
    if not draft.has_inner_loop:
        return draft  # each row is looked at once: to copy it takes as long
    for path, info in dict(draft.values).items():
        rows = _rows(info)
        used = any(_path(n) == path for n in ast.walk(draft.loop))
        if rows is not None and used and path not in draft.names:
            draft = _Flat(draft, path, info, rows).written()
    return draft


def _path(node: ast.AST) -> str | None:
    return dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _rows(info: ValueInfo) -> ValueInfo | None:
    """What was seen of the rows, if it is a ragged list of lists of numbers or such a dict."""
    members = dict(info.members)
    if info.type_name == _DICT and {"keys", "values"} <= members.keys():
        keys, rows = members["keys"], members["values"]
        if keys.element is None or keys.element.kind != "int" or keys.minimum != 0:
            return None
    elif info.kind == "list" and info.max_shape is None:
        rows = info
    else:
        return None
    if rows.ndim != 2 or rows.element is None or rows.element.kind not in ("int", "float"):
        return None
    return rows


@dataclass
class _Flat:
    """One ragged list, made flat."""

    draft: Draft
    path: str
    info: ValueInfo
    rows: ValueInfo
    edits: list[Edit] = field(default_factory=list)
    positions: dict[str, str] = field(default_factory=dict)
    """Variable that stands for a row -> the variable that says which."""
    safe: set[str] = field(default_factory=set)
    """Variables that are positions of rows, never counted from the end."""
    from_rows: bool = False
    """Some of those are elements of rows: what the rows hold is to be tested."""
    done: set[int] = field(default_factory=set)
    new: list[str] = field(default_factory=list)

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        draft = self.draft
        prefix = self.path.rpartition(".")[2].lstrip("_")
        self.start, self.flat = self._free(f"{prefix}_start"), self._free(f"{prefix}_flat")
        self._find_rows()
        self._find_positions()
        for node in ast.walk(draft.loop):
            self._rewrite(node)
        self._check_rest()
        known = replace(self.rows.element or self.rows, minimum=None, maximum=None)
        flat = replace(
            _COUNTED, element=known, minimum=self.rows.minimum, maximum=self.rows.maximum
        )
        counts = replace(_COUNTED, element=ValueInfo("int", "builtins.int"), maximum=2**31)
        edits = [*draft.above(draft.loop, self._gathered()), *self.edits]
        values = {self.flat: flat, self.start: counts}
        new = draft.advanced(edits, values, gone=(self.path, *self.positions))
        return self._asked(replace(new, names=new.names | frozenset(self.new)))

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    @property
    def is_dict(self) -> bool:
        """A dictionary of rows."""
        return self.info.type_name == _DICT

    def _is_whole(self, node: ast.AST) -> bool:
        return _path(node) == self.path

    def _items(self, node: ast.expr) -> bool:
        """``enumerate(rows)``, or ``rows.items()`` of a dictionary."""
        match node:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
                return self._is_whole(inner) and not self.is_dict
            case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
                return self._is_whole(inner) and self.is_dict
        return False

    # --------------------------------------------------------------- search
    def _find_rows(self) -> None:
        loop = self.draft.loop
        for node in (loop, *own_nodes(loop)):
            match node:
                case ast.For(target=ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=row)])) if (
                    self._items(node.iter)
                ):
                    self.positions[row] = index
                case ast.For(target=ast.Name(id=row), iter=iterable) if (
                    self._is_whole(iterable) and not self.is_dict
                ):
                    self.positions[row] = self._free(f"{row}_at")
                case ast.Assign(targets=[ast.Name(id=row)], value=ast.Subscript(value=value)) if (
                    self._is_whole(value)
                ):
                    self.positions[row] = self._free(f"{row}_at")
                case _:
                    pass
        after = live_after(self.draft.source, self.draft.function, loop)
        first = read_before_assigned(loop)
        for row in self.positions:
            if after is None or row in after or row in first or self._stores(row) != 1:
                raise Unsupported(f"{row}, a row of {self.path}, is used elsewhere", loop.lineno)

    def _stores(self, name: str) -> int:
        loop = self.draft.loop
        return sum(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
            for n in ast.walk(loop)
        )

    def _find_positions(self) -> None:
        """Variables that only ever count rows, or get elements of rows, which are tested."""
        loop = self.draft.loop
        found: Counter[str] = Counter()
        for node in (loop, *own_nodes(loop)):
            if not isinstance(node, ast.For):
                continue
            match node.target:
                case ast.Name(id=name) if self._counts(node.iter) or self._gives_ints(node.iter):
                    found[name] += 1
                case ast.Tuple(elts=[ast.Name(id=name), _]) if self._items(node.iter):
                    found[name] += 1
                case _:
                    pass
        self.safe = {name for name, count in found.items() if count == self._stores(name)}
        self.safe |= {at for at in self.positions.values() if at in self.new}

    def _gives_ints(self, iterable: ast.expr) -> bool:
        element = self.rows.element
        return element is not None and element.kind == "int" and self._is_row(iterable)

    def _counts(self, iterable: ast.expr) -> bool:
        """Positions from 0 on; of a dictionary, no further than its keys go."""
        match iterable:
            case ast.Call(
                func=ast.Name(id="range"), args=[stop] | [ast.Constant(value=0 | 1), stop]
            ):
                return not self.is_dict or self._is_length(stop)
        return self.is_dict and self._is_whole(iterable)

    def _is_length(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                return self._is_whole(inner)
            case ast.Name(id=name) if not self._stores(name):
                self.tests = {**self.tests, f"{name} <= len({self.path})": None}
                return True
        return False

    tests: dict[str, None] = field(default_factory=dict)

    def _is_row(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.positions
            case ast.Subscript(value=value, slice=ast.Name()):
                return self._is_whole(value)
        return False

    # ------------------------------------------------------------ rewriting
    def _rewrite(self, node: ast.AST) -> None:
        if id(node) in self.done:
            return
        rows = f"len({self.start}) - 1"
        match node:
            case ast.For(target=ast.Name() as target, iter=iterable) if self._is_row(iterable):
                self._elements(node, target, self._checked_row(node, iterable))
            case ast.For(target=ast.Name(id=name) as target, iter=iterable) if self._is_whole(
                iterable
            ):
                self.done.update(map(id, ast.walk(iterable)))
                self._put(iterable, f"range({rows})")
                if not self.is_dict:
                    self.done.add(id(target))
                    self._put(target, self.positions[name])
            case ast.For(target=ast.Tuple() as target, iter=iterable) if self._items(iterable):
                self.done.update(map(id, (*ast.walk(iterable), *ast.walk(target))))
                self._put(target, self.draft.source.text(target.elts[0]))
                self._put(iterable, f"range({rows})")
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if (
                name in self.positions and self._is_row(value)
            ):
                self.done.add(id(target))
                self._put(target, self.positions[name])
                self._put(value, self._checked_row(node, value))
            case ast.Call(func=ast.Name(id="len"), args=[argument]) if self._is_row(argument):
                at = self._row(argument)
                self._put(node, f"({self.start}[{at} + 1] - {self.start}[{at}])")
            case ast.Call(func=ast.Name(id="len"), args=[argument]) if self._is_whole(argument):
                self.done.update(map(id, ast.walk(argument)))
                self._put(node, f"({rows})")
            case _:
                pass

    def _put(self, node: ast.expr, text: str) -> None:
        self.edits.append(Edit(*self.draft.source.span(node), text))

    def _row(self, node: ast.expr) -> str:
        """Which row it is."""
        self.done.update(map(id, ast.walk(node)))
        if isinstance(node, ast.Name):
            return self.positions[node.id]
        assert isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)
        name = node.slice.id
        if name not in self.safe:
            text = f"{name}, which picks a row of {self.path}, may be negative"
            raise Unsupported(text, node.lineno)
        return name

    def _checked_row(self, statement: ast.stmt, node: ast.expr) -> str:
        """Which row it is; a position that may be anything is asked first, as Python does."""
        match node:
            case ast.Subscript(slice=ast.Name(id=name)) if name not in self.safe:
                pass
            case _:
                return self._row(node)
        self.done.update(map(id, ast.walk(node)))
        rows = f"len({self.start}) - 1"
        if self.is_dict:
            lines = [f"if not 0 <= {name} < {rows}:", f"    raise KeyError({name})"]
            self.edits += self.draft.above(statement, lines)
            return name
        place = self._free(f"{name}_row")
        lines = [
            f"if not 1 - len({self.start}) <= {name} < {rows}:",
            '    raise IndexError("list index out of range")',
            f"{place} = {name} if {name} >= 0 else {name} + {rows}",
        ]
        self.edits += self.draft.above(statement, lines)
        return place

    def _elements(self, node: ast.For, target: ast.Name, at: str) -> None:
        """``for v in graph[u]`` as a loop over the places of the row's elements."""
        place = self._free(f"{target.id}_at")
        self._put(target, place)
        self._put(node.iter, f"range({self.start}[{at}], {self.start}[{at} + 1])")
        first = node.body[0]
        self.edits += self.draft.above(first, [f"{target.id} = {self.flat}[{place}]"])
        self.done.add(id(target))
        self.from_rows |= target.id in self.safe

    def _check_rest(self) -> None:
        for node in ast.walk(self.draft.loop):
            if id(node) in self.done:
                continue
            if self._is_whole(node) or (isinstance(node, ast.Name) and node.id in self.positions):
                text = f"{ast.unparse(node)}, with rows of different lengths, is used as a whole"
                raise Unsupported(text, getattr(node, "lineno", None))

    # ----------------------------------------------------------------- text
    def _gathered(self) -> list[str]:
        row, one = self._free("row"), self._free("element")
        over = f"{self.path}.values()" if self.is_dict else self.path
        return [
            f"{self.start} = [0]",
            f"for {row} in {over}:",
            f"    {self.start}.append({self.start}[-1] + len({row}))",
            f"{self.flat} = [{one} for {row} in {over} for {one} in {row}]",
        ]

    def _asked(self, draft: Draft) -> Draft:
        path = self.path
        over = f"{path}.values()" if self.is_dict else path
        tests = [f"type({path}) is {'dict' if self.is_dict else 'list'}"]
        tests += [] if self.is_dict else unchanged(self.draft, path)
        alone = apart(self.draft, over)
        kinds = "tuple" if alone is None else "list, tuple"
        tests.append(f"set(map(type, {over})) <= {{{kinds}}}")
        tests += alone or ()
        if self.is_dict:
            tests.append(f"list({path}) == list(range(len({path})))")
            tests.append(f"set(map(type, {path})) <= {{int}}")
        tests += self.tests
        if self.from_rows:
            low = f"all(min(row, default=0) >= 0 for row in {over})"
            tests.append(low)
            if self.is_dict:
                tests.append(f"all(max(row, default=-1) < len({path}) for row in {over})")
        for test in tests:
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return draft
