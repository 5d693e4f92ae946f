"""Large data of a module that a held call cannot reach, and that need not be compared after it.

::

    stars = make_stars(400_000)
    flat = smooth(grid, 60)         # no function mentions ``stars``

An object can be changed only by code that gets hold of it. Where a global's name is the one
reference to it, that takes code which mentions the name, or looks through namespaces. So data are
left out if nothing else refers to them, no function of the program mentions their name (whichever
is called, by name, as a method, a callback or a hook), nor does the held statement, and no code at
all looks through namespaces. A rewrite that does mention it is not tried here: the whole script
tells.

Part of an attempt's process: see ``attempt``.
"""

# pathlib would be one more module that the program has not imported itself
# ruff: noqa: PTH120

from __future__ import annotations

import ast
import dis
import os
import re
import sys
import types
from _weakref import getweakrefcount
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import rebuild
from .states_api import Held, HeldCall

LARGE = 128
"""Entries from which on it pays to leave data out."""
_NAMED = {"probe": [0]}
ALONE = sys.getrefcount(_NAMED["probe"])
"""What ``getrefcount`` says of an object that only a namespace refers to."""
REFLECTION = frozenset(
    {
        *("globals", "locals", "vars", "dir", "eval", "exec", "compile", "getattr", "setattr"),
        *("delattr", "attrgetter", "methodcaller", "modules", "_getframe", "_current_frames"),
        *("currentframe", "settrace", "setprofile", "gc", "inspect", "ctypes", "pickle", "dill"),
        *("cloudpickle", "marshal", "importlib", "runpy", "import_module", "__import__"),
        *("__main__", "__dict__", "__globals__", "__builtins__", "__getattribute__", "f_globals"),
        *("f_locals", "f_back", "tb_frame", "gi_frame", "__array_interface__", "resolve_name"),
    }
)
"""Words of code that may get at a global without its name."""
Hidden = Mapping[str, frozenset[str]]
"""Names of globals by file."""


def unreached(
    state: Held, namespaces: Mapping[str, dict[str, Any]], originals: Mapping[str, bytes]
) -> Hidden:
    """Large globals that the original cannot reach from a held state."""
    large = {path: frozenset(_large(space)) for path, space in namespaces.items()}
    if not any(large.values()) or _other_modules(state, namespaces):
        return {}
    words = mentioned(state, originals)
    if words.reflects:
        return {}
    return {path: found - words.names for path, found in large.items()}


def reaches_for(
    state: Held, originals: Mapping[str, bytes], changed: Mapping[str, bytes], hidden: Hidden
) -> tuple[str, str] | None:
    """What a rewrite can reach of ``hidden``, as the status and the reason of an attempt.

    An attribute of that name is most likely one of something else.
    """
    left_out = frozenset().union(*hidden.values())
    if not (left_out and changed):
        return None
    words = mentioned(state, {**originals, **changed}, originals[state.file])
    for names, status in ((words.loaded, "crashed"), (words.names, "unavailable")):
        if words.reflects or left_out & names:
            what = "a namespace" if words.reflects else min(left_out & names)
            return status, f"the rewrite reaches {what}, the original does not"
    return None


@dataclass(frozen=True)
class Words:
    """What code names."""

    names: frozenset[str]
    """Globals, attributes and texts of what may run in a call."""
    loaded: frozenset[str]
    """The globals among them."""
    reflects: bool
    """Something looks through namespaces, if only as a module is imported: ``g = globals()``."""


def mentioned(state: Held, texts: Mapping[str, bytes], before: bytes | None = None) -> Words:
    """Words in all functions of some files, and in a held statement.

    ``before``: the text of the held file that a changed one has replaced.
    """
    found = [words_of(text) for text in texts.values()]
    if not isinstance(state, HeldCall):
        new = texts[state.file]
        setup, original, candidate = rebuild.statements(before or new, new, state.line)
        module = ast.Module([*setup, *original, *candidate], [])
        found.append(_words(rebuild.compiled(module, "<unreached>"), at_top=True))
    return Words(
        frozenset().union(*(words.names for words in found)),
        frozenset().union(*(words.loaded for words in found)),
        any(words.reflects for words in found),
    )


@lru_cache(maxsize=64)
def words_of(text: bytes) -> Words:
    """Words in the functions of a file."""
    return _words(rebuild.compiled(text, "<unreached>"), at_top=False)


def _words(module: types.CodeType, *, at_top: bool) -> Words:
    """Words in the functions of a module, or a part of one; ``at_top``: outside of them as well."""
    outside = frozenset(_named(module))
    codes = [code for codes in rebuild.code_index(module).values() for code in codes]
    codes += [module] if at_top else []
    names = frozenset(word for code in codes for word in _named(code))
    loaded = frozenset(name for code in codes for name in _loaded(code))
    return Words(names, loaded, not REFLECTION.isdisjoint(names | outside))


def _loaded(code: types.CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if "GLOBAL" in step.opname or step.opname.endswith("_NAME"):
            yield step.argval


def _named(code: types.CodeType) -> Iterator[str]:
    """Global names, attributes and texts of a piece of code, not its local variables."""
    yield from code.co_names
    yield from _texts(code.co_consts)


def _texts(constants: Iterable[Any]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str) and " " not in constant:
            yield from re.split(r"\W+", constant)  # mock.patch("program.stars")
        elif isinstance(constant, tuple | frozenset):
            yield from _texts(constant)


def _other_modules(state: Held, namespaces: Mapping[str, Any]) -> bool:
    """Whether a module of the user's is loaded whose text is not known here."""
    folder = os.path.dirname(state.module_file) + os.sep
    known = {id(space) for space in namespaces.values()}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if type(file) is not str or not file.startswith(folder) or "site-packages" in file:
            continue
        if id(module.__dict__) not in known:
            return True
    return False


def _large(space: dict[str, Any]) -> Iterator[str]:
    """Names of much data, each the one reference to what it stands for."""
    np = sys.modules.get("numpy")
    kinds: Collection[type] = (list, tuple, dict, set, frozenset, deque)
    for name in list(space):
        kind = type(space[name])
        if kind in kinds:
            many = len(space[name]) >= LARGE
        else:
            many = np is not None and kind is np.ndarray and space[name].size >= LARGE
        if not many or name.startswith("__") or sys.getrefcount(space[name]) != ALONE:
            continue
        if getweakrefcount(space[name]) == 0:
            yield name
