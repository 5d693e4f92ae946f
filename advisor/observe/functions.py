"""From a frame back to the call: its function object and its arguments."""

from __future__ import annotations

import gc
import types
from collections.abc import Mapping
from typing import Any

from .lookup import MISSING, attribute
from .values import unwrap


def call_arguments(frame: types.FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call whose body has not begun, so that ``function(*args, **kwargs)``
    repeats it. Arguments that the function's default values stand for are given explicitly.
    """
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    positional = code.co_argcount
    keyword = code.co_kwonlyargcount
    args = tuple(values[name] for name in names[:positional])
    kwargs = {name: values[name] for name in names[positional : positional + keyword]}
    rest = positional + keyword
    if code.co_flags & 0x04:  # CO_VARARGS
        args += tuple(values[names[rest]])
        rest += 1
    if code.co_flags & 0x08:  # CO_VARKEYWORDS
        kwargs.update(values[names[rest]])
    return args, kwargs


def live_function(frame: types.FrameType) -> types.FunctionType | None:
    """The function object that a frame runs; None where it cannot be told for certain."""
    code = frame.f_code
    named = _by_name(code, frame.f_globals)
    if named is not None:
        return named
    found = [
        function
        for function in gc.get_referrers(code)
        if type(function) is types.FunctionType
        and function.__code__ is code
        and function.__globals__ is frame.f_globals
        and _same_cells(function, frame.f_locals)
    ]
    return found[0] if found else None


def _by_name(code: types.CodeType, namespace: Mapping[str, Any]) -> types.FunctionType | None:
    """A module's function or a method, found by its qualified name."""
    root, *rest = code.co_qualname.split(".")
    value = namespace.get(root, MISSING)
    for name in rest:
        if not issubclass(type(value), type):
            return None
        value = attribute(value, name)
    inner = unwrap(value)
    if type(inner) is types.FunctionType and inner.__code__ is code and not inner.__closure__:
        return inner
    return None


def _same_cells(function: types.FunctionType, values: Mapping[str, Any]) -> bool:
    """Whether a closure's cells hold what the frame sees under those names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:  # an empty cell
            content = MISSING
        if content is not values.get(name, MISSING):
            return False
    return True
