"""The rewritten text of a program, and how a fault is written into it.

Faults are byte splices on the span of one syntax node, so that everything else stays as the rewrite
wrote it. Only what the rewrite added is damaged: the rest of the program is the user's.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

Node = ast.expr | ast.stmt

_GUARD_WORDS = (
    *("type(", ".dtype", ".ndim", ".shape", "shares_memory", "share_memory", "isinstance"),
    *(".min()", ".max()", "2 ** ", "max(values", "min(values"),
)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)


@dataclass(frozen=True)
class Mutant:
    """One fault in one rewrite."""

    operator: str
    line: int
    what: str
    """``old -> new``, each on one line: with program, rule and operator the mutant's key."""
    text: bytes
    slow: bool = False
    """The fault costs time and nothing else: it must not come out as a gain."""
    digits: bool = False
    """Only the last digits change: no fault in a rewrite that says its sums are in another
    order."""


class Rewritten:
    """A program before and after its rewrite."""

    def __init__(self, old: bytes, new: bytes, qualname: str, line: int) -> None:
        """``qualname`` and ``line``: where the rewritten loop was."""
        self.old, self.new, self.qualname, self.loop_line = old, new, qualname, line
        self.tree = ast.parse(new)
        self.lines = new.splitlines(keepends=True)
        self.before = ast.parse(old)

    # ------------------------------------------------------------- places
    @cached_property
    def added(self) -> frozenset[int]:
        """Numbers of the lines that the rewrite wrote.

        All lines of a new function: a compiled kernel has the loops of the original in it.
        """
        matcher = difflib.SequenceMatcher(
            None, self.old.splitlines(), self.new.splitlines(), autojunk=False
        )
        found: set[int] = set()
        for tag, _, _, start, stop in matcher.get_opcodes():
            if tag in ("replace", "insert"):
                found.update(range(start + 1, stop + 1))
        known = {n.name for n in ast.walk(self.before) if isinstance(n, ast.FunctionDef)}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name not in known:
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return frozenset(found)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Every node's parent."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def guards(self) -> tuple[ast.expr, ...]:
        """Tests that decide between the new code and the original loop, or between two types.

        ``small = x.min() >= 0 and x.max() <= 31`` is one as well.
        """
        found = []
        for node in ast.walk(self.tree):
            test: ast.expr | None = None
            if isinstance(node, ast.If | ast.IfExp):
                test = node.test
            elif isinstance(node, ast.Assign | ast.Return):
                test = node.value if isinstance(node.value, ast.BoolOp) else None
            if test is None or test.lineno not in self.added:
                continue
            text = ast.unparse(test)
            if any(word in text for word in _GUARD_WORDS):
                found.append(test)
        return tuple(found)

    @cached_property
    def _originals(self) -> frozenset[str]:
        """The original's statements, as text of their syntax."""
        return frozenset(ast.dump(n) for n in ast.walk(self.before) if isinstance(n, ast.stmt))

    @cached_property
    def fallbacks(self) -> tuple[ast.stmt, ...]:
        """Statements of the original that the new text keeps for inputs it was not written for."""
        branches = [
            branch
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and node.test in self.guards
            for branch in (node.body, node.orelse)
        ]
        return tuple(
            statement
            for branch in branches
            for statement in branch
            if (ast.dump(statement) in self._originals or self._early_exit(branch))
            and not isinstance(statement, ast.Pass)
            and not (isinstance(statement, ast.Return) and statement.value is None)
        )

    def _early_exit(self, branch: list[ast.stmt]) -> bool:
        """What follows ``if not (...)``: the loops with their names changed, or a call of them."""
        node = self.parents.get(branch[0]) if branch else None
        negated = isinstance(node, ast.If) and isinstance(node.test, ast.UnaryOp)
        return negated and isinstance(branch[-1], ast.Return)

    @cached_property
    def _outside(self) -> frozenset[ast.AST]:
        """Nodes that ordinary operators leave alone: guards and kept loops have their own."""
        roots = (*self.guards, *self.fallbacks)
        return frozenset(node for root in roots for node in ast.walk(root))

    def nodes(self) -> Iterator[Node]:
        """Expressions and statements of what was added, in source order."""
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.expr | ast.stmt)
            and node.lineno in self.added
            and node not in self._outside
            and not self._decorates(node)
        ]
        yield from sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def _decorates(self, node: ast.AST) -> bool:
        while node in self.parents:
            above = self.parents[node]
            if isinstance(above, ast.FunctionDef) and node in above.decorator_list:
                return True
            node = above
        return False

    def statements(self) -> Iterator[ast.stmt]:
        """Simple statements of what was added."""
        for node in self.nodes():
            if isinstance(node, _SIMPLE) and not _is_docstring(node):
                yield node

    @cached_property
    def function(self) -> ast.FunctionDef | None:
        """The function that the rewritten loop was in, in the new text; None at module level."""
        return self._function_in(self.tree)

    @cached_property
    def function_before(self) -> ast.FunctionDef | None:
        """The same function in the original text."""
        return self._function_in(self.before)

    def _function_in(self, tree: ast.Module) -> ast.FunctionDef | None:
        scope: ast.AST = tree
        for name in self.qualname.replace(".<locals>", "").split("."):
            if name == "<module>":
                return None
            scope = next(
                (
                    n
                    for n in ast.walk(scope)
                    if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name
                ),
                scope,
            )
        return scope if isinstance(scope, ast.FunctionDef) else None

    def first_added(self) -> ast.stmt | None:
        """The first added statement inside the rewritten function, or of the module's own code."""
        inside = self.function.body if self.function else self.tree.body
        wanted = [
            s
            for s in inside
            if not isinstance(s, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
            and any(k in self.added for k in range(s.lineno, (s.end_lineno or s.lineno) + 1))
        ]
        return wanted[0] if wanted else None

    # ------------------------------------------------------------- splices
    def _offset(self, line: int, column: int) -> int:
        return sum(len(text) for text in self.lines[: line - 1]) + column

    def span(self, node: Node) -> tuple[int, int]:
        """Byte range of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def source(self, node: Node) -> str:
        """A node on one line."""
        start, stop = self.span(node)
        return " ".join(self.new[start:stop].decode().split())

    def replaced(
        self, operator: str, node: Node, by: str, *, slow: bool = False, digits: bool = False
    ) -> Mutant | None:
        """``node`` replaced; None where the text does not parse or says the same as before."""
        start, stop = self.span(node)
        text = self.new[:start] + by.encode() + self.new[stop:]
        what = f"{self.source(node)} -> {' '.join(by.split())}"
        mutant = self.made(operator, node.lineno, what, text, slow=slow)
        return mutant and replace(mutant, digits=digits)

    def inserted(
        self, operator: str, anchor: ast.stmt, code: str, *, after: bool = False, slow: bool = False
    ) -> Mutant | None:
        """Statements (one a line) written before or after a statement, indented like it."""
        line = (anchor.end_lineno or anchor.lineno) + 1 if after else anchor.lineno
        indent = " " * anchor.col_offset
        block = "".join(f"{indent}{row}\n" for row in code.splitlines()).encode()
        head, tail = b"".join(self.lines[: line - 1]), b"".join(self.lines[line - 1 :])
        where = "after" if after else "before"
        what = f"{where} {self.source(anchor)[:40]} -> {' / '.join(code.splitlines())}"
        return self.made(operator, anchor.lineno, what, head + block + tail, slow=slow)

    def made(
        self, operator: str, line: int, what: str, text: bytes, *, slow: bool = False
    ) -> Mutant | None:
        """A mutant, if it is Python and another program."""
        try:
            tree = ast.parse(text)
            compile(text, "mutant", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
        if ast.dump(tree) == ast.dump(self.tree) and not slow:
            return None
        return Mutant(operator, line, what, text, slow)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
