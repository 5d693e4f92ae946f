"""Variables that are ``None`` at first as a number and a flag, and variables that hold a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.definite import bound_before
from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft, constant_info
from .setness import check_reads, none_test


@dataclass(frozen=True)
class Variable:
    """A variable of the loop that is no plain number."""

    name: str
    flag: str
    """Says whether it holds something; empty where it always does."""
    parts: tuple[str, ...]
    """The numbers it is made of: the variable itself, or one for each place of its tuple."""
    enters: bool
    """Its value from before the loop counts."""
    leaves: bool
    """It may be read behind the loop."""

    @property
    def is_tuple(self) -> bool:
        """Whether it holds tuples."""
        return self.parts != (self.name,)


def without_none(draft: Draft) -> Draft:
    """Each variable that may be ``None``, or holds a tuple, as numbers and a flag."""
    variables = [v for name in sorted(_candidates(draft)) if (v := _variable(draft, name))]
    if not variables:
        return draft
    known = {v.name for v in variables if v.flag}
    entry = {v.name for v in variables if _seen(draft, v.name) != "none"}
    check_reads(draft.loop, frozenset(known), frozenset(known & entry))
    for variable in variables:
        draft = _Rewrite(draft, variable).written()
    return draft


def _seen(draft: Draft, name: str) -> str:
    info = draft.values.get(name)
    return "" if info is None else info.kind


# --------------------------------------------------------------------- search
def _candidates(draft: Draft) -> set[str]:
    """Names that the loop assigns, and that hold ``None`` or a tuple at some time."""
    found = set()
    for name, value in _assignments(draft.loop):
        none = isinstance(value, ast.Constant) and value.value is None
        if none or isinstance(value, ast.Tuple) or _seen(draft, name) == "none":
            found.add(name)
    return found


def _assignments(loop: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Names with what they are given, one by one where both sides are tuples."""
    for node in own_nodes(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case (ast.Tuple(elts=left), ast.Tuple(elts=right)) if len(left) == len(right):
            for one, other in zip(left, right, strict=True):
                yield from _pairs(one, other)


def _variable(draft: Draft, name: str) -> Variable | None:
    """What is to become of a variable; None where it is left as it is. Raises Unsupported."""
    loop = draft.loop
    values = [value for found, value in _assignments(loop) if found == name]
    numbers = [v for v in values if not (isinstance(v, ast.Constant) and v.value is None)]
    tuples = [v for v in numbers if isinstance(v, ast.Tuple)]
    after = live_after(draft.source, draft.function, loop)
    before = bound_before(draft.source, draft.function, loop)
    leaves = after is None or name in after
    enters = name in read_before_assigned(loop) or leaves
    if enters and (before is None or name not in before):
        raise Unsupported(f"{name} may be read before it is assigned", loop.lineno)
    none = len(numbers) < len(values) or (enters and _seen(draft, name) == "none")
    if not tuples:
        if not none or not numbers:
            return None
        parts: tuple[str, ...] = (name,)
    else:
        widths = {len(v.elts) for v in tuples}
        if len(tuples) < len(numbers) or len(widths) != 1:
            raise Unsupported(f"{name} holds numbers and tuples", loop.lineno)
        parts = tuple(draft.free(f"{name}_{k}") for k in range(widths.pop()))
    if enters and _seen(draft, name) not in ("none", "tuple" if tuples else "number"):
        raise Unsupported(f"{name} is {_seen(draft, name)} before the loop", loop.lineno)
    return Variable(name, draft.free(f"{name}_set") if none else "", parts, enters, leaves)


# ----------------------------------------------------------------------- text
class _Rewrite:
    """The edits for one variable."""

    def __init__(self, draft: Draft, variable: Variable) -> None:
        self.draft = draft
        self.variable = variable
        self.edits: list[Edit] = []
        self.done: set[int] = set()

    def written(self) -> Draft:
        """The draft behind them. Raises Unsupported."""
        draft, variable = self.draft, self.variable
        for node in own_nodes(draft.loop):
            if isinstance(node, ast.Assign):
                self._assignment(node)
        for node in ast.walk(draft.loop):
            self._read(node)
        values, above = self._before()
        edits = [*draft.above(draft.loop, above), *self.edits, *self._behind()]
        gone = (variable.name,) if variable.is_tuple else ()
        new = draft.advanced(edits, values, gone=gone)
        names = {variable.flag, *variable.parts} - {"", variable.name}
        open_ = frozenset(variable.parts) if variable.flag else frozenset()
        new = replace(new, names=new.names | names, open=new.open | open_)
        return self._asked(new)

    def _assignment(self, node: ast.Assign) -> None:
        name = self.variable.name
        pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        mine = [value for found, value in pairs if found == name]
        if not mine:
            return
        stored = [n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        self.done.update(id(n) for n in stored if n.id == name)
        flag = self.variable.flag
        (value,) = mine[:1]
        is_none = isinstance(value, ast.Constant) and value.value is None
        if not self.variable.is_tuple and not is_none:
            self._behind_statement(node, [f"{flag} = True"])
            return
        lines = self._apart(node, pairs)
        self.edits += self.draft.instead(node, lines)
        self.done.update(map(id, ast.walk(node)))

    def _apart(self, node: ast.Assign, pairs: list[tuple[str, ast.expr]]) -> list[str]:
        """The assignment with the variable's numbers in its place."""
        name, flag, parts = self.variable.name, self.variable.flag, self.variable.parts
        targets: list[str] = []
        values: list[str] = []
        flags: list[str] = []
        if len(node.targets) > 1 and not all(isinstance(t, ast.Name) for t in node.targets):
            raise Unsupported(f"`{ast.unparse(node)}` is too much at once", node.lineno)
        whole = [t for t in node.targets if isinstance(t, ast.Tuple)]
        if whole and len(pairs) != len(whole[0].elts):
            raise Unsupported(f"`{ast.unparse(node)}` is too much at once", node.lineno)
        for found, value in pairs:
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)):
                text = f"`{ast.unparse(node)}` reads {name}"
                raise Unsupported(text, node.lineno)
            if found != name:
                targets.append(found)
                values.append(self.draft.source.text(value))
            elif isinstance(value, ast.Tuple):
                targets += parts
                values += [self.draft.source.text(e) for e in value.elts]
                flags += [f"{flag} = True"] if flag else []
            else:
                # open: no one reads the number while the flag is down
                flags += [f"{part} = 0" for part in parts] + [f"{flag} = False"]
        first = [f"{', '.join(targets)} = {', '.join(values)}"] if targets else []
        return [*first, *flags]

    def _behind_statement(self, node: ast.stmt, lines: list[str]) -> None:
        end = self.draft.source.span(node)[1]
        blank = self.draft.indent(node)
        text = "".join(f"\n{blank}{line}" for line in lines)
        self.edits.append(Edit(end, end, text))

    def _read(self, node: ast.AST) -> None:
        variable = self.variable
        if id(node) in self.done:
            return
        match node:
            case ast.Compare(left=left) if variable.flag and (found := none_test(node)):
                if found[0] == variable.name:
                    text = f"not {variable.flag}" if found[1] else variable.flag
                    self._put(node, text)
                    self.done.add(id(left))
            case ast.Subscript(
                value=ast.Name(id=name) as base,
                slice=ast.Constant(value=int() as place),
                ctx=ast.Load(),
            ) if variable.is_tuple and name == variable.name:
                try:
                    self._put(node, variable.parts[place])
                except IndexError:
                    raise Unsupported(f"{ast.unparse(node)} is out of range", node.lineno) from None
                self.done.add(id(base))
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Name(id=name) as value) if (
                variable.is_tuple and name == variable.name and len(elts) == len(variable.parts)
            ):
                self._put(value, ", ".join(variable.parts))
                self.done.add(id(value))
            case ast.Name(id=name) if name == variable.name and variable.is_tuple:
                raise Unsupported(f"the tuple {name} is used as a whole", node.lineno)

    def _put(self, node: ast.expr, text: str) -> None:
        self.edits.append(Edit(*self.draft.source.span(node), text))

    def _before(self) -> tuple[dict[str, ValueInfo], list[str]]:
        """Lines above the loop, and what they make."""
        variable, draft = self.variable, self.draft
        values: dict[str, ValueInfo] = {}
        lines: list[str] = []
        if variable.flag:
            holds = variable.enters and _seen(draft, variable.name) != "none"
            lines.append(f"{variable.flag} = {holds}")
            values[variable.flag] = constant_info(holds)
        if variable.enters and _seen(draft, variable.name) == "tuple":
            info = draft.values[variable.name]
            if info.ndim != 1 or info.element is None or info.element.kind not in ("int", "float"):
                raise Unsupported(f"{variable.name} holds no numbers", draft.loop.lineno)
            one = replace(info.element, minimum=info.minimum, maximum=info.maximum)
            lines.append(f"{', '.join(variable.parts)} = {variable.name}")
            return {**values, **dict.fromkeys(variable.parts, one)}, lines
        if variable.flag:
            lines += [f"{part} = 0" for part in variable.parts]
            values |= {part: constant_info(0) for part in variable.parts}
        return values, lines

    def _behind(self) -> list[Edit]:
        variable = self.variable
        if not variable.leaves:
            return []
        lines = []
        if variable.is_tuple:
            lines.append(f"{variable.name} = ({', '.join(variable.parts)},)")
            if len(variable.parts) > 1:
                lines = [f"{variable.name} = ({', '.join(variable.parts)})"]
        if variable.flag:
            lines += [f"if not {variable.flag}:", f"    {variable.name} = None"]
        return self.draft.below(self.draft.loop, lines)

    def _asked(self, draft: Draft) -> Draft:
        """What was seen of the variable before the loop."""
        variable = self.variable
        if not variable.enters:
            return draft
        test = f"{variable.name} is None"
        if _seen(self.draft, variable.name) == "tuple":
            test = (
                f"type({variable.name}) is tuple and len({variable.name}) == {len(variable.parts)}"
            )
        return draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
