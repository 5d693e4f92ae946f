"""Names for elements that subscripts are apart by: ``best[w - weights[i]]``, see `shifts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ...loopnest.affine import affine
from ...loopnest.fold import map_children, reads, substitute
from ...loopnest.ir import (
    Assign,
    Expr,
    For,
    If,
    Load,
    Nest,
    Scalar,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from .held import Held
from .shifts import taken


def named_shifts(root: For, nest: Nest, region: Region) -> tuple[For, Nest]:
    """``best[w - weights[i]]`` with a name for the element, above the loop over ``w``.

    The nest's root is the new one where there is such an element.
    """
    work = _Naming(nest, region)
    body = work.body(root.body, root)
    if not work.types:
        return root, nest
    root = replace(root, body=body)
    return root, replace(nest, root=root, privates={**nest.privates, **work.types})


class _Naming:
    """Looks at every loop inside another one."""

    def __init__(self, nest: Nest, region: Region) -> None:
        self.nest = nest
        self.region = region
        self.types: dict[str, Scalar] = {}
        self.stored = {s.array for s in statements((nest.root,)) if isinstance(s, Store)}

    def body(self, body: Sequence[Stmt], outer: For) -> tuple[Stmt, ...]:
        """The statements of one level, with the names above the loops among them."""
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For():
                    loads = list(dict.fromkeys(self._wanted(statement, outer)))
                    names = {load: self._name(load) for load in loads}
                    result += [
                        Held(statement.line, statement.node, name.name, load)
                        for load, name in names.items()
                    ]
                    result, statement = self._with_bounds(result, statement, names)
                    (loop,) = changed((statement,), _with(names))
                    assert isinstance(loop, For)
                    result.append(replace(loop, body=self.body(loop.body, loop)))
                case If(then=then, orelse=orelse):
                    inner = replace(
                        statement, then=self.body(then, outer), orelse=self.body(orelse, outer)
                    )
                    result.append(inner)
                case _:
                    result.append(statement)
        return tuple(result)

    def _with_bounds(
        self, before: list[Stmt], loop: For, names: dict[Load, Var]
    ) -> tuple[list[Stmt], For]:
        """``stop = weights[i] - 1`` in front, for the loop alone, as a bound of the loop itself."""
        change = _with(names)
        for statement in list(before):
            if not isinstance(statement, Assign) or isinstance(statement, Held):
                continue
            value = change(statement.value)
            if value == statement.value or affine(value) is None:
                continue
            if statement.name in self.nest.live_out or self._reads(statement.name) != 1:
                continue
            if statement.name in reads(loop.start) | reads(loop.stop):
                known = {statement.name: value}
                start, stop = substitute(loop.start, known), substitute(loop.stop, known)
                loop = replace(loop, start=start, stop=stop)
                before.remove(statement)
        return before, loop

    def _reads(self, name: str) -> int:
        """How many expressions of the nest read a variable."""
        inside = statements((self.nest.root,))
        return sum(name in reads(e) for statement in inside for e in expressions(statement))

    def _wanted(self, loop: For, outer: For) -> Iterator[Load]:
        """Elements in subscripts of what is written, the same all through the loop."""
        inside = list(statements((loop,)))
        changing = {s.name for s in inside if isinstance(s, Assign)}
        indices = {s.index for s in inside if isinstance(s, For)}
        for subscript in self._subscripts(inside):
            if affine(subscript) is not None or not reads(subscript) & indices:
                continue
            for part in walk(subscript):
                if isinstance(part, Load) and taken(part, self.nest) is not None:
                    used = reads(part)
                    if outer.index in used and not used & (changing | indices):
                        yield part

    def _subscripts(self, inside: Iterable[Stmt]) -> Iterator[Expr]:
        for statement in inside:
            if isinstance(statement, Store):
                yield from statement.index
            for part in (p for e in expressions(statement) for p in walk(e)):
                if isinstance(part, Load) and part.array in self.stored:
                    yield from part.index

    def _name(self, load: Load) -> Var:
        hidden = "_" if self.region.function is None else ""  # a module's names outlive the loop
        plain = load.array.replace(".", "_")
        one = plain[:-1] if len(plain) > 2 and plain.endswith("s") else f"{plain}_here"
        name = free_name(self.region.source, hidden + one, {*self.nest.privates, *self.types})
        self.types[name] = load.type
        return Var(load.type, load.line, name)


def changed(body: Sequence[Stmt], change: Callable[[Expr], Expr]) -> tuple[Stmt, ...]:
    """The statements with other expressions."""
    return tuple(_one_changed(statement, change) for statement in body)


def _one_changed(statement: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    match statement:
        case Assign(value=value):
            return replace(statement, value=change(value))
        case Store(index=index, value=value):
            return replace(statement, index=tuple(map(change, index)), value=change(value))
        case If(test=test, then=then, orelse=orelse):
            then, orelse = changed(then, change), changed(orelse, change)
            return replace(statement, test=change(test), then=then, orelse=orelse)
        case For(start=start, stop=stop, body=body):
            start, stop = change(start), change(stop)
            return replace(statement, start=start, stop=stop, body=changed(body, change))
    return statement


def _with(names: dict[Load, Var]) -> Callable[[Expr], Expr]:
    """Variables in place of the elements."""

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr in names:
            return names[expr]
        return map_children(expr, change)

    return change
