"""What names mean in code for GPUs, as far as the text alone tells: libraries, kernels, launches.

Rules on GPU code read the text, since none of it can run where there is no GPU. A name counts
only if it is bound once in the file, by an import: everything else is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..codegen import ast_tools as tools
from ..gpumodel import LineWork
from ..model import Region, Source
from ..report.gpu import line_words

NOT_MEASURED = "that needs an NVIDIA GPU, and cupti-python or PyTorch's profiler beside it"


def meaning(source: Source, node: ast.expr) -> str | None:
    """The full dotted name behind an expression: ``cp.asarray`` -> ``"cupy.asarray"``.

    None where it is no such name, or the name is bound more than once in the file.
    """
    if isinstance(node, ast.Attribute):
        base = meaning(source, node.value)
        return None if base is None else f"{base}.{node.attr}"
    if not isinstance(node, ast.Name):
        return None
    target = _imports(source.tree).get(node.id)
    if target is None or tools.bound_names(source).get(node.id, 0) != 1:
        return None
    return target


@lru_cache(maxsize=8)
def _imports(tree: ast.Module) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def calls(source: Source, node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls, anywhere below ``node`` in its own scope, of one of the functions named in full."""
    for inner in tools.own_nodes(node):
        if isinstance(inner, ast.Call) and meaning(source, inner.func) in names:
            yield inner


# ------------------------------------------------------------------ numba.cuda
@dataclass(frozen=True)
class Launch:
    """``kernel[blocks, threads](a, b, n)`` as a statement of its own."""

    kernel: ast.FunctionDef
    statement: ast.Expr
    arguments: tuple[ast.expr, ...]


def kernels(source: Source) -> Mapping[str, ast.FunctionDef]:
    """Functions at the top of the file that numba compiles for the GPU, by name."""
    found = {}
    for node in source.tree.body:
        if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
            continue
        decorator = node.decorator_list[0]
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        once = tools.bound_names(source).get(node.name, 0) == 1
        if once and meaning(source, name) == "numba.cuda.jit":
            found[node.name] = node
    return found


def launches(source: Source, loop: ast.AST) -> tuple[Launch, ...]:
    """The kernel launches in a loop that are statements of their own."""
    known = kernels(source)
    found = []
    for node in tools.own_nodes(loop):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        if not isinstance(call.func, ast.Subscript) or not isinstance(call.func.value, ast.Name):
            continue
        kernel = known.get(call.func.value.id)
        if kernel is not None and not call.keywords:
            found.append(Launch(kernel, node, tuple(call.args)))
    return tuple(found)


# -------------------------------------------------------------------- evidence
@dataclass(frozen=True)
class Evidence:
    """What was traced of some lines, in words, with the seconds that a rewrite can save."""

    text: str
    measured: bool
    cost: float | None


def evidence(region: Region, lines: Iterable[int], kinds: Iterable[str] = ()) -> Evidence:
    """What the trace says of these lines; ``kinds``: of which a sentence must speak to be shown."""
    if region.gpu is None:
        return Evidence(NOT_MEASURED, False, None)
    known = region.gpu
    found = [known[line] for line in sorted(set(lines)) if line in known and _on_gpu(known[line])]
    wanted = tuple(kinds)
    sentences = [
        sentence
        for work in found
        for sentence in line_words(work)
        if not wanted or any(kind in sentence for kind in wanted)
    ]
    if not sentences:
        return Evidence("the trace saw no such work at this line", True, 0.0)
    return Evidence("; ".join(sentences), True, sum(_cost(work) for work in found))


def _on_gpu(work: LineWork) -> bool:
    """Not a line of which only the time is known."""
    return bool(work.calls or work.kernels or work.gpu or work.api or work.copies or work.names)


def _cost(work: LineWork) -> float:
    return work.host if work.host else work.api
