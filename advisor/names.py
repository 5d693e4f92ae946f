"""Names of a module: which are taken, and under which one a package is at hand."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count, takewhile

from .edits import BOM, check_encoding
from .model import Edit, Source


def free_name(source: Source, wanted: str, taken: Iterable[str] = ()) -> str:
    """``wanted``, or ``wanted_2``, ``wanted_3`` .., so that no scope of the module knows it.

    ``taken``: names given to others for the same file meanwhile.
    """
    used = _all_names(source) | frozenset(taken)
    for number in count(1):
        name = wanted if number == 1 else f"{wanted}_{number}"
        if name not in used and not keyword.iskeyword(name) and not hasattr(builtins, name):
            return name
    raise AssertionError("unreachable")


def import_edit(
    source: Source, module: str, alias: str | None = None, *, above: int | None = None
) -> tuple[str, Edit | None]:
    """The local name of ``module``, and the edit that imports it if nothing does yet.

    A top-level import is reused under whatever name it has (``import numpy``,
    ``import numpy as xp``) unless something else rebinds that name. Else
    ``import module as alias`` goes below the leading imports. ``above``: only an import above
    that line counts, for code at module level.
    """
    check_encoding(source)
    local = _imported(source, module, above)
    if local is not None:
        return local, None
    local = _available(source, alias or module, module)
    text = f"import {module}" if local == module else f"import {module} as {local}"
    return local, _insert_import(source, text, above)


def from_import_edit(
    source: Source, module: str, name: str, *, above: int | None = None
) -> tuple[str, Edit | None]:
    """The expression that names ``module.name``, and the edit that imports it if nothing does.

    ``"njit"``, or ``"nb.njit"`` under ``import numba as nb``; else ``from numba import njit``
    goes below the leading imports. ``above`` as for ``import_edit``.
    """
    check_encoding(source)
    full = f"{module}.{name}"
    for statement in _above(source, above):
        if isinstance(statement, ast.ImportFrom) and statement.module == module:
            for item in statement.names:
                local = item.asname or item.name
                if item.name == name and _bindings(source).get(local) == {full}:
                    return local, None
    package = _imported(source, module, above)
    if package is not None:
        return f"{package}.{name}", None
    local = _available(source, name, full)
    text = f"from {module} import {name}" + ("" if local == name else f" as {local}")
    return local, _insert_import(source, text, above)


def _imported(source: Source, module: str, above: int | None) -> str | None:
    """The name a top-level ``import`` gives the module, if nothing else is ever bound to it."""
    for statement in _above(source, above):
        if isinstance(statement, ast.Import):
            for item in statement.names:
                local = item.asname or item.name
                if item.name == module and _bindings(source).get(local) == {module}:
                    return local
    return None


def _above(source: Source, line: int | None) -> list[ast.stmt]:
    return [node for node in source.tree.body if line is None or node.lineno < line]


def _available(source: Source, wanted: str, target: str) -> str:
    """``wanted`` if nothing but ``target`` is bound to it anywhere and no star import hides it."""
    bound = _bindings(source).get(wanted, set())
    # from pylab import *  would replace our np by whatever it exports; it leaves _np alone.
    if _STAR in _bindings(source):
        return free_name(source, f"_{wanted}")
    if bound <= {target} and wanted not in _loose_names(source, wanted):
        return wanted
    return free_name(source, f"_{wanted}")


def _loose_names(source: Source, wanted: str) -> set[str]:
    """The name if the module reads it without binding it: a built-in, or injected from outside."""
    if wanted in _bindings(source):
        return set()
    return {n.id for n in source.nodes if isinstance(n, ast.Name) and n.id == wanted}


# ------------------------------------------------------------- where it goes
def _insert_import(source: Source, text: str, above: int | None) -> Edit:
    offset, before, after = _import_place(source, above)
    if offset == len(source.data) and source.data and not source.data.endswith((b"\n", b"\r")):
        return Edit(offset, offset, f"\n{before}{text}")
    return Edit(offset, offset, f"{before}{text}\n{after}")


def _import_place(source: Source, above: int | None) -> tuple[int, str, str]:
    """Byte offset of a line start, and the blank lines wanted before and after."""
    body = source.tree.body
    has_docstring = ast.get_docstring(source.tree, clean=False) is not None
    last_import = _last_leading_import(_above(source, above))
    if last_import is not None:
        return _line_after(source, last_import), "", ""
    if has_docstring:
        offset = _line_after(source, 0)
        follows = source.data[offset:].lstrip(b" \t\f").startswith((b"\n", b"\r"))
        return offset, "\n", "" if follows or offset == len(source.data) else "\n"
    defines = body and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return _after_header(source), "", "\n\n" if defines else "\n" if body else ""


def _last_leading_import(body: list[ast.stmt]) -> int | None:
    """Index of the last import before anything is defined or looped over.

    Simple statements between imports are passed over: a package that reads
    ``os.environ["OMP_NUM_THREADS"] = "1"`` when it is imported must come below it.
    """
    last = None
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            last = index
        elif isinstance(statement, ast.If | ast.Try) and _only_imports(statement):
            continue
        elif not isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
            break
    return last


def _only_imports(statement: ast.If | ast.Try) -> bool:
    """``try: import fast`` / ``except ImportError: fast = None`` belongs to the imports."""
    inner = [n for n in ast.walk(statement) if isinstance(n, ast.stmt) and n is not statement]
    simple = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.Pass, ast.Raise)
    has_import = any(isinstance(n, ast.Import | ast.ImportFrom) for n in inner)
    return has_import and all(isinstance(n, simple) for n in inner)


def _line_after(source: Source, index: int) -> int:
    """Start of the first line below ``body[index]`` on which no statement is under way.

    ``import os; table = {`` goes on: nothing may be put between its lines.
    """
    body = source.tree.body
    end = body[index].end_lineno
    assert end is not None
    for statement in body[index + 1 :]:
        if statement.lineno > end:
            break
        assert statement.end_lineno is not None
        end = statement.end_lineno
    return min(source.line_starts[end], len(source.data))


def _after_header(source: Source) -> int:
    """Below a comment block at the top that a blank line sets off; else below #! and coding."""
    floor = len(BOM) if source.data.startswith(BOM) else 0
    comments = list(takewhile(lambda line: line.lstrip("\ufeff").startswith("#"), source.lines))
    header = len(comments)
    set_off = header < len(source.lines) and not source.lines[header].strip()
    if comments and set_off:
        return source.line_starts[header + 1]
    special = [n for n, line in enumerate(comments[:2], 1) if "coding" in line or "#!" in line]
    return max(floor, source.line_starts[max(special, default=0)])


# ------------------------------------------------------------------ bindings
_STAR = "*"


@lru_cache(maxsize=16)
def _bindings(source: Source) -> dict[str, set[str]]:
    """Every name bound in any scope -> what imports bind it to; ``""`` for any other binding."""
    found: dict[str, set[str]] = {}
    for node in source.nodes:
        for name, target in _bound_by(node):
            found.setdefault(name, set()).add(target)
    return found


def _bound_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            for item in names:
                root = item.name.partition(".")[0]
                yield (item.asname, item.name) if item.asname else (root, root)
        case ast.ImportFrom(module=module, names=names, level=level):
            origin = "." * level + (module or "")
            for item in names:
                yield item.asname or item.name, f"{origin}.{item.name}"
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name, ""
        case ast.arg(arg=name):
            yield name, ""
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, ""
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name, ""
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name, ""
        case _:
            pass


@lru_cache(maxsize=16)
def _all_names(source: Source) -> frozenset[str]:
    """Every identifier of the module, also as an attribute, a keyword or inside a string."""
    names = set(_bindings(source))
    for node in source.nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.keyword(arg=str(name)):
                names.add(name)
            # globals()["kernel"], getattr(module, "kernel")
            case ast.Constant(value=str(name)) if name.isidentifier():
                names.add(name)
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
            case _:
                pass
    return frozenset(names)
