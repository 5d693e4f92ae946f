"""Text in compiled loops: characters are code points there, strings arrays of them.

The wrapper around the kernel makes the arrays, asks that each text is what the numbers stand for,
and makes text again of what comes back.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..loopnest.ir import CHAR, PY_BOOL, PY_INT, Interval, Nest, Scalar
from ..loopnest.lower_text import no_number
from ..loopnest.text import (
    FIRST_WORD,
    LAST_ASCII,
    PREDICATES,
    SHIFTS,
    STRINGS,
    answering,
    characters,
    number_of,
    runs,
)
from ..model import Region
from .nb_state import State
from .nb_values import Num, Unsupported, View, intersect, number

if TYPE_CHECKING:
    from .nb_eval import Evaluator

DIGIT = "digit"
"""The checked helper for ``int(ch)``."""
SHOWN = 4
"""Texts whose numbers a kernel's docstring gives."""


def element_type(nest: Nest, name: str) -> Scalar:
    """Type of a list's element as the program has it."""
    return CHAR if name in nest.text else nest.arrays[name].element


def entry_text(region: Region, path: str) -> View | Num | None:
    """A string at the loop's entry: an array of characters, or one short text."""
    nest = region.nest
    if not isinstance(nest, Nest):
        return None
    if path in nest.arrays:
        return View(path, CHAR, 1)
    if path in nest.scalars:
        seen = nest.scalars[path].interval
        return Num(CHAR, seen.low, seen.high, entry=True)
    return None


def is_string(state: State, view: View) -> bool:
    """Whether the array stands for a string, or for bytes."""
    nest = state.region.nest
    if not isinstance(nest, Nest) or view.array not in nest.arrays:
        return False
    return nest.arrays[view.array].container in STRINGS


def character(state: State, view: View) -> Num:
    """Any character of a string."""
    room = room_of(state.region, view.array)
    return Num(CHAR, room.low, room.high)


def room_of(region: Region, path: str) -> Interval:
    """The numbers of the characters of a string."""
    assert region.observation is not None
    return characters((region.observation.values[path].maximum or 0) <= LAST_ASCII)


def strings_grown(region: Region) -> frozenset[str]:
    """Strings from before the loop to which it adds characters."""
    nest = region.nest
    return nest.strings if isinstance(nest, Nest) else frozenset()


def literal(ev: Evaluator, node: ast.Constant) -> Num:
    """A string in the loop's text becomes its number."""
    assert isinstance(node.value, str)
    code = _number(ev.state, node.value, node)
    ev.state.replace(node, str(code))
    return Num(CHAR, code, code)


def _number(state: State, text: str, node: ast.expr) -> int:
    nest = state.region.nest
    assert isinstance(nest, Nest)
    if len(text) > 1 and text not in nest.words:
        raise Unsupported(f"the text `{ast.unparse(node)}` in the loop", node.lineno)
    return number_of(text, nest.words)


def search(ev: Evaluator, node: ast.Compare) -> Num | None:
    """``ch in "aeiou"`` as a search in a tuple of numbers; None where that is not asked."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
            pass
        case _:
            return None
    names = {n.id for n in ast.walk(right) if isinstance(n, ast.Name)}
    if ev.scope.helper and names & ev.scope.locals:
        return None
    options = ev.state.known_text.options(right, own=not ev.scope.helper)
    if options is None:
        return None
    if ev.number(node.left).type != CHAR or not options.texts:
        raise Unsupported(f"`{ast.unparse(node)}` has no compiled form", node.lineno)
    codes = sorted({_number(ev.state, text, right) for text in options.texts})
    ev.state.replace(right, f"({', '.join(map(str, codes))}{',' if len(codes) == 1 else ''})")
    return Num(PY_BOOL, 0, 1)


# ----------------------------------------------------------------------- calls
def text_call(ev: Evaluator, node: ast.Call) -> Num | None:
    """``ord``, ``chr``, ``int`` and methods of a character; None for anything else."""
    unbounded = no_number(node)
    match node:
        case ast.Call(func=ast.Name(id="float")) if unbounded is not None:
            ev.state.replace(node, "-\0np.inf" if unbounded < 0 else f"\0np.{unbounded}")
            ev.state.casts = ev.state.casts or ev.state.recording
            return number(unbounded)
        case ast.Call(func=ast.Name(id="ord" | "chr" | "int" as name), args=[arg], keywords=[]):
            if ev.scope.lookup(name, node.func) is None or isinstance(arg, ast.Starred):
                return None
            return _converted(ev, name, arg, node)
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[], keywords=[]) if (
            attr in PREDICATES or attr in SHIFTS
        ):
            value = ev.value(owner)
            if not isinstance(value, Num) or value.type != CHAR:
                return None
            return _method(ev, value, owner, attr, node)
    return None


def _converted(ev: Evaluator, name: str, arg: ast.expr, node: ast.Call) -> Num | None:
    if isinstance(arg, ast.Constant) and name == "ord":
        text = arg.value if isinstance(arg.value, str) else ""
        ev.state.replace(node, str(ord(text)))
        return number(ord(text))
    value = ev.value(arg)
    if not isinstance(value, Num) or (name != "chr" and value.type != CHAR):
        return None
    state = ev.state
    if name == "chr":
        state.replace(node.func, "\0np.int64")
        state.casts = state.casts or state.recording
        value = intersect(value, 0, FIRST_WORD - 1)  # the lowering has shown it
        return replace(value, type=CHAR, form=None, lows=(), highs=())
    if name == "ord":
        # an int8 would stay one in a variable of its own
        state.replace(node.func, "\0np.int64")
        state.casts = state.casts or state.recording
        top = FIRST_WORD - 1
        low = 0 if value.low is None else max(value.low, 0)
        return Num(PY_INT, low, top if value.high is None else min(value.high, top))
    if state.recording:
        state.checked[DIGIT] = "int"
        state.may_raise = True
        state.replace(node.func, f"\0fn.{DIGIT}")
    return Num(PY_INT, 0, 9)


def _method(ev: Evaluator, value: Num, owner: ast.expr, attr: str, node: ast.Call) -> Num:
    """``ch.isalpha()`` becomes a call of a compiled function of that name."""
    state = ev.state
    if state.recording:
        state.checked[attr] = attr
        state.as_function(node, owner, f"\0fn.{attr}")
    if attr in PREDICATES:
        return Num(PY_BOOL, 0, 1)
    first, last, shift = SHIFTS[attr]
    low, high = ord(first) + shift, ord(last) + shift
    if value.low is None or value.high is None:
        return Num(CHAR)
    return Num(CHAR, min(value.low, low), max(value.high, high))


def helper_body(key: str) -> str | None:
    """The lines of a compiled function for a method of a character; None for another key."""
    if key == DIGIT:
        return (
            '    """int() of a digit, given its code point."""\n'
            "    if not 48 <= c <= 57:\n"
            '        raise ValueError("invalid literal for int()")\n'
            "    return c - 48\n"
        )
    if key in PREDICATES:
        tests = " or ".join(_between(a, b) for a, b in runs(answering(key)))
        what = f'    """str.{key}() of an ASCII character, given its code point."""\n'
        return f"{what}    return {tests}\n"
    if key in SHIFTS:
        first, last, shift = SHIFTS[key]
        sign = "-" if shift < 0 else "+"
        return (
            f'    """str.{key}() of an ASCII character, given its code point."""\n'
            f"    return c {sign} {abs(shift)} if {_between(first, last)} else c\n"
        )
    return None


def _between(first: str, last: str) -> str:
    low, high = ord(first), ord(last)
    return f"c == {low}" if low == high else f"{low} <= c <= {high}"


def legend(region: Region, functions: Mapping[str, ast.FunctionDef]) -> str:
    """``65 is "A", 67 is "C"``: the text that stands in the loop, for whoever reads the kernel."""
    nest = region.nest
    assert isinstance(nest, Nest)
    found = {
        node.value
        for root in (region.loop, *functions.values())
        for node in ast.walk(root)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    if not (nest.text or any(a.container == "str" for a in nest.arrays.values())):
        return ""
    shown = sorted(t for t in found if len(t) == 1 and t.isprintable() and t not in "\\\"'")
    shown += [word for word in nest.words if word in found and word.isidentifier()]
    return ", ".join(f'{number_of(t, nest.words)} is "{t}"' for t in shown[:SHOWN])
