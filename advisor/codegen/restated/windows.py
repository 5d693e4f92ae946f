"""Parts of a two-dimensional array, ``patch = image[y - 1 : y + 2, x - 1 : x + 2]``, by positions.

An element of the part is an element of the whole. That every part lies inside the array is asked
above the loop: NumPy would cut it off at the border, or count from the other end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...loopnest.liveness import live_after
from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ..nb_values import Unsupported
from .bounds import Form, Known, added, linear, spelled
from .draft import Draft
from .generators import evaluated_first, unconditional
from .typed import on_seen_types

_MOST = 20
_WHOLE = ("int", "uint")


@dataclass(frozen=True)
class Window:
    """``image[a:b, c:d]`` in a statement."""

    statement: ast.stmt
    node: ast.expr
    """With what is made of it: ``image[..].astype(float)``, ``image[..].max()``."""
    array: str
    slices: tuple[ast.Slice, ast.Slice]
    made: str
    """``""``, ``"float"`` or the name of a reduction."""


def without_windows(draft: Draft) -> Draft:
    """The draft with elements of arrays in place of those of their parts. Raises Unsupported."""
    for _ in range(_MOST):
        found = next(_windows(draft), None)
        if found is None:
            return draft
        draft = _Writer(draft, found).written()
    raise Unsupported("too many parts of arrays in one loop", draft.loop.lineno)


# --------------------------------------------------------------------- search
def _windows(draft: Draft) -> Iterator[Window]:
    for statement in own_nodes(draft.loop):
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value) if (
                found := _window(draft, statement, value)
            ) is not None:
                yield found
                continue
        root = evaluated_first(draft, statement)
        if root is None or not isinstance(statement, ast.stmt):
            continue
        for node in unconditional(root):
            reduced = _reduced(draft, statement, node)
            if reduced is not None:
                yield reduced


def _part(draft: Draft, node: ast.expr) -> tuple[str, tuple[ast.Slice, ast.Slice]] | None:
    """The array and the slices of ``image[a:b, c:d]``; None for anything else."""
    match node:
        case ast.Subscript(
            value=ast.Name(id=name),
            slice=ast.Tuple(elts=[ast.Slice() as rows, ast.Slice() as columns]),
        ):
            seen = draft.values.get(name)
            bounds = (rows.lower, rows.upper, columns.lower, columns.upper)
            if seen is None or seen.kind != "ndarray" or seen.ndim != 2:
                return None
            if None in bounds or rows.step or columns.step or _is_changed(draft, name):
                return None
            return name, (rows, columns)
    return None


def _window(draft: Draft, statement: ast.Assign, value: ast.expr) -> Window | None:
    """``patch = image[..]``, ``patch = image[..].astype(float)`` or ``.copy()``."""
    made, whole = "", value
    match value:
        case ast.Call(
            func=ast.Attribute(value=inner, attr="astype"), args=[ast.Name(id="float")], keywords=[]
        ) if draft.is_builtin("float"):
            made, whole = "float", inner
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[], keywords=[]):
            whole = inner
    part = _part(draft, whole)
    return None if part is None else Window(statement, value, *part, made)


def _reduced(draft: Draft, statement: ast.stmt, node: ast.expr) -> Window | None:
    """``image[..].max()`` of whole numbers: their order does not matter."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=inner, attr="max" | "min" | "mean" as made),
            args=[],
            keywords=[],
        ):
            part = _part(draft, inner)
            if part is not None and (draft.values[part[0]].dtype or "").startswith(_WHOLE):
                return Window(statement, node, *part, made)
    return None


def _is_changed(draft: Draft, name: str) -> bool:
    """Whether the loop stores into the array, or gives the name another value."""
    for node in ast.walk(draft.loop):
        match node:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.AugAssign():
                target: ast.AST = node.target if isinstance(node, ast.AugAssign) else node
                while isinstance(target, ast.Subscript | ast.Attribute):
                    target = target.value
                if isinstance(target, ast.Name) and target.id == name:
                    return True
            case _:
                pass
    return False


# ----------------------------------------------------------------- what is known
def known_at(draft: Draft, statement: ast.stmt) -> Known:
    """What the heads of the loops around a statement say about expressions in it."""
    names = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name)]
    fixed = frozenset(n.id for n in names) - frozenset(_stored(draft))
    natural = frozenset(n for n in fixed if _is_natural(draft.values.get(n)))
    return Known(_loops_around(draft, statement), fixed, natural)


def _stored(draft: Draft) -> list[str]:
    names = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name)]
    return [n.id for n in names if not isinstance(n.ctx, ast.Load)]


def _loops_around(draft: Draft, statement: ast.AST) -> list[ast.For]:
    stored = _stored(draft)
    return [
        n
        for n in (draft.loop, *own_nodes(draft.loop))
        if isinstance(n, ast.For)
        and isinstance(n.target, ast.Name)
        and stored.count(n.target.id) == 1
        and any(inner is statement for s in n.body for inner in ast.walk(s))
    ]


# ----------------------------------------------------------------------- text
@dataclass
class _Writer:
    """One window, taken apart."""

    draft: Draft
    window: Window
    known: Known = field(init=False)
    new: list[str] = field(default_factory=list)
    tests: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stored = _stored(self.draft)
        self.known = known_at(self.draft, self.window.statement)

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        draft, window = self.draft, self.window
        self._inside()
        edits = self._loops() if window.made in ("max", "min", "mean") else self._elements()
        numpy, import_ = import_edit(draft.source, "numpy", "np")
        draft = on_seen_types(draft.advanced(edits).importing(import_))
        kinds = (f"type({window.array}) is {numpy}.ndarray", f"{window.array}.ndim == 2")
        for test in (*kinds, *self.tests):
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return replace(draft, names=draft.names | frozenset(self.new))

    def _refused(self, text: str) -> Unsupported:
        return Unsupported(
            f"`{ast.unparse(self.window.node)}`: {text}", self.window.statement.lineno
        )

    def _inside(self) -> None:
        """Each slice holds something, and does not leave the array at either end."""
        for axis, part in enumerate(self.window.slices):
            assert part.lower is not None and part.upper is not None
            low, high = linear(part.lower), linear(part.upper)
            size = {f"{self.window.array}.shape[{axis}]": 1}
            self._ask(low, "it may begin before the array")
            self._ask(added(size, high, -1), "it may end behind the array")
            self._ask(added(added(high, low, -1), {"": -1}), "it may be empty")

    def _ask(self, form: Form, otherwise: str, known: Known | None = None) -> None:
        """Make sure that a form is at least zero, by a test above the loop if need be."""
        least = (known or self.known).least(form)
        if least is None:
            raise self._refused(otherwise)
        if set(least) <= {""}:
            if least.get("", 0) < 0:
                raise self._refused(otherwise)
            return
        self.tests.setdefault(f"{spelled(least)} >= 0")

    # -------------------------------------------------------------- elements
    def _elements(self) -> list[Edit]:
        """The statement taken out, and each element of the part as one of the whole."""
        draft, statement = self.draft, self.window.statement
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        name = statement.targets[0].id
        read = live_after(draft.source, draft.function, draft.loop)
        if read is None or name in read or self.stored.count(name) != 1:
            raise self._refused("the part is used behind the loop, or set twice")
        behind = self._behind()
        uses = [n for s in behind for n in ast.walk(s) if isinstance(n, ast.Subscript)]
        taken = [n for n in uses if isinstance(n.value, ast.Name) and n.value.id == name]
        every = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == name]
        if len(every) != len(taken) + 1 or not behind:
            raise self._refused("the part is more than read element by element")
        start, _ = draft.source.span(statement)
        last = draft.source.span(behind[0])[0]
        edits = [Edit(start, last, "")]
        if b"#" in draft.source.data[draft.source.span(statement)[1] : last]:
            edits = draft.instead(statement, ["pass"])
        return edits + [self._element(use) for use in taken]

    def _behind(self) -> list[ast.stmt]:
        """The statements of the same block behind the assignment."""
        for owner in (self.draft.loop, *own_nodes(self.draft.loop)):
            for name in ("body", "orelse"):
                block = getattr(owner, name, None)
                if isinstance(block, list) and self.window.statement in block:
                    return block[block.index(self.window.statement) + 1 :]
        return []

    def _element(self, use: ast.Subscript) -> Edit:
        match use:
            case ast.Subscript(slice=ast.Tuple(elts=[row, column]), ctx=ast.Load()):
                known = replace(self.known, loops=_loops_around(self.draft, use))
                texts = []
                for index, part in zip((row, column), self.window.slices, strict=True):
                    assert part.lower is not None and part.upper is not None
                    if isinstance(index, ast.Slice | ast.Starred):
                        raise self._refused("the part is more than read element by element")
                    form, low = linear(index), linear(part.lower)
                    room = added(added(linear(part.upper), low, -1), {"": -1})
                    self._ask(form, "an index may be negative", known)
                    self._ask(added(room, form, -1), "an index may leave the part", known)
                    texts.append(spelled(added(low, form)))
                text = f"{self.window.array}[{', '.join(texts)}]"
                if self.window.made == "float":
                    text = f"{import_edit(self.draft.source, 'numpy', 'np')[0]}.float64({text})"
                return Edit(*self.draft.source.span(use), text)
        raise self._refused("the part is more than read element by element")

    # ------------------------------------------------------------ reductions
    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def _loops(self) -> list[Edit]:
        """Loops over the part above the statement, and their result in it."""
        window, draft = self.window, self.draft
        made = {"max": "largest", "min": "smallest", "mean": "total"}[window.made]
        result, row, column = self._free(made), self._free("row"), self._free("column")
        lows = [spelled(linear(part.lower)) for part in window.slices if part.lower is not None]
        highs = [spelled(linear(part.upper)) for part in window.slices if part.upper is not None]
        element = f"{window.array}[{row}, {column}]"
        numpy = import_edit(draft.source, "numpy", "np")[0]
        if window.made == "mean":
            first, body = f"{numpy}.float64(0.0)", [f"{result} += {numpy}.float64({element})"]
            sizes = [f"({high} - ({low}))" for low, high in zip(lows, highs, strict=True)]
            value = f"({result} / ({' * '.join(sizes)}))"
        else:
            first, sign = f"{window.array}[{lows[0]}, {lows[1]}]", ">" if made == "largest" else "<"
            body = [f"if {element} {sign} {result}:", f"    {result} = {element}"]
            value = result
        lines = [
            f"{result} = {first}",
            f"for {row} in range({lows[0]}, {highs[0]}):",
            f"    for {column} in range({lows[1]}, {highs[1]}):",
            *(f"        {line}" for line in body),
        ]
        span = draft.source.span(window.node)
        return [*draft.above(window.statement, lines), Edit(*span, value)]


def _is_natural(seen: ValueInfo | None) -> bool:
    return seen is not None and seen.kind == "int" and (seen.minimum or 0) >= 0
