"""Lists of ints and ``float("inf")`` together, as costs that are floats in compiled code.

``dist[v] = min(dist[v], dist[u] + w)``: what is finite is an int, what is not is a float. So all of
them can be floats in the loop, and ints again behind it, as long as no one looks at their types and
none outgrows the whole numbers that floats hold. Where one does, the loop runs again in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations

from ...loopnest.ir import Assign, Call, Load, Nest, Store, statements
from ...loopnest.scope import dotted, own_nodes, stored_names
from ...model import Basis, Condition, Edit, Refusal, ValueInfo
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from .cost_kinds import BITS, CostKinds
from .draft import Draft
from .own_loop import loop_lines

_MIXED = "builtins.float | builtins.int"
_FUNCTION = '''\
def {name}(number):
    """A cost to be kept: an infinity, or a whole number that floats hold."""
    cost = float(number)
    if abs(cost) > 2**{bits} and cost - cost == 0.0:
        return float(1 // 0)  # compiled code leaves it alone
    return cost
'''


def with_costs(draft: Draft) -> Draft:
    """The draft with such lists as lists of floats; unchanged where there are none.

    Raises Unsupported where somebody may look at the type of a cost.
    """
    paths = _cost_lists(draft)
    if not paths:
        return draft
    _check_text(draft, paths)
    names: dict[str, str] = {}
    for path in paths:
        plain = path.rpartition(".")[2].lstrip("_")
        names[path] = draft.free(f"{plain}_costs", *names.values())
    return _Costs(draft, names).written()


def has_costs(draft: Draft) -> bool:
    """Whether there is any such list."""
    return bool(_cost_lists(draft))


def _cost_lists(draft: Draft) -> list[str]:
    found = [path for path, info in draft.values.items() if _is_cost_list(draft, path, info)]
    return found if found and any(map(_is_infinity, draft.source.nodes)) else []


def _is_infinity(node: ast.AST) -> bool:
    """``float("inf")``, ``math.inf``, ``inf``."""
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return "inf" in text.lower()
        case ast.Attribute(attr="inf") | ast.Name(id="inf"):
            return True
    return False


def _is_cost_list(draft: Draft, path: str, info: ValueInfo) -> bool:
    """A list, or a list of lists, of ints and floats that the loop uses."""
    inner = info.element
    return (
        info.kind == "list"
        and info.ndim in (1, 2)
        and inner is not None
        and inner.type_name == _MIXED
        and path not in draft.names
        and any(_places(draft.loop, path))
    )


def _places(root: ast.AST, path: str) -> Iterator[ast.expr]:
    for node in ast.walk(root):
        if isinstance(node, ast.Name | ast.Attribute) and dotted(node) == path:
            yield node


def _check_text(draft: Draft, paths: list[str]) -> None:
    """The lists keep their names, and nobody asks for a float of an int."""
    functions = draft.region.functions.values()
    for path in paths:
        root, _, attribute = path.partition(".")
        if root in stored_names(draft.loop):
            raise Unsupported(f"{path} becomes another list in the loop", draft.loop.lineno)
        for node in (n for f in functions for n in own_nodes(f)):
            match node:
                case ast.Name(id=found) if found == root and not attribute:
                    raise Unsupported(f"{path} is used in a function", node.lineno)
                case ast.Attribute() if attribute and dotted(node) == f"self.{attribute}":
                    raise Unsupported(f"{path} is used in a function", node.lineno)
    for node in (n for one in (draft.loop, *functions) for n in own_nodes(one)):
        match node:
            case ast.Call(func=ast.Name(id="float"), args=[arg]) if not isinstance(
                arg, ast.Constant
            ):
                raise Unsupported("float() of what may be an int", node.lineno)
    if not all(map(draft.is_builtin, ("float", "int", "abs", "type", "enumerate", "zip"))):
        raise Unsupported("a built-in function has another meaning here", draft.loop.lineno)


class _Costs:
    """The lists of one loop."""

    def __init__(self, draft: Draft, names: Mapping[str, str]) -> None:
        self.draft = draft
        self.names = names
        self.function = draft.free("_cost", *names.values())
        self.before = {path: draft.free(f"{name}_before") for path, name in names.items()}
        """Path -> the costs as they were."""
        self.written_to = set(self._stored())

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        trial = self.draft.advanced(
            [*self._renamed(), *self._wrapped_stores("float")], self._values()
        )
        nest = trial.restated().nest
        if isinstance(nest, Refusal):
            raise Unsupported(nest.reason, nest.line, nest.suggestion)
        kinds = CostKinds(nest, frozenset(self.names.values())).found()
        self._check_stores(nest, trial)
        draft = self.draft
        edits = [
            *draft.above(draft.loop, list(self._above())),
            *self._renamed(),
            *self._wrapped_stores(self.function),
            *self._wrapped_variables(trial, list(kinds.computed())),
            *draft.below(draft.loop, self._below(kinds.variables & nest.live_out)),
        ]
        new = draft.advanced(edits, self._values())
        new = self._with_function(self._asked(new, sorted(kinds.infinite)))
        return replace(new, in_python=(*self._given_up(), *loop_lines(draft.source, draft.loop)))

    def _values(self) -> dict[str, ValueInfo]:
        number = ValueInfo("float", "builtins.float")
        seen = {name: self.draft.values[path] for path, name in self.names.items()}
        return {n: replace(info, element=number, constant=False) for n, info in seen.items()}

    # ------------------------------------------------------------------ edits
    def _renamed(self) -> Iterator[Edit]:
        for path, name in self.names.items():
            for node in _places(self.draft.loop, path):
                yield Edit(*self.draft.source.span(node), name)

    def _stored(self) -> Iterator[str]:
        """The lists with a store of one of their elements."""
        for node in own_nodes(self.draft.loop):
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                path = _path_below(node)
                if path in self.names:
                    yield str(path)

    def _wrapped_stores(self, function: str) -> Iterator[Edit]:
        """``dist[v] = cost(dist[u] + w)``. Raises Unsupported."""
        for node in own_nodes(self.draft.loop):
            value: ast.expr | None = None
            targets: list[ast.expr] = []
            match node:
                case ast.Assign(targets=targets, value=value):
                    stored = [t for t in targets if _below(t) & self.names.keys()]
                case ast.AugAssign(target=target) | ast.For(target=target):
                    stored = [target] if _below(target) & self.names.keys() else []
                case _:
                    continue
            if not stored:
                continue
            if value is None or len(targets) > 1 or not isinstance(stored[0], ast.Subscript):
                text = f"`{self.draft.source.text(stored[0])}` is stored along with others"
                raise Unsupported(text, node.lineno, "write x = x + e, a line for each")
            yield from self._around(value, function)

    def _around(self, value: ast.expr, function: str) -> list[Edit]:
        start, end = self.draft.source.span(value)
        return [Edit(start, start, f"{function}("), Edit(end, end, ")")]

    def _check_stores(self, nest: Nest, trial: Draft) -> None:
        """Every store is one of the loop's own text, and looked at. Raises Unsupported."""
        own = {id(node) for node in own_nodes(trial.loop)}
        for statement in statements((nest.root,)):
            if not isinstance(statement, Store) or statement.array not in self.names.values():
                continue
            value = statement.value
            looked_at = isinstance(value, Call) and value.function == "float"
            if id(statement.node) not in own or not (looked_at or isinstance(value, Load)):
                raise Unsupported(f"{statement.array} is stored to elsewhere", statement.line)

    def _wrapped_variables(self, trial: Draft, computed: list[Assign]) -> Iterator[Edit]:
        """``total = cost(total + dist[i])``. Raises Unsupported."""
        here = [n for n in ast.walk(self.draft.loop) if isinstance(n, ast.stmt)]
        there = [n for n in ast.walk(trial.loop) if isinstance(n, ast.stmt)]
        own = {id(other): node for other, node in zip(there, here, strict=True)}
        done: set[tuple[int, str]] = set()
        for statement in computed:
            node = own.get(id(statement.node))
            if node is None:
                raise Unsupported(f"{statement.name} gets its value elsewhere", statement.line)
            if (id(node), statement.name) not in done:
                done.add((id(node), statement.name))
                yield from self._variable(node, statement.name)

    def _variable(self, node: ast.stmt, name: str) -> list[Edit]:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return self._around(value, self.function)
            case ast.AugAssign(target=ast.Name(id=found), op=ast.Add() | ast.Sub(), value=value):
                sign = "+" if isinstance(node.op, ast.Add) else "-"
                start, end = self.draft.source.span(value)
                before = self.draft.source.span(node)[0]
                text = f"{found} = {self.function}({found} {sign} ("
                return [Edit(before, start, text), Edit(end, end, "))")]
        raise Unsupported(f"{name} gets its value along with others", node.lineno)

    # ------------------------------------------------------------------- text
    def _above(self) -> Iterator[str]:
        for path, name in self.names.items():
            two = self.draft.values[path].ndim == 2
            row = self._inner("row")
            floats = f"[list(map(float, {row})) for {row} in {path}]"
            yield f"{name} = {floats if two else f'list(map(float, {path}))'}"
            if path in self.written_to:
                copy = f"[{row}[:] for {row} in {name}]" if two else f"{name}[:]"
                yield f"{self.before[path]} = {copy}"

    def _below(self, live: set[str]) -> list[str]:
        """Ints again: what the loop changed. Where it ran in Python, the costs are gone."""
        lines: list[str] = []
        free = self.draft.free
        k, row, cost, old = free("k"), free("row"), free("cost"), free("old")
        new_row, old_row = free("new_row"), free("old_row")
        whole = f"int({cost}) if {cost} - {cost} == 0.0 else {cost}"
        for path, name in self.names.items():
            if path not in self.written_to:
                continue
            before, inner = self.before[path], path
            if self.draft.values[path].ndim == 2:
                rows = f"{row}, {new_row}, {old_row}"
                lines.append(f"for {rows} in zip({path}, {name}, {before}):")
                name, before, inner = new_row, old_row, row
            block = [
                f"for {k}, ({cost}, {old}) in enumerate(zip({name}, {before})):",
                f"    if {cost} != {old}:",
                f"        {inner}[{k}] = {whole}",
            ]
            lines += [f"    {line}" for line in block] if inner == row else block
        some = " or ".join(self.names.values())
        some = f"({some})" if len(self.names) > 1 else some
        for name in sorted(live):
            lines += [f"if {some} and {name} - {name} == 0.0:", f"    {name} = int({name})"]
        return lines

    def _given_up(self) -> Iterator[str]:
        """Lines in front of the loop in Python, which works on the lists themselves."""
        for path, name in self.names.items():
            yield f"{name}.clear()  # {path} itself gets the results"

    def _with_function(self, draft: Draft) -> Draft:
        top = top_level_statement(draft.source, draft.loop)
        text = _FUNCTION.format(name=self.function, bits=BITS)
        offset, block = functions_block(draft.source, top, [text])
        draft = draft.elsewhere([Edit(offset, offset, block)])
        plain = {**draft.plain, self.function: "return number"}
        return replace(draft, plain=plain, names=draft.names | {self.function})

    # ------------------------------------------------------------------ guards
    def _asked(self, draft: Draft, infinite: list[str]) -> Draft:
        tests = [test for path in self.names for test in self._tests(path)]
        for name in infinite:
            tests += [f"type({name}) is float", f'abs({name}) == float("inf")']
        for path, other in permutations(self._lists(), 2):
            if path in self.names:
                tests += self._apart(path, other)
        for test in dict.fromkeys(tests):
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return draft

    def _tests(self, path: str) -> Iterator[str]:
        row, one = self._inner("row"), self._inner("x")
        each, types = f"for {one} in {path}", f"set(map(type, {path}))"
        yield f"type({path}) is list"
        if self.draft.values[path].ndim == 2:
            yield f"set(map(type, {path})) <= {{list}}"
            yield f"len(set(map(id, {path}))) == len({path})"
            each = f"for {row} in {path} for {one} in {row}"
            types = f"set(type({one}) {each})"
        yield f"{types} <= {{int, float}}"
        size = f'abs({one}) <= 2**{BITS} if type({one}) is int else abs({one}) == float("inf")'
        yield f"all({size} {each})"

    def _inner(self, name: str) -> str:
        """A variable of a comprehension, which is none of the lists in it."""
        roots = {path.partition(".")[0] for path in self._lists()}
        return f"{name}_" if name in roots else name

    def _lists(self) -> list[str]:
        """The program's lists that the loop uses."""
        known = (n for n, info in self.draft.values.items() if info.kind == "list")
        return [n for n in known if n not in self.draft.names and any(_places(self.draft.loop, n))]

    def _apart(self, path: str, other: str) -> Iterator[str]:
        """That one list, or a row of it, is not the other one, or one of its rows."""
        row = self._inner("row")
        ndims = [self.draft.values[name].ndim for name in (path, other)]
        match ndims:
            case [1, 1]:
                yield f"{path} is not {other}"
            case [2, 1]:
                yield f"all({row} is not {other} for {row} in {path})"
            case [1, _]:
                yield f"all({row} is not {path} for {row} in {other})"
            case _:
                yield f"{{*map(id, {path})}}.isdisjoint(map(id, {other}))"


def _path_below(node: ast.expr) -> str | None:
    """The list of which the expression is an element: ``dist[u][v]`` is one of ``dist``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _below(target: ast.expr) -> set[str]:
    """The lists whose elements a target stores to."""
    parts = [n for n in ast.walk(target) if isinstance(n, ast.Subscript)]
    return {path for n in parts if not isinstance(n.ctx, ast.Load) and (path := _path_below(n))}
