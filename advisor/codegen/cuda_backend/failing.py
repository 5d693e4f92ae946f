"""Exceptions that the loops may raise: a kernel cannot, so it notes that one is due.

The kernel works on copies. Where Python would raise, it sets ``failed[0]``; the host then throws
the copies away and runs the loop in Python, which raises what it did, with everything as it was.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...loopnest.ir import While
from ...loopnest.ir import statements as all_statements
from ..nb_bounded import KEY as BOUNDED
from ..nb_state import State, TextEdit
from ..nb_text import DOMAIN_TESTS, LEVEL
from ..nb_values import Unsupported
from .plan import Launch

_NOTE = f"{LEVEL}{LEVEL}failed[0] = 1\n"
_INFINITE = "if result - result != 0.0 and x - x == 0.0:"
DIVISOR = "divisor"
"""Key of the function that looks at a divisor."""


def may_fail(state: State) -> bool:
    """Whether Python may raise in the loop."""
    return bool(state.may_raise or state.checked or state.division.python)


def refuse_others(state: State, kernels: list[Launch]) -> None:
    """Raise Unsupported for exceptions that cannot be noted in time."""
    line = state.region.loop.lineno
    if state.unchecked is not None:
        text = f"`{ast.unparse(state.unchecked)}` may be out of bounds"
        raise Unsupported(text, state.unchecked.lineno)
    if BOUNDED in state.checked:
        raise Unsupported("a Python int may outgrow 64 bits", line)
    if any(key.startswith("complex") for key in state.checked):
        raise Unsupported("complex numbers may overflow, which raises", line)
    if not may_fail(state):
        return
    for kernel in kernels:
        for statement in all_statements(kernel.body):
            if isinstance(statement, While):
                # after 1 / 0 a kernel goes on with inf, and the loop may never end
                text = "an exception cannot leave a kernel, and its while loop may hang on it"
                raise Unsupported(text, statement.line)


def note_failures(state: State, functions: Mapping[str, str], flag: str) -> None:
    """Edits that hand the flag to the functions which look. Raises Unsupported.

    ``functions``: key of a checked function, or ``DIVISOR``, -> its name.
    """
    inside = {id(node) for node in ast.walk(state.region.loop)}
    for divisor in state.division.python:
        if id(divisor) not in inside:
            raise Unsupported("a function called in the loop may divide by zero", divisor.lineno)
        state.wrap(divisor, f"{functions[DIVISOR]}(", f", {flag})")
    source, found = state.source, 0
    for node in ast.walk(state.region.loop):
        match node:
            case ast.Call(func=func):
                start, end = source.span(func)
                name = f"\0fn.{_checked_name(state, start, end)}"
                if any(e.start == start and e.end == end and e.text == name for e in state.edits):
                    at = source.span(node)[1] - 1
                    state.edits.add(TextEdit(at, 0, at, f", {flag}"))
                    found += 1
            case ast.BinOp(op=ast.Pow()):
                start, end = source.span(node)
                if any(e.start == start and e.text == "\0fn.power(" for e in state.edits):
                    order = end - start - 10**9 - 1  # inside the closing parenthesis
                    state.edits.add(TextEdit(end, order, end, f", {flag}"))
                    found += 1
    if found != sum(e.text.startswith("\0fn.") for e in state.edits):
        raise Unsupported("a function called in the loop may raise", state.region.loop.lineno)


def _checked_name(state: State, start: int, end: int) -> str:
    for edit in state.edits:
        if (edit.start, edit.end) == (start, end) and edit.text.startswith("\0fn."):
            return edit.text.removeprefix("\0fn.")
    return ""


def looking(key: str, name: str, spelled: str, decorator: str) -> str:
    """A device function that computes what ``spelled`` does and notes what Python would raise."""
    head = f"{decorator}\ndef {name}"
    if key == DIVISOR:
        return (
            f'{head}(x, failed):\n    """x, which is divided by; 0 is a ZeroDivisionError."""\n'
            f"    if x == 0:\n{_NOTE}    return x\n"
        )
    if key == "power":
        return (
            f'{head}(x, y, failed):\n    """x ** y, and a note where Python raises."""\n'
            f"    result = x**y\n    if x == 0.0 and y < 0.0:\n{_NOTE}"
            f"    {_INFINITE}\n{_NOTE}    return result\n"
        )
    tests = dict.fromkeys(("sin", "cos", "tan"), "x - x != 0.0 and x == x") | DOMAIN_TESTS
    doc = f'    """{spelled}(x), and a note where Python raises."""\n'
    if key in tests:
        return f"{head}(x, failed):\n{doc}    if {tests[key]}:\n{_NOTE}    return {spelled}(x)\n"
    return (
        f"{head}(x, failed):\n{doc}    result = {spelled}(x)\n"
        f"    {_INFINITE}\n{_NOTE}    return result\n"
    )
