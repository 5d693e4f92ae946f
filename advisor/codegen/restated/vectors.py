"""Vectors of a few numbers, made anew in each iteration, as one variable a component.

``pos = pos + dt * vel`` makes two arrays of three numbers; compiled code is faster by far with
``pos_0``, ``pos_1`` and ``pos_2``. Functions that take or give such vectors are copied. Where the
loop runs in Python after all, it is the user's own, on the user's own arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...loopnest.definite import bound_before, bound_by_one_trip
from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import local_names, module_of, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from .draft import Draft
from .ends import trip_test
from .own_loop import own_loop
from .vector_functions import Functions
from .vector_statements import Statements
from .vector_values import (
    CALLER,
    FLOAT64,
    Number,
    Value,
    Vector,
    element_type,
    seen_number,
    seen_width,
)


def with_components(draft: Draft) -> Draft:
    """The draft without small vectors; the same one if there are none. Raises Unsupported."""
    numpy, edit = import_edit(draft.source, "numpy", "np")
    writer = _Writer(draft, numpy)
    changed = writer.written()
    if changed is None:
        return draft
    new = [*(e.text for e in changed.edits), *changed.tests, *changed.in_python]
    return changed.importing(edit) if any(f"{numpy}." in text for text in new) else changed


@dataclass(frozen=True)
class _Entry:
    """A vector from before the loop."""

    name: str
    info: ValueInfo
    width: int

    def test(self, numpy: str) -> str:
        """That it is what was seen."""
        size = f"len({self.name}) == {self.width}"
        if self.info.kind == "ndarray":
            size = f"{self.name}.shape == ({self.width},)"
        return f"{_type_test(self.name, self.info.kind, numpy)} and {size}"


class _Writer:
    """The loop in components."""

    def __init__(self, draft: Draft, numpy: str) -> None:
        self.draft = draft
        self.numpy = numpy
        self.functions = Functions(draft, numpy)
        nodes = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name)]
        self.stored = {n.id for n in nodes if not isinstance(n.ctx, ast.Load)}
        self.rebound = self._rebound()
        self.entries = self._entries()

    def _rebound(self) -> set[str]:
        """Names that get another object in the loop; ``v += w`` keeps the array."""
        augmented = {
            id(n.target) for n in own_nodes(self.draft.loop) if isinstance(n, ast.AugAssign)
        }
        return {
            n.id
            for n in own_nodes(self.draft.loop)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in augmented
        }

    def _entries(self) -> list[_Entry]:
        """Vectors that are there before the loop, and are used in it."""
        names = {n.id for n in own_nodes(self.draft.loop) if isinstance(n, ast.Name)}
        found = []
        for name in sorted(names & set(self.draft.values)):
            info = self.draft.values[name]
            width = seen_width(info)
            if width is not None:
                found.append(_Entry(name, info, width))
        return found

    def written(self) -> Draft | None:
        """The draft in components; None where there are no vectors. Raises Unsupported."""
        draft = self.draft
        scope = Statements(self.functions, local_names(draft.function), self._env())
        try:
            scope.statement(draft.loop)
        except Unsupported:
            if self.functions.vectors or any(e.info.kind == "ndarray" for e in self._taken()):
                raise
            return None
        if not scope.edits or not (self.functions.vectors or self.functions.maps):
            return None
        if not self.functions.vectors:
            # Python does the same in the new text
            return self._rewritten(scope.edits, {}, [], plain=False)
        self._check_behind(scope)
        return self._changed(scope)

    def _taken(self) -> list[_Entry]:
        """Vectors from before the loop that get other components in variables."""
        return [e for e in self.entries if e.name in self.rebound]

    def _env(self) -> dict[str, Value]:
        """The vectors at the loop's entry."""
        env: dict[str, Value] = {}
        for name in sorted(self.stored & set(self.draft.values)):
            number = seen_number(self.draft.values[name])
            if number is not None:
                env[name] = Number(ast.Name(name, ast.Load()), number)
        for entry in self.entries:
            number = element_type(entry.info) or ""
            items = []
            for k in range(entry.width):
                node: ast.expr = ast.Name(entry.name, ast.Load())
                if entry.name in self.rebound:
                    node = ast.Name(self.functions.component(entry.name, k), ast.Load())
                else:
                    node = ast.Subscript(node, ast.Constant(k), ast.Load())
                items.append(Number(node, number))
            place = entry.name not in self.rebound
            owners = frozenset({entry.name, CALLER})
            env[entry.name] = Vector(entry.info.kind, tuple(items), place, owners)
        return env

    # ---------------------------------------------------------------- behind
    def _check_behind(self, scope: Statements) -> None:
        """Vectors that are read behind the loop are those from before it. Raises Unsupported."""
        draft = self.draft
        read = live_after(draft.source, draft.function, draft.loop)
        known = bound_before(draft.source, draft.function, draft.loop)
        if read is None or known is None:
            raise Unsupported("any variable may be read behind the loop", draft.loop.lineno)
        entries = {e.name for e in self.entries}
        early = read_before_assigned(draft.loop)
        held = {n for n, v in scope.env.items() if isinstance(v, Vector) and not v.place}
        unseen = (held & early) - entries
        if unseen:
            raise Unsupported(f"{min(unseen)} was no vector before the loop", draft.loop.lineno)
        for name in sorted(held & (read | scope_reads_globals(draft))):
            if name not in entries:
                text = f"{name} is read behind the loop that makes it"
                raise Unsupported(text, draft.loop.lineno)
            value = scope.env[name]
            assert isinstance(value, Vector)
            if value.kind != "tuple" and (value.owners - {name}) & read:
                other = min((value.owners - {name}) & read)
                raise Unsupported(f"{name} and {other} may be one array", draft.loop.lineno)

    def _handed_back(self) -> list[_Entry]:
        """Vectors that are read behind the loop."""
        read = live_after(self.draft.source, self.draft.function, self.draft.loop) or frozenset()
        return [e for e in self._taken() if e.name in read]

    # ------------------------------------------------------------------ text
    def _changed(self, scope: Statements) -> Draft:
        draft, functions = self.draft, self.functions
        taken, back = self._taken(), self._handed_back()
        in_python = self._in_python(taken, back)
        trip = trip_test(draft) if back else ""
        sure = bound_by_one_trip(draft.loop)
        for entry in back:
            if not trip or entry.name not in sure:
                text = f"{entry.name} may be the same array behind the loop, or another one"
                raise Unsupported(text, draft.loop.lineno)
        values: dict[str, ValueInfo] = {}
        above, below = [], []
        for entry in taken:
            names = [functions.component(entry.name, k) for k in range(entry.width)]
            above.append(_unpacked(entry, names))
            values |= {name: _seen_component(entry) for name in names}
        for entry in back:
            below.append(self._packed(entry))
        edits = [*draft.above(draft.loop, above), *scope.edits, *draft.below(draft.loop, below)]
        gone = [e.name for e in taken]
        tests = self._tests()
        draft = self._rewritten(edits, values, gone)
        for test in tests:
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        if trip:
            text = "the loop runs at least once"
            draft = draft.asking(trip, Condition(text, Basis.OBSERVED, guarded=True, test=trip))
        return replace(draft, in_python=in_python)

    def _rewritten(
        self,
        edits: Sequence[Edit],
        values: dict[str, ValueInfo],
        gone: Sequence[str],
        plain: bool = True,
    ) -> Draft:
        """The draft behind edits of the loop, all of them below the copies of functions."""
        draft = self._with_functions(plain)
        by = len(draft.source.data) - len(self.draft.source.data)
        moved = [Edit(e.start + by, e.end + by, e.text) for e in dict.fromkeys(edits)]
        return draft.advanced(moved, values, gone)

    def _with_functions(self, plain: bool) -> Draft:
        """The copies above the loop. ``plain``: Python has no use for them."""
        draft = self.draft
        draft = replace(draft, names=draft.names | frozenset(self.functions.new))
        copies = list({c.name: c for c in self.functions.copies.values() if c.text}.values())
        if not copies:
            return draft
        top = top_level_statement(draft.source, draft.loop)
        offset, block = functions_block(draft.source, top, [c.text for c in copies])
        draft = draft.elsewhere([Edit(offset, offset, block)])
        names = {c.name: "pass" for c in copies} if plain else {}
        return replace(draft, plain={**draft.plain, **names})

    def _tests(self) -> list[str]:
        """What must hold of types and widths for the components to be what Python computes."""
        numbers = ("bool", "int", "float")
        shapes = ((name, info, seen_width(info)) for name, info in self.functions.shapes.items())
        more = [_Entry(name, info, width) for name, info, width in shapes if width is not None]
        tests = [entry.test(self.numpy) for entry in (*self.entries, *more)]
        for path, (kind, width) in self.functions.widths.items():
            rows = f"set(map(type, {path})) <= {{list, tuple}}"
            rows += f" and set(map(len, {path})) == {{{width}}}"
            if kind == "ndarray":
                rows = f"{path}.shape[1:] == ({width},)"
            tests.append(f"{_type_test(path, kind, self.numpy)} and {rows}")
        tests += [*self._apart(), *self.functions.methods.class_tests()]
        tests += [f"{name} is {known}" for name, known in self.functions.handed.items()]
        names = [n.id for n in own_nodes(self.draft.loop) if isinstance(n, ast.Name)]
        for name in dict.fromkeys(n for n in names if n not in self.rebound):
            info = self.draft.values.get(name)
            if info is not None and info.kind in numbers and name not in self.stored:
                tests.append(f"type({name}) is {info.kind}")
            elif info is not None and info.dtype == FLOAT64 and info.kind == "numpy_scalar":
                tests.append(f"type({name}) is {self.numpy}.float64")
        return list(dict.fromkeys(tests))

    def _apart(self) -> list[str]:
        """Vectors that get variables share no memory with what the loop changes in place.

        ``state = path[0]`` before ``path[i] = state`` in the loop would see the change.
        """
        loop = self.draft.loop
        changed = {_root(n.target) for n in own_nodes(loop) if isinstance(n, ast.AugAssign)}
        stores = (n for n in own_nodes(loop) if isinstance(n, ast.Subscript))
        changed |= {_root(n) for n in stores if isinstance(n.ctx, ast.Store)}
        changed -= self.rebound
        tests = []
        for entry in self._taken():
            for name in sorted(changed):
                info = self.draft.values.get(name)
                if info is None or info.kind not in ("ndarray", "list"):
                    continue
                if (info.kind, entry.info.kind) == ("ndarray", "ndarray"):
                    tests.append(f"not {self.numpy}.shares_memory({entry.name}, {name})")
                elif info.kind == entry.info.kind == "list":
                    tests.append(f"{entry.name} is not {name}")
        return tests

    def _packed(self, entry: _Entry) -> str:
        """The line that makes the user's object of the components."""
        names = [self.functions.component(entry.name, k) for k in range(entry.width)]
        inside = ", ".join(names)
        if entry.info.kind == "tuple":
            return f"{entry.name} = ({inside}{',' if len(names) == 1 else ''})"
        if entry.info.kind == "list":
            return f"{entry.name} = [{inside}]"
        return f"{entry.name} = {self.numpy}.array([{inside}])"

    def _in_python(self, taken: Sequence[_Entry], back: Sequence[_Entry]) -> tuple[str, ...]:
        """The user's own loop between components in and components out."""
        lines = [f"{name} = {known}" for name, known in self.functions.handed.items()]
        read = read_before_assigned(self.draft.region.loop)
        lines += [self._packed(entry) for entry in taken if entry.name in read]
        lines += own_loop(self.draft)
        for entry in back:
            names = [self.functions.component(entry.name, k) for k in range(entry.width)]
            lines.append(_unpacked(entry, names))
        return tuple(lines)


def scope_reads_globals(draft: Draft) -> frozenset[str]:
    """Variables of a module that its functions read: they may be called at any time."""
    if draft.function is not None:
        return frozenset()
    functions = module_of(draft.source).functions.values()
    return frozenset(
        n.id for f in functions for n in own_nodes(f) if isinstance(n, ast.Name)
    ) - frozenset(module_of(draft.source).functions)


def _unpacked(entry: _Entry, names: Sequence[str]) -> str:
    """``pos_0, pos_1 = pos``."""
    return f"{', '.join(names)}{',' if len(names) == 1 else ''} = {entry.name}"


def _seen_component(entry: _Entry) -> ValueInfo:
    """What is known of one component, from what was seen of all."""
    info = entry.info
    inner = info if info.minimum is not None or info.element is None else info.element
    number = element_type(info)
    if number == FLOAT64:
        return ValueInfo(
            "numpy_scalar",
            "numpy.float64",
            dtype="float64",
            minimum=inner.minimum,
            maximum=inner.maximum,
            has_nan=info.has_nan,
        )
    assert info.element is not None
    return replace(info.element, constant=False)


def _type_test(path: str, kind: str, numpy: str) -> str:
    if kind == "ndarray":
        return f"type({path}) is {numpy}.ndarray and {path}.dtype == {numpy}.float64"
    return f"type({path}) is {kind}"


def _root(node: ast.expr) -> str:
    """``rows`` of ``rows[i][j]``."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
