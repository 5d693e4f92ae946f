"""Does the program turn NumPy's warnings into exceptions?"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..model import Refusal, Source

_STATE = frozenset({"seterr", "errstate"})
_FILTERS = frozenset({"simplefilter", "filterwarnings"})
_NUMERIC = frozenset({"RuntimeWarning", "Warning"})
_QUIET = frozenset({"ignore", "warn", "print", "log"})


def raising_statement(sources: Iterable[Source]) -> Refusal | None:
    """Why no array form keeps the program's behaviour, if its own text asks for exceptions.

    ``np.seterr(all="raise")``, ``np.errstate(...)`` and ``warnings.simplefilter("error")`` make a
    division by zero an exception. The loop then stops at that element, with those in front of it
    written; an array statement raises before it has written any, and compiled code does not raise
    at all. What is not a literal counts as an exception. The interpreter's ``-W error`` is not
    looked at.
    """
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.Call) and _raises(node):
                return Refusal(
                    f"{ast.unparse(node)} turns NumPy's warnings into exceptions: the loop stops "
                    "in the middle then, array and compiled code do not",
                    node.lineno,
                )
    return None


def _raises(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            pass
        case _:
            return False
    if name == "seterrcall":
        return True
    if name in _STATE:
        # np.seterr(**old) puts back what the program had before: the other calls decide.
        given = [*call.args, *(k.value for k in call.keywords if k.arg is not None)]
        return any(not _is_quiet(value) for value in given)
    return name in _FILTERS and _filters_numeric(call)


def _is_quiet(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and (value.value is None or value.value in _QUIET)


def _filters_numeric(call: ast.Call) -> bool:
    """Whether a warnings filter raises for the category of NumPy's floating-point warnings."""
    keywords = {k.arg: k.value for k in call.keywords}
    action = call.args[0] if call.args else keywords.get("action")
    if isinstance(action, ast.Constant) and action.value != "error":
        return False
    position = 2 if _name(call.func) == "filterwarnings" else 1
    category = call.args[position] if len(call.args) > position else keywords.get("category")
    if category is None or _name(category) in _NUMERIC:
        return True
    # simplefilter("error", DeprecationWarning) says nothing about numbers; a tuple or a name of
    # the program's own may.
    return not _name(category).endswith("Warning")


def _name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
