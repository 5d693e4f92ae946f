"""Which of the functions that a kernel calls are compiled into it.

A function that is compiled for itself costs the first run 70 to 100 ms however small it is: types,
LLVM, and an entry from Python and one from C that nobody uses. ``inline="always"`` puts its code
into the callers before that; the machine code hardly differs, as LLVM inlines it anyway. A copy of
a few statements costs 30 to 40 ms, so that three of them gain nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

COPIES, SMALL = 2, 6
"""As many copies are made of a function of so many statements; of a longer one only one."""


def folded(parts: Sequence[str], kernel: str) -> list[str]:
    """The functions of ``parts``, each a decorator and a function, callees before their callers.

    No number is seen by that which was not seen before: exponents, which numba multiplies out where
    it knows them, are arguments of the kernel or computed.
    """
    copies: dict[str, int] = {kernel: 1}
    found: list[str] = []
    for part in reversed(parts):
        function = _function(part)
        calls = sum(times * _calls(function.name, text) for text, times in copies.items())
        inlined = calls <= (COPIES if _statements(function) <= SMALL else 1)
        copies[part] = calls if inlined else 1
        found.append(_inlined(part) if inlined else part)
    return found[::-1]


def _function(part: str) -> ast.FunctionDef:
    function = ast.parse(part).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def _calls(name: str, text: str) -> int:
    return len(re.findall(rf"(?<!def )\b{name}\(", text))


def _statements(function: ast.FunctionDef) -> int:
    not_counted = 1 + (ast.get_docstring(function) is not None)
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - not_counted


def _inlined(part: str) -> str:
    """``@njit(cache=True)`` becomes ``@njit(inline="always")``: only what is called has a cache."""
    decorator, _, rest = part.partition("\n")
    inline = decorator.replace("cache=True", 'inline="always"')
    return f"{inline}\n{rest}"
