"""What a call can reach, and change where somebody sees it afterwards.

Part of an attempt's process: see ``attempt``.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from . import capture
from .states_api import Held, HeldCall


class Files:
    """Where the user's files are in this process: live name of the code, namespace."""

    def __init__(self, state: Held, paths: Iterable[str]) -> None:
        root = state.module_file.removesuffix(state.file)
        live = {path: root + path for path in paths}
        live[state.file] = _live_name(state)
        self.filenames: Mapping[str, str] = live
        self.namespaces: dict[str, dict[str, Any]] = {state.file: state.namespace}
        by_file = {getattr(m, "__file__", None): m for m in list(sys.modules.values())}
        for path, name in live.items():
            module = by_file.get(name)
            if path != state.file and isinstance(module, types.ModuleType):
                self.namespaces[path] = module.__dict__


def _live_name(state: Held) -> str:
    if isinstance(state, HeldCall):
        code = getattr(state.function, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    return state.module_file


def state_roots(
    state: Held, files: Files, leave_out: Mapping[str, frozenset[str]] | None = None
) -> dict[str, Any]:
    """What a call can change and somebody can see afterwards.

    ``leave_out``: globals not to look at, by file.
    """
    hidden = leave_out or {}
    roots: dict[str, Any] = {
        "globals": _visible(state.namespace, hidden.get(state.file, frozenset())),
        "modules": {
            path: _visible(space, hidden.get(path, frozenset()))
            for path, space in files.namespaces.items()
            if path != state.file
        },
        "classes": {path: _class_data(space) for path, space in files.namespaces.items()},
    }
    if isinstance(state, HeldCall):
        roots["arguments"] = [*state.args, *state.kwargs.values()]
        cells = getattr(state.function, "__closure__", None) or ()
        roots["closure"] = [_cell(cell) for cell in cells]
    return roots


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _visible(namespace: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    return {
        name: value
        for name, value in list(namespace.items())
        if not (_dunder(name) or "gpuadvise" in name or name in hidden)
    }


def _dunder(name: str) -> bool:
    # __total = 0 is a variable of the program like any other.
    return name.startswith("__") and name.endswith("__")


def _class_data(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """What classes keep from call to call: counters, caches, defaults of their methods."""
    found: dict[str, Any] = {}
    pending = [(name, cls) for name, cls in list(namespace.items()) if isinstance(cls, type)]
    while pending:
        name, cls = pending.pop()
        if cls.__module__ != namespace.get("__name__"):
            continue
        found[name] = {
            key: getattr(value, "__func__", value)
            for key, value in vars(cls).items()
            if not (_dunder(key) or key == "_abc_impl") and not _descriptor(value)
        }
        inner = [(k, v) for k, v in vars(cls).items() if isinstance(v, type) and not _dunder(k)]
        pending += [(f"{name}.{k}", v) for k, v in inner if f"{name}.{k}" == v.__qualname__]
    return found


def _descriptor(value: Any) -> bool:
    """Slots, properties: not data. Methods are kept for their defaults, def f(self, seen=[])."""
    kept = (types.FunctionType, staticmethod, classmethod)
    cached = hasattr(value, "cache_info")
    return hasattr(type(value), "__get__") and not isinstance(value, kept) and not cached


def in_words(problem: BaseException) -> str:
    """Type and message of an exception, on one line."""
    text = str(problem)
    if type(problem).__module__.partition(".")[0] in ("numba", "numba_cuda"):
        text = _of_compiler(text)
    text = " ".join(text.split())
    return f"{type(problem).__name__}: {text[:300]}" if text else type(problem).__name__


def _of_compiler(text: str) -> str:
    """The reason and the place in numba's message, which is a page long."""
    lines = [line.strip() for line in text.splitlines()]
    reason: list[str] = []
    for line in lines:
        if line.startswith(("There are", "During:", 'File "')):
            break
        if line and not line.startswith("Failed in "):
            reason.append(line.removeprefix(">>> "))
    # below the line that numba could not compile stands a caret
    marked = [one for one, next_ in pairwise(lines) if next_ == "^"]
    numbers = [line.rpartition(" ")[2].rstrip(":") for line in lines if line.startswith('File "')]
    place = f", in `{marked[-1]}`" if marked else ""
    place += f" (line {numbers[-1]} of the new text)" if numbers else ""
    return " ".join(reason) + place


def described(problem: BaseException) -> list[Any]:
    """Type, arguments, attributes and causes of an exception; not where it was raised."""
    found: list[Any] = [capture.qualified(type(problem)), problem.args, *_details(problem)]
    seen = {id(problem)}
    cause: BaseException | None = problem
    while cause is not None:
        # What the traceback says between two exceptions.
        chained = "from" if cause.__cause__ is not None else "during"
        hidden = cause.__suppress_context__ and cause.__cause__ is None
        cause = cause.__cause__ or (None if hidden else cause.__context__)
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        found.append([chained, capture.qualified(type(cause)), cause.args, *_details(cause)])
    return found


def _details(problem: BaseException) -> list[Any]:
    """What the exception's own class keeps beside its arguments."""
    names = ("filename", "filename2", "errno", "name", "path", "value", "code")
    parts = {name: getattr(problem, name) for name in names if hasattr(problem, name)}
    return [parts, dict(problem.__dict__)]
