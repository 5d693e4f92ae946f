"""Parts of lists, ``chunk = series[i - 20 : i]``, as positions in the whole, or element by element.

A part that is only gone through and measured needs no list of its own; any other one becomes a
list that a loop fills.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.liveness import live_after
from ...loopnest.scope import dotted, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ..nb_values import Unsupported
from .bounds import Known, added, linear
from .draft import Draft
from .generators import evaluated_first, is_calm, unconditional
from .typed import on_seen_types

_MOST = 20
"""Slices of one loop that are taken apart."""
_SEQUENCES = ("list", "tuple")
_READERS = frozenset({"len", "range", "enumerate", "zip", "sum", "min", "max", "reversed", "abs"})


@dataclass(frozen=True)
class Part:
    """``chunk = series[a:b]`` in the loop."""

    statement: ast.Assign
    name: str
    whole: ast.expr
    path: str
    """The whole, where it is a plain name or path; else empty."""
    lower: ast.expr | None
    upper: ast.expr | None


def with_named_slices(draft: Draft) -> Draft:
    """Slices inside expressions as variables of their own in front of the statement."""
    for _ in range(_MOST):
        found = next(_hidden(draft), None)
        if found is None:
            return draft
        statement, node = found
        name = draft.free("part")
        lines = [f"{name} = {ast.unparse(node)}"]
        edits = [*draft.above(statement, lines), Edit(*draft.source.span(node), name)]
        draft = draft.advanced(edits, _seen_part(draft, statement, node, name))
        draft = replace(draft, names=draft.names | {name})
    raise Unsupported("too many slices in one loop", draft.loop.lineno)


def without_slices(draft: Draft) -> Draft:
    """The draft without slices of lists of numbers, as far as they are assigned to names."""
    draft = with_named_slices(draft)
    for _ in range(_MOST):
        found = next(_parts(draft), None)
        if found is None:
            return draft
        draft = _Positions(_typed(draft, found), found).written()
    raise Unsupported("too many slices in one loop", draft.loop.lineno)


# --------------------------------------------------------------------- search
def _hidden(draft: Draft) -> Iterator[tuple[ast.stmt, ast.Subscript]]:
    """Slices that a statement evaluates first, and does not assign."""
    for statement in (draft.loop, *own_nodes(draft.loop)):
        root = evaluated_first(draft, statement)
        if root is None or not isinstance(statement, ast.stmt):
            continue
        for node in unconditional(root):
            if is_slice(draft, node) and not (
                isinstance(statement, ast.Assign)
                and statement.value is node
                and _is_name(statement.targets)
            ):
                assert isinstance(node, ast.Subscript)
                yield statement, node


def _is_name(targets: Sequence[ast.expr]) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name)


def is_slice(draft: Draft, node: ast.expr) -> bool:
    """Whether it is ``xs[a:b]`` of numbers; ``xs[:]`` is a copy, which the back ends know."""
    match node:
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            return (lower or upper) is not None and _is_sequence(draft, value)
    return False


def _is_sequence(draft: Draft, node: ast.expr) -> bool:
    """A list of numbers, or a row of such lists."""
    path = dotted(node)
    if path is not None:
        seen = draft.values.get(path)
        if seen is None:
            return _is_made(draft, path)
        return seen.kind in _SEQUENCES and _rank(seen) == 1 and _is_numeric(seen)
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as value, slice=index):
            seen = draft.values.get(dotted(value) or "")
            plain = not isinstance(index, ast.Slice | ast.Tuple)
            return plain and seen is not None and _rank(seen) == 2 and _is_numeric(seen)
    return False


def _rank(seen: ValueInfo) -> int:
    return seen.ndim or 0


def _is_numeric(seen: ValueInfo) -> bool:
    return seen.element is not None and seen.element.kind in ("bool", "int", "float")


def _is_natural(seen: ValueInfo | None) -> bool:
    return seen is not None and seen.kind == "int" and (seen.minimum or 0) >= 0


def _is_made(draft: Draft, name: str) -> bool:
    """Whether the loop itself makes a list of that name."""
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.List)
        and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
        for n in own_nodes(draft.loop)
    )


def _seen_part(
    draft: Draft, statement: ast.stmt, node: ast.Subscript, name: str
) -> dict[str, ValueInfo] | None:
    """What is known of a part that is taken above the whole loop."""
    seen = draft.values.get(dotted(node.value) or "")
    if statement is not draft.loop or seen is None:
        return None
    return {name: replace(seen, shape=(None,), min_shape=None, max_shape=None)}


def _parts(draft: Draft) -> Iterator[Part]:
    for node in own_nodes(draft.loop):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value) if (
                is_slice(draft, value)
            ):
                assert isinstance(value.slice, ast.Slice)
                path = dotted(value.value) or ""
                yield Part(node, name, value.value, path, value.slice.lower, value.slice.upper)


def _typed(draft: Draft, part: Part) -> Draft:
    """The draft on the types seen: ``series[2.0:]`` raises, and a class may give what it likes.

    Whatever is computed in the loop is computed from what it finds.
    """
    test = _container_test(draft, part)
    if test:
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return on_seen_types(draft)


def _container_test(draft: Draft, part: Part) -> str:
    """The whole is of the type seen; empty for a list that the loop makes."""
    path = part.path
    rows = not path
    if isinstance(part.whole, ast.Subscript):
        path = dotted(part.whole.value) or ""
    seen = draft.values.get(path)
    if seen is None:
        return ""
    if rows:
        return f"set(map(type, {path})) <= {{{seen.kind}}}"
    return f"type({path}) is {seen.kind}"


# ----------------------------------------------------------------------- text
class _Positions:
    """One part, taken apart."""

    def __init__(self, draft: Draft, part: Part) -> None:
        self.draft = draft
        self.part = part
        self.new: list[str] = []
        names = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name)]
        self.stored = [n.id for n in names if not isinstance(n.ctx, ast.Load)]
        fixed = frozenset(n.id for n in names) - frozenset(self.stored)
        natural = frozenset(n for n in fixed if _is_natural(draft.values.get(n)))
        self.known = Known(self._loops_around(), fixed, natural)
        self.relied: set[str] = set()
        """Names that must not be negative."""

    def written(self) -> Draft:
        """The draft behind the change."""
        draft, part = self.draft, self.part
        first, start, stop = self._ends()
        uses = self._uses() if self._is_steady() and self._behind() else None
        if uses is None:
            index = self._free("k")
            whole = ast.unparse(part.whole)
            loop = f"for {index} in range({start}, {stop}):"
            lines = [*first, f"{part.name} = []", loop]
            edits = draft.instead(
                part.statement, [*lines, f"    {part.name}.append({whole}[{index}])"]
            )
        else:
            edits = draft.instead(part.statement, first) if first else self._removed()
            for use in uses:
                edits += self._positioned(use, start, stop)
        draft = draft.advanced(edits)
        for name in sorted(self.relied):
            test = f"{name} >= 0"
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return replace(draft, names=draft.names | frozenset(self.new))

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def _loops_around(self) -> list[ast.For]:
        """Loops around the statement whose index nothing else assigns, outermost first."""
        around = [self.draft.loop, *own_nodes(self.draft.loop)]
        return [
            n
            for n in around
            if isinstance(n, ast.For)
            and isinstance(n.target, ast.Name)
            and self.stored.count(n.target.id) == 1
            and any(inner is self.part.statement for s in n.body for inner in ast.walk(s))
        ]

    # ------------------------------------------------------------------ ends
    def _ends(self) -> tuple[list[str], str, str]:
        """Lines that compute the positions, and where the part begins and ends, as text."""
        part = self.part
        whole = f"len({ast.unparse(part.whole)})"
        lower, upper = self._clipped(part.lower, whole), self._clipped(part.upper, whole)
        start = "0" if part.lower is None else lower
        stop = whole if part.upper is None else upper
        lines = []
        if not self._stays(start):
            name = self._free(f"{part.name}_start")
            lines.append(f"{name} = {start}")
            start = name
        if not self._stays(stop):
            name = self._free(f"{part.name}_stop")
            lines.append(f"{name} = {stop}")
            stop = name
        return lines, start, stop

    def _stays(self, text: str) -> bool:
        """Whether a position may be written out where the part is used: sums of what is fixed."""
        indices = {n.target.id for n in self.known.loops if isinstance(n.target, ast.Name)}
        tree = ast.parse(text, mode="eval").body
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        lengths = isinstance(tree, ast.Call) and text.startswith("len(")
        return (lengths or is_calm(tree)) and names <= self.known.fixed | indices | {"len"}

    def _clipped(self, node: ast.expr | None, whole: str) -> str:
        """A position as Python takes it: negative ones from the end, none beyond it."""
        if node is None:
            return ""
        text, form = ast.unparse(node), linear(node)
        natural = self.known.never_negative(form)
        inside = self.known.never_negative(added({whole: 1}, form, -1))
        if natural is not None:
            self.relied |= natural
            if node is self.part.lower:
                return text  # the loop over it runs no time where that is beyond the end
            if inside is None:
                return f"min({text}, {whole})"
            self.relied |= inside
            return text
        if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            operand = _term(node.operand)
            return f"min({text}, {whole}) if {text} >= 0 else max({whole} - {operand}, 0)"
        if form.keys() == {""}:
            return f"max({whole} - {-form['']}, 0)"
        return f"min({text}, {whole}) if {text} >= 0 else max({whole} + {_term(node)}, 0)"

    # ------------------------------------------------------------------ uses
    def _is_steady(self) -> bool:
        """Whether the whole is the same as long as the part is used."""
        path = self.part.path
        seen = self.draft.values.get(path)
        if not path or seen is None or path.partition(".")[0] not in self.known.fixed:
            return False
        for node in own_nodes(self.draft.loop):
            match node:
                case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                    changed = dotted(value) == path
                case ast.Attribute(value=value):
                    changed = dotted(value) == path or dotted(node) == path
                case ast.Call(func=func, args=args, keywords=keywords):
                    given = [*args, *(k.value for k in keywords)]
                    harmless = isinstance(func, ast.Name) and func.id in _READERS
                    changed = not harmless and any(dotted(a) == path for a in given)
                case _:
                    continue
            if changed:
                return False
        return True

    def _uses(self) -> list[ast.AST] | None:
        """Where the part is gone through or measured; None if it is used otherwise."""
        draft, part = self.draft, self.part
        read = live_after(draft.source, draft.function, draft.loop)
        if read is None or part.name in read or self.stored.count(part.name) != 1:
            return None
        found: list[ast.AST] = []
        for node in own_nodes(draft.loop):
            match node:
                case ast.For(iter=ast.Name(id=name)) if name == part.name:
                    found.append(node)
                case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]) if (
                    name == part.name
                ):
                    found.append(node)
        every = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name) and n.id == part.name]
        inside = {id(n) for s in self._behind() for n in ast.walk(s)}
        if len(every) != len(found) + 1 or any(id(use) not in inside for use in found):
            return None
        return found if draft.is_builtin("len") and draft.is_builtin("range") else None

    def _behind(self) -> list[ast.stmt]:
        """The statements of the same block behind the assignment."""
        for owner in (self.draft.loop, *own_nodes(self.draft.loop)):
            for field in ("body", "orelse"):
                block = getattr(owner, field, None)
                if isinstance(block, list) and self.part.statement in block:
                    return block[block.index(self.part.statement) + 1 :]
        return []

    def _removed(self) -> list[Edit]:
        """The statement taken out, up to the next one."""
        draft = self.draft
        start, end = draft.source.span(self.part.statement)
        last = draft.source.span(self._behind()[0])[0]
        if b"#" in draft.source.data[end:last]:
            return draft.instead(self.part.statement, ["pass"])
        return [Edit(start, last, "")]

    def _positioned(self, use: ast.AST, start: str, stop: str) -> list[Edit]:
        """The edits for one place where the part is used."""
        draft, path = self.draft, self.part.path
        if isinstance(use, ast.Call):
            size = f"({stop})" if start == "0" else f"max({stop} - ({start}), 0)"
            return [Edit(*draft.source.span(use), size)]
        assert isinstance(use, ast.For)
        index = self._free("k")
        head = draft.source.span(use.target)[0], draft.source.span(use.iter)[1]
        target = draft.source.text(use.target)
        return [
            Edit(*head, f"{index} in range({start}, {stop})"),
            *draft.above(use.body[0], [f"{target} = {path}[{index}]"]),
        ]


def _term(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name) else f"({text})"
