"""Array expressions of several operations as one CUDA kernel, by ``cupy.ElementwiseKernel``.

Each operation of CuPy is a launch, and writes its result to memory for the next one to read. A
kernel of all of them reads every operand once. It rounds after each operation as NumPy does:
``__dmul_rn`` and its like are products that the compiler may not fuse with a sum.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeGuard

from ...gpucode.cupy_tables import words
from ...layout import LEVEL
from ...model import Source
from ..bf_values import (
    Env,
    Scalar,
    chosen_arrays,
    copied_array,
    filled_array,
    operation,
    value_of,
)
from ..nb_values import Unsupported
from ..numpy_backend.layout import wrapped
from .expressions import Expressions

LEAST = 3
"""Operations that one kernel must replace."""
C_TYPES = {"bool": "bool", "int64": "long long", "float64": "double", "float32": "float"}
"""Types that are computed with as NumPy does."""
_ROUNDED = {
    ("float64", "multiply"): "__dmul_rn({}, {})",
    ("float32", "multiply"): "__fmul_rn({}, {})",
    ("float64", "divide"): "__ddiv_rn({}, {})",
    ("float32", "divide"): "__fdiv_rn({}, {})",
    ("float64", "sqrt"): "__dsqrt_rn({})",
    ("float32", "sqrt"): "__fsqrt_rn({})",
}
_FUNCTIONS = {
    **{n: n for n in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil")},
    "arctan": "atan",
    "absolute": "fabs",
}
"""What CuPy itself calls for them; with an f behind it for float32."""
_PLAIN = {"add": "+", "subtract": "-"}
_TESTS = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_SAME = {"abs": "absolute", "fabs": "absolute", "true_divide": "divide"}
_RESERVED = words(
    """
    alignas alignof and asm auto bitand bitor bool break case catch char class compl const
    constexpr continue decltype default delete do double else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new noexcept not nullptr operator or
    private protected public register return short signed sizeof static struct switch template this
    throw true try typedef typename union unsigned using virtual void volatile while xor
    exp expf log logf sin sinf cos cosf tan tanf sinh sinhf cosh coshf tanh tanhf atan atanf
    floor floorf ceil ceilf fabs fabsf i n result
    """
)
"""Names that C++ or ``ElementwiseKernel`` keeps for itself."""
_WIDTH = 92
_EXACT_INT = 2**53


class NotFused(Exception):
    """Something that a kernel might compute otherwise than CuPy's own operations."""


@dataclass(frozen=True)
class Term:
    """An expression in CUDA C."""

    text: str
    dtype: str
    """``"number"``: a Python number, which takes the type of what it meets."""
    number: float | int = 0
    given: str = ""
    """The host's expression for a number that is no constant."""


@dataclass
class Kernel:
    """One kernel in the making."""

    expressions: Expressions
    parameters: dict[tuple[str, str], str] = field(default_factory=dict)
    """What is given, as text, and its dtype -> its name in the kernel."""
    made: dict[str, Term] = field(default_factory=dict)
    """Names that statements before the last one bind."""
    lines: list[str] = field(default_factory=list)
    operations: int = 0
    names: set[str] = field(default_factory=set)

    @property
    def source(self) -> Source:
        """The file."""
        return self.expressions.region.source

    def bind(self, name: str, value: ast.expr, env: Env) -> None:
        """A statement of which only the kernel needs the result. Raises NotFused."""
        term = self._array(value, env)
        local = self._free(name)
        self.lines.append(f"const {C_TYPES[term.dtype]} {local} = {_bare(term.text)};")
        self.made[name] = Term(local, term.dtype)

    def result(self, value: ast.expr, env: Env) -> str:
        """The last statement; returns its dtype. Raises NotFused."""
        term = self._array(value, env)
        self.lines.append(f"result = {_bare(term.text)};")
        return term.dtype

    def _array(self, value: ast.expr, env: Env) -> Term:
        term = self.term(value, env)
        known = self.expressions.on_device(value, env)
        if known is None or known.dtype != term.dtype or not known.shape:
            raise NotFused
        return term

    # ------------------------------------------------------------ expressions
    def term(self, node: ast.expr, env: Env) -> Term:
        """An expression. Raises NotFused."""
        if isinstance(node, ast.Name) and node.id in self.made:
            return self.made[node.id]
        number = _constant(node)
        if number is not None:
            return Term("", "number", number)
        if self.expressions.on_device(node, env) is None:
            return self._given_number(node, env)
        copied = copied_array(self.source, node)
        if copied is not None:
            return self.term(copied, env)
        filled = filled_array(self.source, node)
        if filled is not None:
            known = self.expressions.on_device(node, env)
            assert known is not None
            return self._as(Term("", "number", filled[1]), known.dtype)
        chosen = chosen_arrays(self.source, node)
        if chosen is not None:
            return self._chosen(node, chosen, env)
        done = operation(self.source, node)
        if done is not None:
            self.operations += 1
            name = _SAME.get(done.name, done.name)
            return self._applied(name, [self.term(operand, env) for operand in done.operands])
        return self._given_array(node, env)

    def _chosen(self, node: ast.expr, parts: Sequence[ast.expr], env: Env) -> Term:
        """``np.where(mask, 1, 0)``."""
        known = self.expressions.on_device(node, env)
        mask, one, other = (self.term(part, env) for part in parts)
        if mask.dtype != "bool" or known is None or known.dtype not in C_TYPES:
            raise NotFused
        self.operations += 1
        one, other = self._as(one, known.dtype), self._as(other, known.dtype)
        return Term(f"({mask.text} ? {one.text} : {other.text})", known.dtype)

    def _given_array(self, node: ast.expr, env: Env) -> Term:
        """An array or a part of one, which the kernel reads at its own place."""
        known = self.expressions.on_device(node, env)
        whole = known is not None and (known.view or id(node) in self.expressions.parts)
        if known is None or not whole or not known.shape or known.dtype not in C_TYPES:
            raise NotFused
        return self._given(ast.unparse(known.node), known.dtype)

    def _given_number(self, node: ast.expr, env: Env) -> Term:
        """What the host computes: a Python float. An int may not fit 64 bits."""
        kind = value_of(self.source, node, env)
        if kind not in (Scalar("float"), Scalar("float64")):
            raise NotFused
        if kind == Scalar("float64"):
            return self._given(ast.unparse(node), "float64")
        return Term("", "number", given=ast.unparse(node))

    def _given(self, text: str, dtype: str) -> Term:
        key = (text, dtype)
        if key not in self.parameters:
            word = re.match(r"\W*_?(?:gpu_)?(\w*)", text)
            self.parameters[key] = self._free(word[1] if word else "")
        return Term(self.parameters[key], dtype)

    def _applied(self, name: str, operands: list[Term]) -> Term:
        """An operation on operands of one type. Raises NotFused."""
        kinds = {term.dtype for term in operands} - {"number"}
        if len(kinds) != 1:
            raise NotFused
        (dtype,) = kinds
        texts = [self._as(term, dtype).text for term in operands]
        if name in _TESTS and dtype != "bool":
            return Term(f"({texts[0]} {_TESTS[name]} {texts[1]})", "bool")
        if name in _BITS and dtype in ("bool", "int64"):
            return Term(f"({texts[0]} {_BITS[name]} {texts[1]})", dtype)
        if name == "invert" and dtype in ("bool", "int64"):
            return Term(f"({'!' if dtype == 'bool' else '~'}{texts[0]})", dtype)
        if dtype == "bool":
            raise NotFused
        return Term(_arithmetic(name, dtype, texts), dtype)

    def _as(self, term: Term, dtype: str) -> Term:
        """A term where this type is computed with. Raises NotFused."""
        if term.dtype == dtype:
            return term
        if term.dtype != "number":
            raise NotFused
        if term.given:
            if dtype not in ("float64", "float32"):
                raise NotFused
            return self._given(term.given, dtype)
        return Term(_literal(term.number, dtype), dtype)

    def _free(self, wanted: str) -> str:
        """A name for something in the kernel."""
        name = re.sub(r"[^0-9A-Za-z_]", "", wanted).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        tried = (name, *(f"{name}_{k}" for k in range(1, 1000)))
        found = next(one for one in tried if one not in self.names | _RESERVED)
        self.names.add(found)
        return found

    # ------------------------------------------------------------------ text
    def text(self, name: str, cupy: str, dtype: str) -> str:
        """The kernel as a statement of the module."""
        given = ", ".join(f"{kind} {local}" for (_, kind), local in self.parameters.items())
        broken = partial(textwrap.wrap, width=_WIDTH, break_long_words=False)
        lines = [f'{LEVEL}"{part}"' for part in _spaced(broken(given))]
        lines[-1] += ","
        body = [part for line in self.lines for part in _indented(broken(line))]
        rounded = any("_rn(" in line for line in self.lines)
        why = "; __..._rn() rounds as NumPy does, on its own" if rounded else ""
        return "\n".join(
            [
                f"# one kernel for {self.operations} operations{why}",
                f"{name} = {cupy}.ElementwiseKernel(",
                *lines,
                f'{LEVEL}"{dtype} result",',
                f'{LEVEL}"""',
                *(f"{LEVEL}{line}" for line in body),
                f'{LEVEL}""",',
                f'{LEVEL}"{name.strip("_")}",',
                ")",
            ]
        )

    def call(self, name: str) -> str:
        """The kernel's call."""
        return f"{name}({', '.join(text for text, _ in self.parameters)})"


def _arithmetic(name: str, dtype: str, texts: list[str]) -> str:
    if name == "square":
        name, texts = "multiply", texts * 2
    if name in _PLAIN:
        return f"({texts[0]} {_PLAIN[name]} {texts[1]})"
    if name == "negative":
        return f"(-{texts[0]})"
    if (dtype, name) in _ROUNDED:
        return _ROUNDED[dtype, name].format(*texts)
    if name in _FUNCTIONS and dtype != "int64":
        return f"{_FUNCTIONS[name]}{'f' if dtype == 'float32' else ''}({texts[0]})"
    if dtype == "int64" and name == "multiply":
        return f"({texts[0]} * {texts[1]})"
    raise NotFused


def _constant(node: ast.expr) -> float | int | None:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return None if isinstance(number, bool) else -number
    return None


def _literal(number: float | int, dtype: str) -> str:
    """A constant in C. Raises NotFused."""
    if dtype == "int64" and isinstance(number, int) and abs(number) < 2**62:
        return f"{number}LL" if number >= 0 else f"({number}LL)"
    if dtype.startswith("float") and math.isfinite(number):
        if isinstance(number, int) and abs(number) > _EXACT_INT:
            raise NotFused
        text = repr(float(number))
        # a constant of float32 would be rounded from its decimals, and not from the double
        text = f"((float){text})" if dtype == "float32" else text
        return text if number >= 0 or dtype == "float32" else f"({text})"
    raise NotFused


def _bare(text: str) -> str:
    """Without brackets around all of it."""
    if not text.startswith("(") or text.startswith("((float)"):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _spaced(parts: list[str]) -> list[str]:
    return [f"{part} " for part in parts[:-1]] + parts[-1:]


def _indented(parts: list[str]) -> list[str]:
    return parts[:1] + [f"{LEVEL}{part}" for part in parts[1:]]


def _wrapped(line: str, indent: str) -> list[str]:
    lines = [line]
    for _ in range(2):  # the call's brackets, and those of a part in it
        lines = [part for one in lines for part in wrapped(one, len(indent))]
    return [indent + one for one in lines]


def _loaded(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


# ----------------------------------------------------------------- statements
@dataclass(frozen=True)
class Piece:
    """One statement of a block, and the lines that CuPy's own operations take for it."""

    statement: ast.stmt
    env: Env
    border: list[str]
    """Lines that must come first."""
    lines: list[str]


@dataclass
class Fuser:
    """Finds what to fuse in a block, and keeps the kernels' text."""

    expressions: Expressions
    body: Sequence[ast.stmt]
    """The loop's."""
    passing: frozenset[str]
    """Names that nothing but the loop's own statements reads, and that start no pass."""
    name: Callable[[], str]
    """A new name for a kernel."""
    kernels: list[str] = field(default_factory=list)

    def lines(self, pieces: Sequence[Piece], indent: str) -> list[str]:
        """A block with as many operations in one kernel as may be."""
        found: list[str] = []
        start = 0
        while start < len(pieces):
            end = next((e for e in range(len(pieces), start, -1) if self._may(pieces[start:e])), 0)
            made = self._made(pieces[start:end]) if end else None
            if made is None:
                found += [*pieces[start].border, *pieces[start].lines]
                start += 1
                continue
            found += [*pieces[start].border, *_wrapped(made, indent)]
            start = end
        return found

    def _may(self, run: Sequence[Piece]) -> bool:
        """Whether nothing but the last statement's result is used behind a run."""
        inside = {node for piece in run for node in ast.walk(piece.statement)}
        for place, piece in enumerate(run):
            match piece.statement:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    pass
                case ast.Assign(targets=[ast.Subscript()]) if piece is run[-1]:
                    name = ""
                case _:
                    return False
            if place and piece.border:
                return False
            read = {n.id for p in run[: place + 1] for n in ast.walk(p.statement) if _loaded(n)}
            if piece is not run[-1] and (name in read or not self._passes(name, inside)):
                return False
        return self._kernel(run) is not None

    def _passes(self, name: str, inside: set[ast.AST]) -> bool:
        if name not in self.passing:
            return False
        uses = [n for s in self.body for n in ast.walk(s) if isinstance(n, ast.Name)]
        mine = [node for node in uses if node.id == name]
        stores = [node for node in mine if not isinstance(node.ctx, ast.Load)]
        return len(stores) == 1 and all(node in inside for node in mine)

    def _kernel(self, run: Sequence[Piece]) -> tuple[Kernel, str] | None:
        kernel = Kernel(self.expressions)
        operations = self.expressions.operations
        try:
            for piece in run:
                assert isinstance(piece.statement, ast.Assign)
                value = piece.statement.value
                if piece is run[-1]:
                    dtype = kernel.result(value, piece.env)
                else:
                    (target,) = piece.statement.targets
                    assert isinstance(target, ast.Name)
                    kernel.bind(target.id, value, piece.env)
        except (NotFused, Unsupported):  # a number of the host, for one
            return None
        finally:
            self.expressions.operations = operations  # counted when they were written first
        return (kernel, dtype) if kernel.operations >= LEAST else None

    def _made(self, run: Sequence[Piece]) -> str | None:
        """The assignment that calls the kernel."""
        found = self._kernel(run)
        (last,) = ast.parse(textwrap.dedent("\n".join(run[-1].lines))).body
        if found is None or not isinstance(last, ast.Assign):
            return None
        kernel, dtype = found
        name = self.name()
        self.kernels.append(kernel.text(name, self.expressions.cupy, dtype))
        return f"{ast.unparse(last.targets[0])} = {kernel.call(name)}"
