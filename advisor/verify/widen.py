"""A copy of a held state in which floating-point numbers are one size wider.

The original, run on it, gives a more exact result: a reference that tells rounding of the original
from rounding of a rewrite. float32 becomes float64, float64 and Python's float become
``numpy.longdouble``. Everything happens in a process that ends afterwards, so names of NumPy and of
``math`` are replaced in place: what the program makes itself, ``np.zeros(n)`` or ``math.exp(x)``,
must be wide as well, or the reference would be rounded like the original.
"""

from __future__ import annotations

import contextlib
import math
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .describe import attributes, only_attributes
from .states_api import Held, HeldCall

NODE_LIMIT = 1_000_000
"""Objects that are looked at; beyond it there is no wider run."""
MATH = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "fabs", "pow"),
    *("atan2", "hypot"),
)
_UFUNCS = {"fabs": "abs", "pow": "power", "atan2": "arctan2"} | {
    name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")
}
_NAMES = (("float64", "longdouble"), ("complex128", "clongdouble"), ("float32", "float64"))
_MAKERS = ("zeros", "ones", "empty", "full", "array", "asarray", "arange", "linspace", "eye")


class Impossible(Exception):
    """The state cannot be made wider, and why."""


def widened(state: Held, namespaces: Iterable[dict[str, Any]]) -> Held:
    """The state with wider numbers, where they can be; its containers are changed in place.

    Raises Impossible.
    """
    np: Any = sys.modules.get("numpy")
    if np is None:
        import numpy as np
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        raise Impossible("this machine has no floats wider than 64 bits")
    np.seterr(all="ignore")
    swaps = {**_replace_math(np), **_replace_numpy(np)}
    widener = _Widener(np, swaps)
    if isinstance(state, HeldCall):
        for cell in getattr(state.function, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                cell.cell_contents = widener.value(cell.cell_contents)
        args = tuple(widener.value(item) for item in state.args)
        kwargs = {name: widener.value(item) for name, item in state.kwargs.items()}
        state = replace(state, args=args, kwargs=kwargs)
    for space in namespaces:
        for name, item in list(space.items()):
            if not name.startswith("__"):
                space[name] = widener.value(item)
        space.setdefault("float", _float_of(np))
    return state


class _Widener:
    """Replaces numbers in containers, each container once."""

    def __init__(self, np: Any, swaps: Mapping[int, Any]) -> None:
        self.np, self.swaps = np, swaps
        self.seen: dict[int, Any] = {}
        self.alive: list[Any] = []
        self.wider = {
            np.dtype(old): np.dtype(new)
            for old, new in (
                *(("f2", "f4"), ("f4", "f8"), ("f8", np.longdouble)),
                *(("c8", "c16"), ("c16", np.clongdouble)),
            )
        }

    def value(self, thing: Any) -> Any:
        kind = type(thing)
        if kind is float:
            return self.np.longdouble(thing)
        if kind is complex:
            return self.np.clongdouble(thing)
        if id(thing) in self.swaps:
            return self.swaps[id(thing)]
        if thing is None or kind in (int, bool, str, bytes, type) or isinstance(thing, type):
            return thing
        if isinstance(thing, self.np.generic):
            wide = self.wider.get(thing.dtype)
            return thing if wide is None else wide.type(thing)
        if id(thing) in self.seen:
            return self.seen[id(thing)]
        if len(self.alive) >= NODE_LIMIT:
            raise Impossible("the state has too many objects")
        self.alive.append(thing)
        self.seen[id(thing)] = thing
        new = self.container(thing, kind)
        self.seen[id(thing)] = new
        return new

    def container(self, thing: Any, kind: type) -> Any:
        if isinstance(thing, self.np.ndarray):
            return self.array(thing)
        if issubclass(kind, list | deque):
            for position, item in enumerate(list(thing)):
                thing[position] = self.value(item)
        elif issubclass(kind, tuple):
            items = [self.value(item) for item in thing]
            same = all(a is b for a, b in zip(items, thing, strict=True))
            return thing if same else tuple.__new__(kind, items)
        elif issubclass(kind, dict):
            for key, item in list(dict.items(thing)):
                dict.__setitem__(thing, key, self.value(item))
        elif kind.__module__ == "array" and getattr(thing, "typecode", "") in "fd":
            raise Impossible("an array.array has no wider floats")
        if not isinstance(thing, types.ModuleType | types.FunctionType) and only_attributes(kind):
            for name, item in list(attributes(thing)):
                with contextlib.suppress(AttributeError, TypeError):
                    object.__setattr__(thing, name, self.value(item))
        return thing

    def array(self, thing: Any) -> Any:
        if thing.dtype.hasobject:
            flat = thing.reshape(-1)
            if flat.base is not thing and flat is not thing:
                raise Impossible("an array of objects is not contiguous")
            for position, item in enumerate(flat):
                flat[position] = self.value(item)
            return thing
        wide = self.wider.get(thing.dtype)
        if wide is None or type(thing) is not self.np.ndarray:
            if wide is not None:
                raise Impossible(f"{type(thing).__name__} is an array class of its own")
            return thing
        base = thing.base
        if not isinstance(base, self.np.ndarray):
            return self.owner(thing, wide)
        if base.dtype != thing.dtype or type(base) is not self.np.ndarray:
            raise Impossible("an array looks at another one as another type")
        if not thing.size:
            return self.np.empty(thing.shape, wide)
        # A view stays a view, on the same elements: all wider types are twice as large.
        start = thing.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        view = self.view(self.value(base), thing, wide, 2 * start)
        if not thing.flags.writeable:
            view.flags.writeable = False
        return view

    def view(self, whole: Any, thing: Any, wide: Any, start: int) -> Any:
        interface = {
            "shape": thing.shape,
            "typestr": wide.str,
            "strides": tuple(2 * step for step in thing.strides),
            "data": (whole.__array_interface__["data"][0] + start, False),
            "version": 3,
        }
        holder = types.SimpleNamespace(__array_interface__=interface, whole=whole)
        return self.np.asarray(holder)

    def owner(self, thing: Any, wide: Any) -> Any:
        new = thing.astype(wide, order="K")
        if [2 * step for step in thing.strides] != list(new.strides) and thing.size:
            raise Impossible("an array has a layout of its own")
        if not thing.flags.writeable:
            new.flags.writeable = False
        return new


# --------------------------------------------------------------------- names
def _float_of(np: Any) -> Any:
    """What ``float`` is to the program: converts to the wide type, and is a dtype."""

    class Meta(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, float | np.longdouble)

        def __getattr__(cls, name: str) -> Any:
            return getattr(float, name)

    class Float(metaclass=Meta):
        dtype = np.dtype(np.longdouble)

        def __new__(cls, value: Any = 0.0) -> Any:
            return np.longdouble(value if isinstance(value, np.generic) else float(value))

    return Float


def _replace_math(np: Any) -> dict[int, Any]:
    """``math.exp`` of a wide number is a wide number; returns old -> new, by identity."""
    swaps: dict[int, Any] = {}
    for name in MATH:
        old: Any = getattr(math, name, None)
        if old is not None:
            new = _wide_function(old, getattr(np, _UFUNCS.get(name, name)), np)
            swaps[id(old)] = new
            setattr(math, name, new)
    return swaps


def _wide_function(old: Callable[..., Any], ufunc: Any, np: Any) -> Callable[..., Any]:
    longdouble, arguments, finite = np.longdouble, ufunc.nin, math.isfinite

    def wide(*args: Any) -> Any:
        # math.log(x, base), and numbers that are not wide, are what they were.
        if len(args) != arguments or longdouble not in map(type, args):
            return old(*args)
        result = ufunc(*(longdouble(x) for x in args))
        # Where ``math`` raises an exception, it shall.
        return result if finite(result) else longdouble(old(*args))

    return wide


def _replace_numpy(np: Any) -> dict[int, Any]:
    """Types and functions of NumPy by which a program asks for 64 (32) bits."""
    swaps: dict[int, Any] = {}
    wider = {np.dtype(np.float64): np.longdouble, np.dtype(np.float32): np.float64}
    wider |= {np.dtype(np.complex128): np.clongdouble, np.dtype(np.complex64): np.complex128}
    for name in _MAKERS:
        old = getattr(np, name)
        new = _wide_maker(old, wider, np)
        swaps[id(old)] = new
        setattr(np, name, new)
    originals = {name: getattr(np, name) for pair in _NAMES for name in pair}
    for narrow, wide in _NAMES:
        swaps[id(originals[narrow])] = originals[wide]
        setattr(np, narrow, originals[wide])
    return swaps


def _wide_maker(old: Callable[..., Any], wider: Mapping[Any, Any], np: Any) -> Callable[..., Any]:
    def make(*args: Any, **named: Any) -> Any:
        positional = len(args) > 1 and old.__name__ in ("zeros", "ones", "empty", "array")
        asked = args[1] if positional else named.get("dtype")
        if asked is not None:
            # np.float32 is np.float64 by now, and the dtype of wide data is wide.
            wide = wider.get(np.dtype(asked), asked) if isinstance(asked, str) else asked
            if positional:
                return old(args[0], wide, *args[2:], **named)
            return old(*args, **{**named, "dtype": wide})
        made = old(*args, **named)
        # Data of the program's own keep their identity; np.array([0.1, 0.2]) is made here.
        wide = wider.get(made.dtype) if made.dtype == np.dtype("f8") else None
        return made if wide is None else made.astype(wide)

    return make
