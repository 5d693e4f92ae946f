"""Functions of NumPy and ``math`` in kernels: which numba.cuda has, and under which name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...loopnest.scope import dotted
from ..nb_state import State
from ..nb_values import Unsupported

_CASTS = frozenset(
    {
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "bool_"),
    }
)
_NUMPY = _CASTS | frozenset(
    {
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("log", "log2", "log10", "deg2rad", "rad2deg", "degrees", "radians"),
        *("maximum", "minimum", "fmax", "fmin", "isnan"),
    }
)
"""NumPy's functions of numbers that numba.cuda has."""
_IN_MATH = {
    name: name
    for name in ("sqrt", "exp", "expm1", "log1p", "copysign", "isinf", "isfinite", "fmod")
}
"""Those that it has under the name of ``math`` only. Kernels raise nothing: both give NaN."""
_BUILT_IN = {"abs": "abs", "absolute": "abs", "fabs": "abs"}
_MATH = frozenset(
    {
        *("acos", "asin", "atan", "atan2", "acosh", "asinh", "atanh", "cos", "sin", "tan"),
        *("cosh", "sinh", "tanh", "erf", "erfc", "exp", "expm1", "fabs", "gamma", "lgamma"),
        *("log", "log2", "log10", "log1p", "sqrt", "pow", "ceil", "floor", "copysign", "fmod"),
        *("hypot", "isnan", "isinf", "isfinite", "radians", "degrees"),
    }
)


_BUILT_INS = frozenset({"range", "len", "abs", "int", "float", "bool", "round"})
CHOOSING = {"min": "<", "max": ">"}
"""Built-ins that numba.cuda computes by ``fmin`` and ``fmax``, which pass over a NaN."""


def chooser(kind: str, name: str, decorator: str) -> str:
    """A device function that chooses as Python's ``min`` or ``max`` of two does."""
    return (
        f"{decorator}(device=True)\ndef {name}(a, b):\n"
        f'    """{kind}(a, b) as Python has it: a, unless b is certainly {_WORDS[kind]}."""\n'
        f"    return b if b {CHOOSING[kind]} a else a\n"
    )


_WORDS = {"min": "less", "max": "greater"}


def renamed_calls(state: State) -> Iterator[tuple[ast.expr, str]]:
    """Calls of NumPy's functions that must be spelled otherwise: the function, and its new name.

    A name of ``math`` comes as ``"math.sqrt"``. Raises Unsupported for functions that are missing.
    """
    roots: list[ast.AST] = [state.region.loop, *state.called.values()]
    for node in (n for root in roots for n in ast.walk(root)):
        path = dotted(node.func) if isinstance(node, ast.Call) else None
        if path is None or not isinstance(node, ast.Call):
            continue
        head, dot, rest = path.partition(".")
        if not dot and head not in state.module.imports and path not in state.called:
            yield from _built_in(node, path)
            continue
        module, _, name = (state.module.imports.get(head, "") + dot + rest).rpartition(".")
        if module == "math" and name not in _MATH:
            raise Unsupported(f"numba.cuda has no {path}", node.lineno)
        if module != "numpy" or name in _NUMPY:
            continue
        if name in _IN_MATH:
            yield node.func, f"math.{name}"
        elif name in _BUILT_IN:
            yield node.func, _BUILT_IN[name]
        else:
            raise Unsupported(f"numba.cuda has no {path}", node.lineno)


def _built_in(node: ast.Call, name: str) -> Iterator[tuple[ast.expr, str]]:
    if name in CHOOSING:
        if len(node.args) != 2 or node.keywords:
            raise Unsupported(f"a {name}() of more than two", node.lineno, "nest it")
        yield node.func, name
    elif name not in _BUILT_INS or (name == "round" and len(node.args) > 1):
        raise Unsupported(f"numba.cuda has no equal {name}()", node.lineno)
