"""Faults in compiled kernels: flags, threads, accumulators, early exits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutant_parts import attribute, jitted, operator, parens
from mutant_text import Mutant, Rewritten


@operator("compiler flags")
def compiler_flags(code: Rewritten) -> Iterator[Mutant | None]:
    """``fastmath``, and division that does not raise."""
    for function in _kernels(code):
        for decorator in _compiled_by(function):
            for flag in ("fastmath=True", "error_model='numpy'"):
                if ast.dump(_keyword(flag)) not in map(ast.dump, decorator.keywords):
                    yield code.replaced("compiler flags", decorator, _flag(decorator, flag))


def _keyword(flag: str) -> ast.keyword:
    call = ast.parse(f"f({flag})", mode="eval").body
    assert isinstance(call, ast.Call)
    return call.keywords[0]


@operator("threads")
def threads(code: Rewritten) -> Iterator[Mutant | None]:
    """Threads for a loop whose passes need one another."""
    for function in _kernels(code):
        for decorator in _compiled_by(function):
            for node in ast.walk(function):
                if isinstance(node, ast.For) and attribute(node.iter) == "range":
                    yield _threaded(code, decorator, node)


def _threaded(code: Rewritten, decorator: ast.Call, loop: ast.For) -> Mutant | None:
    assert isinstance(loop.iter, ast.Call)
    parallel = code.replaced("threads", decorator, _flag(decorator, "parallel=True"))
    text = code.new if parallel is None else parallel.text
    old = code.source(loop.iter)
    # The decorator stands above the loop, on a line of its own: lines keep their numbers.
    lines = text.splitlines(keepends=True)
    at = loop.lineno - 1
    lines[at] = lines[at].replace(b" in range(", b" in numba.prange(", 1)
    what = f"for {ast.unparse(loop.target)} in {old} -> numba.prange"
    return code.made("threads", loop.lineno, what, b"".join(lines))


@operator("narrow accumulator")
def narrow_accumulator(code: Rewritten) -> Iterator[Mutant | None]:
    """A sum kept in single precision, or in 32 or 8 bits."""
    for statement in code.statements():
        adds = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add)
        if not adds or not jitted(code, statement):
            continue
        assert isinstance(statement, ast.AugAssign)
        target, value = ast.unparse(statement.target), parens(statement.value)
        counts = isinstance(statement.value, ast.Constant)
        for name in ("int8",) if counts else ("float32", "int32", "int8"):
            by = f"{target} = np.{name}({target} + {value})"
            yield code.replaced("narrow accumulator", statement, by)


@operator("hoisted")
def hoisted(code: Rewritten) -> Iterator[Mutant | None]:
    """What every pass begins with, done once before the loop: the second pass finds it used."""
    for loop in code.nodes():
        if not isinstance(loop, ast.For | ast.While) or not isinstance(loop.body[0], ast.Assign):
            continue
        first = loop.body[0]
        if len(loop.body) < 2 or any(
            isinstance(n, ast.Name) and n.id in _targets(loop) for n in ast.walk(first.value)
        ):
            continue
        start, stop = code.span(loop)[0], code.span(first)[1]
        head = code.new[start : code.span(first)[0]].rstrip()
        indent = b" " * loop.col_offset
        moved = code.new[code.span(first)[0] : stop]
        by = moved + b"\n" + indent + head + b"\n" + indent + b"    pass"
        text = code.new[:start] + by + code.new[stop:]
        yield code.made("hoisted", loop.lineno, f"{code.source(first)} -> before the loop", text)


def _targets(loop: ast.For | ast.While) -> set[str]:
    """Names that a loop binds anew in its passes."""
    return {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@operator("exit lost")
def exit_lost(code: Rewritten) -> Iterator[Mutant | None]:
    """``break`` or ``continue`` left out, or one in place of the other."""
    for node in code.nodes():
        if isinstance(node, ast.Break | ast.Continue):
            other = "continue" if isinstance(node, ast.Break) else "break"
            yield code.replaced("exit lost", node, "pass")
            yield code.replaced("exit lost", node, other)


def _kernels(code: Rewritten) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(code.tree):
        is_new = isinstance(node, ast.FunctionDef) and node.lineno in code.added
        if is_new and jitted(code, node.body[0]):
            yield node


def _compiled_by(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and "njit" in ast.unparse(decorator.func):
            yield decorator


def _flag(decorator: ast.Call, flag: str) -> str:
    name = flag.partition("=")[0]
    kept = [ast.unparse(k) for k in decorator.keywords if k.arg != name]
    return f"{ast.unparse(decorator.func)}({', '.join([*kept, flag])})"
