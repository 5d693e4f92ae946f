"""Functions that add up generators, ``return sum(f(x) for x in xs)``, copied with plain loops.

The loop calls the copies. Only where it cannot be expressed as it is: whole numbers, for one, are
added up alike by every Python.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...loopnest.ir import Nest
from ...loopnest.scope import declared, local_names, module_of, own_nodes
from ...model import Basis, Condition, Edit, Source
from ...names import import_edit
from ...patch import apply_edits, composed
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from .draft import Draft
from .generators import Fold, Writer, evaluated_first, fold_of, operands, unconditional

_MOST = 20
"""Generators of all functions of one loop that are written out."""
_COMPENSATED = (3, 12)
"""From this Python on ``sum`` is more exact with floats than a loop."""


def with_plain_helpers(draft: Draft) -> Draft:
    """The draft whose loop calls copies of the functions that fold generators."""
    functions = _folding(draft)
    if not functions or isinstance(draft.restated().nest, Nest):
        return draft
    sums = any(f.kind == "sum" for one in functions.values() for f in _folds(draft, one))
    if sums and sys.version_info >= _COMPENSATED:
        return draft
    draft, names = _copied(draft, functions)
    for _ in range(_MOST):
        copies = [module_of(draft.source).functions[name] for name in names]
        found = next(((f, one) for one in copies for f in _folds(draft, one)), None)
        if found is None:
            return asking_version(draft) if sums else draft
        fold, function = found
        writer = Writer(replace(draft, function=function), fold)
        written = draft.elsewhere(writer.changes()[1])
        draft = replace(written, names=written.names | frozenset(writer.new))
    raise Unsupported("too many comprehensions in the functions called", draft.loop.lineno)


def asking_version(draft: Draft) -> Draft:
    """The draft for Pythons whose ``sum`` adds floats as a loop does."""
    name, edit = import_edit(draft.source, "sys")
    text = f"{name}.version_info < {_COMPENSATED}"
    condition = Condition(
        "sum() adds floats one after the other", Basis.OBSERVED, guarded=True, test=text
    )
    return draft.importing(edit).asking(text, condition)


# --------------------------------------------------------------------- search
def _folding(draft: Draft) -> Mapping[str, ast.FunctionDef]:
    """Functions called by the loop that fold, or call one that does; by name."""
    known = module_of(draft.source).functions
    first = module_of(draft.region.source).functions
    hidden = local_names(draft.function)
    own = [n for n, f in draft.region.functions.items() if first.get(n) is f and n not in hidden]
    called = {n: known[n] for n in own if n in known}
    plain = {name: f for name, f in called.items() if _is_plain(f)}
    found = {n for n, f in plain.items() if next(_folds(draft, f), None) is not None}
    while more := {n for n, f in plain.items() if n not in found and found & _calls(f)}:
        found |= more
    return {n: plain[n] for n in plain if n in found}


def _is_plain(function: ast.FunctionDef) -> bool:
    odd = (ast.Yield, ast.YieldFrom, ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.NamedExpr)
    inside = any(isinstance(n, odd) for n in own_nodes(function))
    return not (inside or function.decorator_list or declared(function))


def _calls(function: ast.AST) -> set[str]:
    """Names of what it calls."""
    own = local_names(function) if isinstance(function, ast.FunctionDef) else frozenset()
    calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    return {f.id for f in calls if isinstance(f, ast.Name)} - own


def _folds(draft: Draft, function: ast.FunctionDef) -> Iterator[Fold]:
    here = replace(draft, function=function)
    for statement in own_nodes(function):
        root = evaluated_first(here, statement)
        if isinstance(statement, ast.Return):
            root = statement.value
        if root is None or not isinstance(statement, ast.stmt):
            continue
        for part, under in operands(root):
            for node in unconditional(part):
                found = fold_of(here, statement, node)
                if found is not None and found.kind != "call":
                    yield replace(found, under=under)


# ----------------------------------------------------------------------- text
def _copied(
    draft: Draft, functions: Mapping[str, ast.FunctionDef]
) -> tuple[Draft, tuple[str, ...]]:
    """The draft with copies that call one another, and that the loop calls; their names."""
    names = {name: draft.free(f"{name}_in_loops") for name in functions}
    parts = [_copy(draft, f, names) for f in functions.values()]
    top = top_level_statement(draft.source, draft.loop)
    offset, block = functions_block(draft.source, top, parts)
    draft = draft.elsewhere([Edit(offset, offset, block)])
    draft = replace(draft, names=draft.names | frozenset(names.values()))
    draft = draft.advanced(_renamed(draft, draft.loop, names))
    return draft, tuple(names.values())


def _copy(draft: Draft, function: ast.FunctionDef, names: Mapping[str, str]) -> str:
    """A function of the module under its new name, which calls the other copies."""
    start, end = draft.source.span(function)
    at = start + len("def ")
    name = Edit(at, at + len(function.name.encode()), names[function.name])
    edits = sorted([name, *_renamed(draft, function, names)], key=lambda e: -e.start)
    data = draft.source.data[start:end]
    for edit in edits:
        first, last = edit.start - start, edit.end - start
        data = data[:first] + edit.text.encode() + data[last:]
    return data.decode("utf-8") + "\n"


def _renamed(draft: Draft, node: ast.AST, names: Mapping[str, str]) -> list[Edit]:
    """Edits that make the calls in it those of the copies."""
    wanted = _calls(node) & set(names)
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return [
        Edit(*draft.source.span(f), names[f.id])
        for f in calls
        if isinstance(f, ast.Name) and f.id in wanted
    ]


def without_unused(draft: Draft, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits of the whole file without the new functions that nothing calls in the end."""
    original = draft.region.source
    while True:
        source = Source(original.path, apply_edits(original, edits))
        functions = [n for n in source.tree.body if isinstance(n, ast.FunctionDef)]
        unused = [f for f in functions if f.name in draft.names and not _is_read(source, f)]
        if not unused:
            return edits
        edits = composed(original, edits, [_removal(source, f) for f in unused])


def _is_read(source: Source, function: ast.FunctionDef) -> bool:
    own = set(map(id, ast.walk(function)))
    return any(
        isinstance(n, ast.Name) and n.id == function.name and id(n) not in own for n in source.nodes
    )


def _removal(source: Source, function: ast.FunctionDef) -> Edit:
    """The function with the blank lines behind it."""
    start, end = source.span(function)
    while source.data[end : end + 1] == b"\n":
        end += 1
    return Edit(start, end, "")
