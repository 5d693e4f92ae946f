"""Which inputs of a held state a perturbation may change, found the same way on both sides.

A slot is one input: a number, an array, a list of numbers, a list of other things, a frame of
pandas, or a column of one. The names that a call or statement reads come from the *original* text,
so that the original and a candidate find the same slots in the same order.

What the program's text proves is left alone, as a rewrite may rest on it: ``RATE = 0.1`` at top
level and never bound again is part of the program, not an input. A loop at module level stands
behind statements that prove more (``out = np.zeros(n)``): see ``perturb_text``.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from . import capture, perturb_frames, perturb_text, rebuild
from .states_api import Held, HeldCall

MAX_SLOTS = 24
"""Inputs looked at; the arguments come first."""
MAX_CHILDREN = 4
"""Elements of a tuple, list or dict of other things that are inputs of their own."""
MAX_DEPTH = 3
MIN_TEXT = 16
"""Characters of a text that is data; such a text also holds a space."""
MAX_NUMBERS = 400_000
"""Numbers in nested lists that are looked at; longer ones are not inputs here."""
NUMBERS = (bool, int, float, complex)

HAZARDS = {
    "os": ("kill", "killpg", "fork", "forkpty", "system", "popen", "dup2", "closerange", "_exit"),
    "signal": ("alarm", "setitimer", "pthread_kill"),
    "subprocess": ("Popen", "run", "call", "check_call", "check_output"),
    "shutil": ("rmtree",),
    "resource": ("setrlimit",),
    "ctypes": ("CDLL", "memmove", "memset"),
    "socket": ("socket", "create_connection"),
}
"""What makes another input dangerous: ``os.kill(pid, 9)`` with another pid."""


@dataclass(frozen=True)
class Slot:
    """One input of a held state."""

    name: str
    """As the program's author would call it: ``x``, ``self.grid``, ``points[0]``."""
    kind: str
    """``number``, ``array``, ``numbers`` (a list or tuple of numbers, nested or not), ``items``,
    ``text`` (that is data, not a name), ``frame``, ``column`` (of a frame, or a series)."""
    get: Callable[[], Any]
    put: Callable[[Any], None]
    free: bool = True
    """False: only sizes may change, and together with all others."""
    whole: bool = True
    """False: a column, which is as long as its frame."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as far as they are regular; () of a number, and of what is part of another."""
        return extents(self.get()) if self.whole else ()


@dataclass(frozen=True)
class Inputs:
    """All inputs of a state, and how to run it with what they have become."""

    slots: tuple[Slot, ...]
    at_top: bool
    """A module-level statement: the text before it proves types, layout and sharing."""
    state: Callable[[], Held]
    """The state with the present values."""
    literals: frozenset[int]
    """Whole numbers in the module's text."""
    constants: tuple[float, ...] = ()
    """Numbers in what is read."""


def numpy_loaded() -> Any:
    """NumPy, if the program has it."""
    return sys.modules.get("numpy")


def is_number(value: Any) -> bool:
    """A plain Python number or a NumPy scalar."""
    np = numpy_loaded()
    if type(value) in NUMBERS:
        return True
    return np is not None and isinstance(value, np.generic) and value.dtype.kind in "biufc"


def extents(value: Any) -> tuple[int, ...]:
    """Shape of an array or a regular nesting of lists."""
    np = numpy_loaded()
    if np is not None and isinstance(value, np.ndarray):
        return tuple(value.shape)
    if perturb_frames.is_frame(value):
        return (len(value),)
    if not isinstance(value, list | tuple):
        return ()
    if not value or not all(isinstance(row, list | tuple) for row in value):
        return (len(value),)
    below = {extents(row) for row in value}
    return (len(value), *(below.pop() if len(below) == 1 else ()))


def kind_of(value: Any) -> str | None:
    """The kind of slot that holds such a value; None if it is not an input."""
    np = numpy_loaded()
    if is_number(value):
        return "number"
    if np is not None and type(value) is np.ndarray:
        return "array" if value.dtype.kind in "biufc" and value.ndim > 0 else None
    if type(value) is str:
        # Not names of files or modes: open(name, "w") with another name makes another file.
        return "text" if len(value) >= MIN_TEXT and len(value.split()) > 1 else None
    if type(value) not in (list, tuple):
        return "frame" if perturb_frames.is_frame(value) else None
    left = [MAX_NUMBERS]
    if _all_numbers(value, 3, left):
        return "numbers"
    return "items" if type(value) is list and left[0] > 0 else None


def _all_numbers(value: Any, depth: int, left: list[int]) -> bool:
    left[0] -= len(value)
    if left[0] < 0:
        return False
    if all(map(is_number, value)):
        return True
    if depth == 1 or not all(type(row) in (list, tuple) for row in value):
        return False
    return all(_all_numbers(row, depth - 1, left) for row in value)


# ------------------------------------------------------------------ what is read
def names_read(text: bytes, wanted: str | None, statement: ast.stmt | None = None) -> set[str]:
    """Names and attributes that a function (by qualified name) or a statement may read.

    Those of all functions of the file that it may call, by name, included.
    """
    index = rebuild.code_index(rebuild.compiled(text, "<perturbed>"))
    by_last: dict[str, list[types.CodeType]] = {}
    for name, codes in index.items():
        by_last.setdefault(name.rpartition(".")[2], []).extend(codes)
    found: set[str] = set()
    if wanted is not None:
        pending = [name for code in index.get(wanted, ()) for name in _mentioned(code)]
    else:
        nodes = () if statement is None else ast.walk(statement)
        names = [getattr(n, "id", None) or getattr(n, "attr", None) for n in nodes]
        pending = [name for name in names if name]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        for code in by_last.get(name, ()):
            pending.extend(_mentioned(code))
    return found


def _mentioned(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _mentioned(constant)


def _dangers(tree: ast.Module, read: set[str]) -> Iterator[str]:
    """Names of ``HAZARDS`` that may be called; a variable ``kill`` is none."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in read:
                if name in HAZARDS.get(module, ()):
                    yield f"{module}.{name}"
            case ast.ImportFrom(module=str(module), names=names):
                found = {alias.name for alias in names} & set(HAZARDS.get(module, ()))
                yield from (f"{module}.{name}" for name in found & read)


# ----------------------------------------------------------------------- slots
class _Finder:
    """Walks from the roots to the inputs below them."""

    def __init__(self, read: set[str], modules: frozenset[str], texts: Collection[str]) -> None:
        self.read, self.modules, self.texts = read, modules, texts
        self.slots: list[Slot] = []
        self.seen: dict[int, int] = {}

    def visit(
        self, name: str, get: Callable[[], Any], put: Callable[[Any], None], depth: int, free: bool
    ) -> None:
        value = get()
        if len(self.slots) >= MAX_SLOTS or depth > MAX_DEPTH:
            return
        if perturb_frames.is_numbers(value):
            self.slots.append(Slot(name, "column", *perturb_frames.series(get, put), free))
            return
        kind = kind_of(value)
        if kind in ("array", "numbers", "items", "frame") and id(value) in self.seen:
            self._also(self.seen[id(value)], put)
            return
        if kind is not None:
            self.seen[id(value)] = len(self.slots)
            self.slots.append(Slot(name, kind, get, put, free))
        if kind == "frame":
            self._columns(name, get, free)
        if kind in (None, "items"):
            self._below(name, value, put, depth, free)

    def _columns(self, name: str, get: Callable[[], Any], free: bool) -> None:
        frame = get()
        for at in perturb_frames.columns_of(frame, self.texts):
            if len(self.slots) < MAX_SLOTS:
                label = f"{name}[{frame.columns[at]!r}]"
                access = perturb_frames.column(get, at)
                self.slots.append(Slot(label, "column", *access, free, whole=False))

    def _also(self, position: int, put: Callable[[Any], None]) -> None:
        """One object under two names stays one object."""
        slot = self.slots[position]

        def both(value: Any, first: Callable[[Any], None] = slot.put) -> None:
            first(value)
            put(value)

        self.slots[position] = replace(slot, put=both)

    def _below(
        self, name: str, value: Any, put: Callable[[Any], None], depth: int, free: bool
    ) -> None:
        if id(value) in self.seen and kind_of(value) is None:
            return
        self.seen.setdefault(id(value), -1)
        if type(value) is tuple:
            held = list(value)
            for at in range(min(len(held), MAX_CHILDREN)):
                self._in_tuple(name, held, at, put, depth, free)
        elif type(value) is list:
            for at in range(min(len(value), MAX_CHILDREN)):
                self.visit(f"{name}[{at}]", *_item(value, at), depth + 1, free)
        elif type(value) is dict:
            for key in list(value)[:MAX_CHILDREN]:
                self.visit(f"{name}[{key!r}]", *_item(value, key), depth + 1, free)
        elif type(value).__module__ in self.modules:
            for key in self._attributes(value):
                self.visit(f"{name}.{key}", *_attribute(value, key), depth + 1, free)

    def _in_tuple(
        self,
        name: str,
        held: list[Any],
        at: int,
        put: Callable[[Any], None],
        depth: int,
        free: bool,
    ) -> None:
        # A tuple is replaced as a whole; what its other inputs have become is kept in ``held``.
        def put_part(new: Any) -> None:
            held[at] = new
            put(tuple(held))

        def get_part() -> Any:
            return held[at]

        self.visit(f"{name}[{at}]", get_part, put_part, depth + 1, free)

    def _attributes(self, value: Any) -> list[str]:
        own = getattr(value, "__dict__", None)
        names = list(own) if type(own) is dict else []
        names += [name for name in capture.slots(type(value)) if hasattr(value, name)]
        return [name for name in dict.fromkeys(names) if name in self.read]


def _item(holder: Any, key: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def get() -> Any:
        return holder[key]

    def put(new: Any) -> None:
        # a list may have become shorter since
        if not isinstance(holder, list) or key < len(holder):
            holder[key] = new

    return get, put


def _attribute(holder: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    own = getattr(holder, "__dict__", None)
    if type(own) is dict and name in own:
        return _item(own, name)
    return lambda: getattr(holder, name), lambda new: object.__setattr__(holder, name, new)


def inputs_of(state: Held, text: bytes, modules: Iterable[str]) -> Inputs | str:
    """The inputs of a state, or why it is not to be perturbed.

    ``text``: the original source of the held file; ``modules``: names of the user's modules.
    """
    tree = ast.parse(text)
    if isinstance(state, HeldCall):
        read = names_read(text, state.qualname)
        kept = perturb_text.constants(text)
    else:
        statements, position = rebuild.find_statement(tree, state.line)[-1]
        read = names_read(text, None, statements[position])
        kept = perturb_text.proved_at_top(tree, state.line)
    danger = sorted(_dangers(tree, read))
    if danger:
        return f"the code mentions {danger[0]}"
    finder = _Finder(read, frozenset(modules), read | perturb_text.texts(tree))
    if not isinstance(state, HeldCall):
        _globals(finder, state.namespace, read, kept, at_top=True)
        return Inputs(
            tuple(finder.slots),
            True,
            lambda: state,
            perturb_text.whole_numbers(tree),
            perturb_text.numbers_in(tree, read),
        )
    args, kwargs = list(state.args), dict(state.kwargs)
    names = _parameters(text, state)
    for at in range(len(args)):
        name = names[at] if at < len(names) else f"argument {at + 1}"
        finder.visit(name, *_item(args, at), 0, True)
    for key in kwargs:
        finder.visit(key, *_item(kwargs, key), 0, True)
    _cells(finder, state)
    _globals(finder, state.namespace, read, kept, at_top=False)
    return Inputs(
        tuple(finder.slots),
        False,
        lambda: replace(state, args=tuple(args), kwargs=dict(kwargs)),
        perturb_text.whole_numbers(tree),
        perturb_text.numbers_in(tree, read | {state.qualname.rpartition(".")[2]}),
    )


def _parameters(text: bytes, state: HeldCall) -> tuple[str, ...]:
    index = rebuild.code_index(rebuild.compiled(text, "<perturbed>"))
    codes = index.get(state.qualname, ())
    return codes[0].co_varnames[: codes[0].co_argcount] if codes else ()


def _cells(finder: _Finder, state: HeldCall) -> None:
    cells = getattr(state.function, "__closure__", None) or ()
    code = getattr(state.function, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            value = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
        if isinstance(value, types.FunctionType | type):
            continue
        finder.visit(name, *_cell(cell), 0, True)


def _cell(cell: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def put(new: Any) -> None:
        cell.cell_contents = new

    return lambda: cell.cell_contents, put


def _globals(
    finder: _Finder,
    namespace: dict[str, Any],
    read: set[str],
    kept: Iterable[str],
    *,
    at_top: bool,
) -> None:
    for name in sorted(read):
        if name not in namespace or name.startswith("__"):
            continue
        if not at_top and name in kept:
            continue
        # At top level a number has what the assignment before says: n = len(a), half = width // 2.
        free = not at_top or (name not in kept and not is_number(namespace[name]))
        finder.visit(name, *_item(namespace, name), 0, free)
