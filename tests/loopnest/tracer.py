"""Runs a nest and records which iterations of each loop really touch the same element."""

from __future__ import annotations

from typing import Any

from interpreter import Interpreter

from gpuadvise.loopnest.ir import Append, Expr, For, Load, Nest, Stmt, Store


class Tracer(Interpreter):
    """An interpreter with a dynamic dependence check of every ``for`` loop."""

    def __init__(self, nest: Nest, values: dict[str, Any]) -> None:
        super().__init__(nest, values)
        self.active: list[tuple[For, int, dict[tuple[Any, ...], set[tuple[int, bool]]]]] = []
        self.conflicts: dict[int, str] = {}
        """Loops (by identity) of which two iterations met in an element, one writing it."""
        self.quiet = False

    def loop(self, loop: For) -> None:
        domain = loop.values or range(self.of(loop.start), self.of(loop.stop), loop.step)
        touched: dict[tuple[Any, ...], set[tuple[int, bool]]] = {}
        from interpreter import _Break, _Continue

        try:
            for trip, value in enumerate(domain):
                self.values[loop.index] = value
                self.active.append((loop, trip, touched))
                try:
                    self.block(loop.body)
                except _Continue:
                    pass
                finally:
                    self.active.pop()
        except _Break:
            pass

    def note(self, array: str, index: tuple[Any, ...], writes: bool, line: int) -> None:
        target = self.values[array]
        place: list[Any] = []
        for axis, position in enumerate(index):
            size = target.shape[axis] if hasattr(target, "shape") else len(target)
            place.append(int(position) % size)
            if not hasattr(target, "shape"):
                target = target[position]
        cell = (id(self.values[array]), *place)
        for loop, trip, touched in self.active:
            seen = touched.setdefault(cell, set())
            if any(t != trip and (w or writes) for t, w in seen):
                self.conflicts.setdefault(id(loop), f"{array}{place} (line {line})")
            seen.add((trip, writes))

    def compute(self, expr: Expr) -> Any:
        if isinstance(expr, Load):
            index = tuple(self.of(i) for i in expr.index)
            self.note(expr.array, index, False, expr.line)
        return super().compute(expr)

    def statement(self, statement: Stmt) -> None:
        if isinstance(statement, Store):
            # after the value: Python evaluates it first
            self.of(statement.value)
            index = tuple(self.of(i) for i in statement.index)
            self.note(statement.array, index, True, statement.line)
        elif isinstance(statement, Append):
            self.note(statement.array, (), True, statement.line)
        super().statement(statement)
