"""The text of loops in another order: the user's own lines, moved; several steps at once."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..layout import reindent
from ..loopnest.ir import For
from ..model import Source
from .nb_order import Leaf, Loop, Order, Rows, Tree
from .nb_state import TextEdit
from .nb_steps import STEPS, copies_of, counts_from_zero, steps_of
from .nb_text import LEVEL
from .nb_values import Unsupported

N = TypeVar("N", bound=ast.AST)


def row_edits(source: Source, order: Order, names: Mapping[tuple[int, str], str]) -> list[TextEdit]:
    """``t`` becomes ``t_row[j]`` in the statements of the loop whose row it is.

    ``names``: identity of the loop and name of the scalar -> name of the array.
    """
    found = []
    for leaf, loops in order.leaves():
        for loop in loops:
            spelled = {
                row.name: f"{names[id(loop), row.name]}[{loop.index}]"
                for row in order.rows.get(id(loop), ())
            }
            for node in ast.walk(leaf.node):
                if isinstance(node, ast.Name) and node.id in spelled:
                    start, end = source.span(node)
                    found.append(TextEdit(start, 2 * 10**9, end, spelled[node.id]))
    return found


@dataclass
class OrderText:
    """Writes an order: statements as they stand in ``source``, a copy with all edits."""

    source: Source
    order: Order
    root: ast.stmt
    """The region's loop in ``source``."""
    numpy: str
    names: Mapping[tuple[int, str], str]
    free: Callable[[str], str]
    """Gives a name that nothing else has."""
    now: dict[int, ast.stmt] = field(default_factory=dict)
    """Statements of the region, by identity, as they are in the copy."""
    ahead: str = ""
    """What counts the steps of loops that were made to begin at 0."""
    done: set[int] = field(default_factory=set)
    """Statements whose comments were written."""

    def text(self) -> str:
        """The statements, one level deep. Raises Unsupported where an edit added statements."""
        self.now = dict(_pairs(self.order.nest.root.node, self.root))
        return "\n".join(LEVEL + line if line else "" for line in self._lines(self.order.trees))

    # -------------------------------------------------------------- pieces
    def _lines(self, trees: Sequence[Tree]) -> list[str]:
        lines: list[str] = []
        for tree in trees:
            match tree:
                case Leaf():
                    lines += self._leaf(tree)
                case Rows():
                    lines += self._rows(tree)
                case Loop():
                    lines += self._loop(tree)
        return lines

    def _leaf(self, leaf: Leaf) -> list[str]:
        statement = self._statement(leaf.node)
        text = reindent(self.source, statement, 0).split("\n")
        return [*self._comments(statement), *text]

    def _comments(self, statement: ast.stmt) -> list[str]:
        """Comment lines above a statement, where it stands first."""
        if id(statement) in self.done:
            return []
        self.done.add(id(statement))
        found: list[str] = []
        for line in reversed(self.source.lines[: statement.lineno - 1]):
            if not line.strip().startswith("#"):
                break
            found.insert(0, line.strip())
        return found

    def _rows(self, tree: Rows) -> list[str]:
        """Arrays for the scalars of all iterations; a range may be empty, and end below 0."""
        _, stop = self._bounds(tree.loop)
        size = stop if self.order.never_negative(tree.loop) else f"max({stop}, 0)"
        return [
            f"{self.names[id(tree.loop), row.name]} = {self.numpy}.empty({size})"
            for row in tree.rows
        ]

    def _loop(self, tree: Loop) -> list[str]:
        header = self._statement(tree.header)
        above = self._comments(header) if isinstance(header, ast.For) else []
        lines = self._several(tree) or self._around(tree, self._lines(tree.body))
        return above + lines

    def _around(self, tree: Loop, body: Sequence[str]) -> list[str]:
        """A loop with its body; counted from 0 where that is faster."""
        loop = tree.loop
        if not counts_from_zero(self.order, tree):
            return [self._header(loop), *_deeper(body)]
        start, stop = self._bounds(loop)
        self.ahead = ahead = self.ahead or self.free("ahead")
        less = start if start.isidentifier() else f"({start})"
        return [
            "# counted from 0: no index can be negative, so none is tested",
            f"for {ahead} in range({stop} - {less}):",
            *_deeper([f"{loop.index} = {start} + {ahead}", *body]),
        ]

    def _header(self, loop: For, *arguments: str) -> str:
        if not arguments:
            node = self._statement(loop.node)
            assert isinstance(node, ast.For)
            return f"for {loop.index} in {ast.unparse(node.iter)}:"
        return f"for {loop.index} in range({', '.join(arguments)}):"

    def _bounds(self, loop: For) -> tuple[str, str]:
        node = self._statement(loop.node)
        assert isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
        arguments = [ast.unparse(a) for a in node.iter.args]
        return ("0", arguments[0]) if len(arguments) == 1 else (arguments[0], arguments[1])

    def _statement(self, node: ast.stmt) -> ast.stmt:
        return self.now[id(node)]

    # ------------------------------------------------------- several at once
    def _several(self, tree: Loop) -> list[str] | None:
        """Four steps of a loop at once and the rest one by one, where that is faster."""
        found = steps_of(self.order, tree)
        if found is not None:
            inside = self._four_terms(tree)
            why = f"{STEPS} terms at once, added in the order they were: fewer loads and stores"
        else:
            copied = copies_of(self.order, tree)
            if copied is None:
                return None
            inside = self._four_copies(tree, copied)
            why = f"{STEPS} at once: each sum waits for its own last addition only"
        if inside is None:
            return None
        loop = tree.loop
        start, stop = self._bounds(loop)
        tail = self.free(f"{loop.index}_tail")
        return [
            f"# {why}",
            f"{tail} = {self._tail(loop, start, stop)}",
            self._header(loop, start, tail, str(STEPS)),
            *_deeper(inside),
            self._header(loop, tail, stop),
            *_deeper(self._lines(tree.body)),
        ]

    def _tail(self, loop: For, start: str, stop: str) -> str:
        """Where the steps that are left begin."""
        if start == "0" and self.order.never_negative(loop):
            stop = stop if stop.isidentifier() else f"({stop})"
            return f"{stop} // {STEPS} * {STEPS}"
        if start == "0":
            return f"max({stop}, 0) // {STEPS} * {STEPS}"
        less = start if start.isidentifier() or start.isdigit() else f"({start})"
        return f"{start} + max({stop} - {less}, 0) // {STEPS} * {STEPS}"

    def _four_terms(self, tree: Loop) -> list[str] | None:
        """``x[j] += f(k)`` for four k: ``x[j] = x[j] + f(k) + f(k + 1) + ..``."""
        inner = tree.body[0]
        assert isinstance(inner, Loop) and isinstance(inner.body[0], Leaf)
        statement = self._statement(inner.body[0].node)
        if not isinstance(statement, ast.AugAssign):
            return None
        sign = "+" if isinstance(statement.op, ast.Add) else "-"
        target = ast.unparse(statement.target)
        terms = [
            _operand(_renamed(statement.value, {tree.loop.index: _ahead(tree.loop.index, k)}))
            for k in range(STEPS)
        ]
        body = [f"{target} = (", f"{LEVEL}{target}"]
        body += [f"{LEVEL}{sign} {term}" for term in terms]
        return self._around(inner, [*body, ")"])

    def _four_copies(self, tree: Loop, private: frozenset[str]) -> list[str] | None:
        """Each statement for four iterations, their scalars told apart."""
        other: list[dict[str, ast.expr]] = [{}]
        for k in range(1, STEPS):
            own = {name: ast.Name(self.free(f"{name}_{k}")) for name in sorted(private)}
            other.append({**own, tree.loop.index: _ahead(tree.loop.index, k)})

        def lines(trees: Sequence[Tree]) -> Iterator[str]:
            for child in trees:
                match child:
                    case Leaf():
                        node = self._statement(child.node)
                        for names in other:
                            yield from _wrapped(ast.unparse(_renamed(node, names)))
                    case Loop():
                        yield self._header(child.loop)
                        yield from _deeper(list(lines(child.body)))

        return list(lines(tree.body))


# ------------------------------------------------------------------ details
def _pairs(before: ast.stmt, now: ast.stmt) -> Iterator[tuple[int, ast.stmt]]:
    """Statements of the region and what they are in the edited copy."""
    yield id(before), now
    if not isinstance(before, ast.For):
        return
    if not isinstance(now, ast.For) or len(before.body) != len(now.body):
        raise Unsupported("statements were added to the loop", before.lineno)
    for one, two in zip(before.body, now.body, strict=True):
        yield from _pairs(one, two)


def _deeper(lines: Sequence[str]) -> list[str]:
    return [LEVEL + line if line else "" for line in lines]


def _ahead(index: str, steps: int) -> ast.expr:
    """``k + 2``."""
    if not steps:
        return ast.Name(index, ast.Load())
    return ast.BinOp(ast.Name(index, ast.Load()), ast.Add(), ast.Constant(steps))


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.names[node.id]) if node.id in self.names else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """``(k + 2) - 1`` is ``k + 1``; floats would round otherwise, so indices only."""
        index = node.left.id if isinstance(node.left, ast.Name) else ""
        self.generic_visit(node)
        match node:
            case ast.BinOp(
                left=ast.BinOp(left=ast.Name() as name, right=ast.Constant(value=int() as ahead)),
                op=ast.Add() | ast.Sub() as op,
                right=ast.Constant(value=int() as more),
            ) if name.id == index in self.names:
                total = ahead + more if isinstance(op, ast.Add) else ahead - more
                sign = ast.Add() if total > 0 else ast.Sub()
                return ast.BinOp(name, sign, ast.Constant(abs(total))) if total else name
        return node


def _renamed(node: N, names: Mapping[str, ast.expr]) -> N:
    changed = _Rename(names).visit(copy.deepcopy(node))
    found: N = ast.fix_missing_locations(changed)
    return found


def _operand(node: ast.expr) -> str:
    """A term of a sum, in parentheses where it is a sum itself."""
    text = ast.unparse(node)
    loose = ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda | ast.NamedExpr
    sums = isinstance(node, ast.BinOp) and not isinstance(
        node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Mod | ast.MatMult | ast.Pow
    )
    return f"({text})" if sums or isinstance(node, loose) else text


def _wrapped(text: str) -> list[str]:
    return textwrap.dedent(text).split("\n")
