"""Queues and stacks of numbers or tuples as lists that are never shortened, and a position.

``queue.popleft()`` reads at the head and moves it on; ``stack.pop()`` moves the top down. Only
where the loop asks before that there is something: an empty one raises otherwise than a list.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ...loopnest.liveness import live_after
from ...loopnest.scope import declared, own_nodes, parameters
from ...model import Basis, Condition, Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft, constant_info

_KINDS = {"collections.deque": "popleft", "builtins.list": "pop"}


def without_queues(draft: Draft) -> Draft:
    """The draft with lists and positions in place of what the loop takes elements from."""
    for name, info in dict(draft.values).items():
        taken = _KINDS.get(info.type_name)
        known = taken is not None and name not in draft.names
        if known and any(_is_taken(n, name, str(taken)) for n in ast.walk(draft.loop)):
            draft = _Queue(draft, name, str(taken)).written()
    return draft


def _is_taken(node: ast.AST, name: str, method: str) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=found), attr=attr), args=[], keywords=[]
        ):
            return found == name and attr == method
    return False


@dataclass
class _Queue:
    """One queue or stack from before the loop, which nobody sees behind it."""

    draft: Draft
    name: str
    taken: str
    edits: list[Edit] = field(default_factory=list)
    done: set[int] = field(default_factory=set)

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        draft, name = self.draft, self.name
        self._check_private()
        width = self._width()
        self.is_tuple = width > 0
        places = range(width) if width else ("items",)
        self.columns = tuple(draft.free(f"{name}_{k}") for k in places)
        self.position = draft.free(f"{name}_{'head' if self.taken == 'popleft' else 'top'}")
        for node in (draft.loop, *own_nodes(draft.loop)):
            self._rewrite(node)
        for node in ast.walk(draft.loop):
            if isinstance(node, ast.Name) and node.id == name and id(node) not in self.done:
                raise Unsupported(f"{name} is used in another way than a queue", node.lineno)
        start = constant_info(0)
        column = ValueInfo("list", "builtins.list", ndim=1, shape=(None,))
        number = ValueInfo("int", "builtins.int")
        seen = replace(column, element=number, minimum=-(2**31), maximum=2**31)
        values = {**dict.fromkeys(self.columns, seen), self.position: start}
        edits = [*draft.above(draft.loop, self._above()), *self.edits]
        new = draft.advanced(edits, values, gone=(name,))
        test = f"all(type(entry) is tuple and len(entry) == {width} for entry in {name})"
        if self.is_tuple:
            new = new.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return replace(new, names=new.names | {*self.columns, self.position})

    def _check_private(self) -> None:
        """No one may see the list behind the loop, or by another name."""
        draft, name, function = self.draft, self.name, self.draft.function
        after = live_after(draft.source, function, draft.loop)
        own = function is not None and name not in {*parameters(function), *declared(function)}
        shared = draft.region.observation is not None and any(
            name in pair for pair in draft.region.observation.aliases
        )
        if not own or after is None or name in after or shared:
            text = f"{name} may be seen behind the loop"
            raise Unsupported(text, draft.loop.lineno)
        assert function is not None
        for node in own_nodes(function):
            match node:
                case ast.Assign(value=ast.Name(id=other)) if other == name:
                    raise Unsupported(f"{name} has another name, too", node.lineno)
                case _:
                    pass

    def _width(self) -> int:
        """Length of the tuples in it; 0 for numbers. Raises Unsupported."""
        found: set[int] = set()
        for node in own_nodes(self.draft.loop):
            match node:
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[one])
                ) if name == self.name:
                    found.add(len(one.elts) if isinstance(one, ast.Tuple) else 0)
                case _:
                    pass
        if len(found) != 1:
            raise Unsupported(f"{self.name} gets entries of several kinds", None)
        return found.pop()

    # ------------------------------------------------------------ rewriting
    def _rewrite(self, node: ast.AST) -> None:
        match node:
            case ast.While(test=test, body=[first, *_]):
                self._asked(test, first)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name) as base, attr="append"), args=[one]
                )
            ) if name == self.name:
                self.done.add(id(base))
                self._append(node, one)
            case _:
                pass

    def _asked(self, test: ast.expr, first: ast.stmt) -> None:
        """``while queue:`` and the statement below it, which takes an entry."""
        match test:
            case ast.Name(id=name) if name == self.name:
                base: ast.expr = test
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) as base]),
                ops=[ast.Gt() | ast.NotEq()],
                comparators=[ast.Constant(value=0)],
            ) if name == self.name:
                pass
            case _:
                return
        self.done.add(id(base))
        head = self.position
        left = f"{head} > 0" if self.taken == "pop" else f"{head} < len({self.columns[0]})"
        self.edits.append(Edit(*self.draft.source.span(test), left))
        match first:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name) as inner)) as call,
            ) if _is_taken(call, self.name, self.taken):
                self.done.add(id(inner))
                self._take(first, target)
            case _:
                text = f"{self.name} is not taken from directly below the test"
                raise Unsupported(text, first.lineno)

    def _take(self, node: ast.Assign, target: ast.expr) -> None:
        head, values = self.position, ", ".join(f"{c}[{self.position}]" for c in self.columns)
        if self.is_tuple and not (
            isinstance(target, ast.Tuple) and len(target.elts) == len(self.columns)
        ):
            raise Unsupported(f"entries of {self.name} are used as a whole", node.lineno)
        taken = f"{self.draft.source.text(target)} = {values}"
        lines = [taken, f"{head} += 1"] if self.taken == "popleft" else [f"{head} -= 1", taken]
        self.edits += self.draft.instead(node, lines)

    def _append(self, node: ast.Expr, one: ast.expr) -> None:
        parts = one.elts if isinstance(one, ast.Tuple) else [one]
        texts = [self.draft.source.text(p) for p in parts]
        pairs = list(zip(self.columns, texts, strict=True))
        lines = [f"{column}.append({text})" for column, text in pairs]
        if self.taken == "pop":
            top = self.position
            stores = [f"    {column}[{top}] = {text}" for column, text in pairs]
            lines = [
                f"if {top} < len({self.columns[0]}):",
                *stores,
                "else:",
                *(f"    {line}" for line in lines),
                f"{top} += 1",
            ]
        self.edits += self.draft.instead(node, lines)

    def _above(self) -> list[str]:
        name, first = self.name, self.columns[0]
        if self.is_tuple:
            lines = [f"{c} = [entry[{k}] for entry in {name}]" for k, c in enumerate(self.columns)]
        else:
            lines = [f"{first} = list({name})"]
        start = "0" if self.taken == "popleft" else f"len({first})"
        return [*lines, f"{self.position} = {start}"]
