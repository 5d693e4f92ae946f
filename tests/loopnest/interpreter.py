"""Executes a nest on real values, and checks that every value has the type the IR claims."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuadvise.loopnest import typing_rules
from gpuadvise.loopnest.fold import BINARY, COMPARE
from gpuadvise.loopnest.ir import (
    Append,
    AppendRow,
    Assign,
    Binary,
    Bool,
    Break,
    Call,
    Compare,
    Const,
    Continue,
    Dim,
    Expr,
    For,
    If,
    Len,
    Load,
    Nest,
    NewList,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    While,
)
from gpuadvise.loopnest.ranges import Ranges

BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "int": int,
    "float": float,
    "bool": bool,
    "round": round,
    "complex": complex,
    "pow": pow,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "conjugate": lambda z: z.conjugate(),
    "digit": lambda c: int(chr(c)),
}


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass
class Interpreter:
    """Runs one nest; ``values`` are arrays and scalars by path, changed in place."""

    nest: Nest
    values: MutableMapping[str, Any]
    ranges: tuple[Ranges, ...] = ()
    wrong_types: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def run(self) -> None:
        self.statement(self.nest.root)

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        match statement:
            case Assign(name=name, value=value):
                self.values[name] = self.of(value)
            case Store(array=array, index=index, value=value):
                found = self.of(value)
                *outer, last = [self.of(i) for i in index]
                target = self.values[array]
                for position in outer:
                    target = target[position]
                target[last] = found
            case Append(array=array, value=value):
                self.values[array].append(self.of(value))
            case AppendRow(array=array, row=row, as_tuple=as_tuple):
                made = self.values[row]
                self.values[array].append(tuple(made) if as_tuple else made)
            case NewList(array=array, extents=extents, fill=fill):
                self.values[array] = self.new_list([self.of(e) for e in extents], fill)
            case If(test=test, then=then, orelse=orelse):
                self.block(then if self.of(test) else orelse)
            case For():
                self.loop(statement)
            case While(test=test, body=body):
                try:
                    while self.of(test):
                        with suppress(_Continue):
                            self.block(body)
                except _Break:
                    pass
            case Break():
                raise _Break
            case Continue():
                raise _Continue
            case _:
                raise AssertionError(statement)

    def new_list(self, extents: list[int], fill: Expr | None) -> list[Any]:
        if not extents:
            return []
        first, *rest = extents
        if rest:
            return [self.new_list(rest, fill) for _ in range(first)]
        assert fill is not None
        return [self.of(fill)] * first

    def loop(self, loop: For) -> None:
        domain = loop.values or range(self.of(loop.start), self.of(loop.stop), loop.step)
        try:
            for value in domain:
                self.values[loop.index] = value
                with suppress(_Continue):
                    self.block(loop.body)
        except _Break:
            pass

    def of(self, expr: Expr) -> Any:
        value = self.compute(expr)
        self.check(expr, value)
        return value

    def check(self, expr: Expr, value: Any) -> None:
        kind = typing_rules.type_of_value(value)
        if kind != expr.type and not self.may_differ(expr):
            self.wrong_types.append(f"line {expr.line}: {expr} is {kind}")
        if isinstance(value, complex | np.complexfloating):
            return
        for ranges in self.ranges:
            claimed = ranges.of(expr)
            inside = value != value or (
                (claimed.low is None or claimed.low <= value)
                and (claimed.high is None or value <= claimed.high)
            )
            if not inside:
                self.outside.append(f"line {expr.line}: {expr} = {value} not in {claimed}")

    def may_differ(self, expr: Expr) -> bool:
        from gpuadvise.loopnest.ir import walk

        return any(isinstance(e, Var) and e.name in self.nest.joined for e in walk(expr)) or any(
            isinstance(e, Select | Bool) or (isinstance(e, Call) and e.function in ("min", "max"))
            for e in walk(expr)
        )

    def compute(self, expr: Expr) -> Any:
        match expr:
            case Const(value=value):
                return value
            case Var(name=name):
                return self.values[name]
            case Dim(array=array, axis=axis):
                found = self.values[array]
                if isinstance(found, np.ndarray):
                    return found.shape[axis]
                for _ in range(axis):
                    found = found[0]
                return len(found)
            case Len(array=array):
                return len(self.values[array])
            case Load(array=array, index=index):
                found = self.values[array]
                for position in index:
                    found = found[self.of(position)]
                return found
            case Unary(op="-", operand=operand):
                return -self.of(operand)
            case Unary(op="+", operand=operand):
                return +self.of(operand)
            case Unary(op="~", operand=operand):
                return ~self.of(operand)
            case Unary(op="not", operand=operand):
                return not self.of(operand)
            case Binary(op=op, left=left, right=right):
                return BINARY[op](self.of(left), self.of(right))
            case Compare(op=op, left=left, right=right):
                return COMPARE[op](self.of(left), self.of(right))
            case Bool(op=op, operands=operands):
                value: Any = None
                for operand in operands:
                    value = self.of(operand)
                    if bool(value) is (op == "or"):
                        break
                return value if expr.type.dtype else bool(value)
            case Select(test=test, then=then, orelse=orelse):
                return self.of(then) if self.of(test) else self.of(orelse)
            case Call(function=function, args=args):
                return self.function(function)(*[self.of(a) for a in args])
        raise AssertionError(expr)

    @staticmethod
    def function(name: str) -> Callable[..., Any]:
        module, _, rest = name.rpartition(".")
        if not module:
            return BUILTINS[name]
        return getattr({"math": math, "numpy": np, "cmath": cmath}[module], rest)  # type: ignore[no-any-return]
