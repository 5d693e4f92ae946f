"""What a call can change in its process beside objects: settings that later code works under.

Each is written down before and after the call; those that the call changed are compared. What is
already different when the call begins (a rewrite may import a package that adds a warnings
filter) is not the call's doing.
"""

from __future__ import annotations

import _locale as _locale_of_process
import os
import signal
import sys
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

Settings = Mapping[str, Any]
FUNCTIONS = "functions of libraries"
COMPILERS = frozenset({"numba", "llvmlite", "gpuadvise", "scalene", "line_profiler", "__main__"})
"""Packages that replace parts of themselves as they work."""
CHANGED_BY_COMPILING = ("numba", "numpy", "llvmlite")
"""A compiler that is first used in the call may import modules that add warnings filters."""


def snapshot(only: Collection[str] = ()) -> Settings:
    """The settings as they are now, as plain values; ``only``: these, if any are named."""
    found: dict[str, Any] = {}
    for name, look in _LOOKS.items():
        if only and name not in only:
            continue
        try:
            found[name] = look()
        except Exception as problem:  # a program may have replaced any of these by its own
            found[name] = f"unknown ({type(problem).__name__})"
    return found


def changed_since(before: Settings) -> dict[str, Any]:
    """Settings of ``before`` with another value now, with that value; of mappings, the entries that
    changed, None where one is gone."""
    found: dict[str, Any] = {}
    for name, value in snapshot(before.keys()).items():
        known = before.get(name)
        if known == value:
            continue
        if isinstance(known, dict) and isinstance(value, dict):
            keys = [k for k in {**known, **value} if known.get(k) != value.get(k)]
            value = {key: value.get(key) for key in sorted(keys)}
        found[name] = value
    replaced = _replaced_functions(before.get(FUNCTIONS), found.pop(FUNCTIONS, None))
    return {**found, FUNCTIONS: replaced} if replaced else found


def _replaced_functions(before: Any, after: Any) -> list[str]:
    """Names that stand for something else now; identities say nothing in another process."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    return [
        f"{module}.{name}"
        for module, now in after.items()
        if now is not None and module in before  # what is new was imported
        for name, known in before[module].items()
        if now.get(name) != known
    ]


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib may not be loaded
    except OSError:  # the program removed it
        return ""


def _filters() -> list[str]:
    warnings = sys.modules["warnings"]
    kept = []
    for action, message, category, module, line in warnings.filters:
        pattern = getattr(message, "pattern", message)
        where = getattr(module, "pattern", module)
        text = f"{action} {pattern} {category.__module__}.{category.__name__} {where} {line}"
        if not any(name in text for name in CHANGED_BY_COMPILING):
            kept.append(text)
    return kept


def _numpy_errors() -> Any:
    numpy: Any = sys.modules.get("numpy")
    return dict(numpy.geterr()) if numpy is not None else None


def _numpy_printing() -> Any:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return None
    return {name: repr(value) for name, value in numpy.get_printoptions().items()}


def _decimals() -> Any:
    decimal: Any = sys.modules.get("decimal")
    if decimal is None or repr(decimal.getcontext()) == repr(decimal.Context()):
        return None  # importing it, as argparse or a library may do in the call, changes nothing
    return repr(decimal.getcontext())


def _locale() -> Any:
    # of the process: ``locale``, which argparse imports when it is called, only looks at it
    return _locale_of_process.setlocale(_locale_of_process.LC_ALL)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _handlers() -> dict[str, str]:
    """Signal handlers by name: the functions are no data."""
    known = {}
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        known[str(int(number))] = str(getattr(handler, "__qualname__", handler))
    return known


def _threads() -> Any:
    threading: Any = sys.modules.get("threading")
    return threading.active_count() if threading is not None else 1


def _replaced() -> dict[str, str]:
    """Streams, hooks and built-in names that were replaced by others."""
    names = ("stdin", "stdout", "stderr", "excepthook", "displayhook")
    found = {name: type(getattr(sys, name, None)).__qualname__ for name in names}
    for name, value in vars(sys.modules["builtins"]).items():
        if name != "_":
            where = getattr(value, "__module__", "")
            known = getattr(value, "__qualname__", type(value).__qualname__)
            found[f"builtins.{name}"] = f"{where}.{known}"
    return found


def _functions() -> dict[str, dict[str, int]]:
    """Functions and classes of the loaded libraries, by identity.

    ``np.sum = my_sum`` changes what later code computes. Compilers replace parts of themselves.
    """
    return {
        name: {key: id(value) for key, value in vars(module).items() if callable(value)}
        for name, module in list(sys.modules.items())
        if type(module) is types.ModuleType and name.partition(".")[0] not in COMPILERS
    }


_LOOKS: Mapping[str, Callable[[], Any]] = {
    "working folder": _folder,
    "environment variables": lambda: dict(os.environ),
    "sys.path": lambda: [str(entry) for entry in sys.path],
    "recursion limit": sys.getrecursionlimit,
    "digits of integers": lambda: sys.get_int_max_str_digits(),
    "warnings filters": _filters,
    "NumPy error state": _numpy_errors,
    "NumPy print options": _numpy_printing,
    "decimal context": _decimals,
    "locale": _locale,
    "umask": _umask,
    "signal handlers": _handlers,
    "running threads": _threads,
    FUNCTIONS: _functions,
    "streams, hooks and built-ins": _replaced,
}

QUICK = frozenset(_LOOKS) - {FUNCTIONS, "streams, hooks and built-ins"}
"""Settings that are soon looked at. The others touch all modules: in a forked process, every page
that holds one is then copied."""
