"""Which Python files are the user's: the script and what it imports from beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ..model import Target

MAX_FILES = 500
"""Modules followed; a larger program's hot files are still found by the sampling profiler."""


def user_files(target: Target) -> tuple[Path, ...]:
    """The script, and the modules it imports from its own folder, directly or not.

    Found from the text alone, the script first. Files that cannot be read or parsed are in the
    answer (the program may import them) but not followed.
    """
    base = target.cwd if target.module is not None else target.script.parent
    found: dict[Path, None] = {}
    todo = [target.script]
    while todo and len(found) < MAX_FILES:
        path = todo.pop()
        if path in found:
            continue
        found[path] = None
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        todo += [module for module in _imported(tree, path, base) if module not in found]
    return tuple(found)


def _imported(tree: ast.Module, path: Path, base: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(base, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            folder = base
            if node.level:
                folder = path.parent
                for _ in range(node.level - 1):
                    folder = folder.parent
            parts = node.module.split(".") if node.module else []
            yield from _files(folder, parts)
            for alias in node.names:
                yield from _files(folder, [*parts, alias.name])


def _files(folder: Path, parts: list[str]) -> Iterator[Path]:
    """The files that importing ``a.b.c`` runs: ``a/__init__.py``, ``a/b/__init__.py``, .."""
    for part in parts:
        module = folder / f"{part}.py"
        folder = folder / part
        if (folder / "__init__.py").is_file():
            yield folder / "__init__.py"
        elif module.is_file():
            yield module
            return
        elif not folder.is_dir():
            return
