"""NumPy's functions of small whole numbers, taken from a table that NumPy makes before the loop.

``np.exp(-beta * cost)`` of compiled code is not NumPy's in the last digit, and whether a number
drawn is below it may hang on that digit. Of a whole number there are few values: NumPy computes
them all beforehand. Where another one turns up, the loop runs again in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.ir import Kind, Nest
from ...loopnest.scope import dotted, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from .. import ast_tools as tools
from ..nb_calls import NUMPY_LAST_DIGIT
from ..nb_text import functions_block, top_level_statement
from .dict_tables import table_info
from .draft import Draft

MOST = 64
"""Whole numbers up to which the table goes, on both sides of 0."""
_FUNCTION = '''\
def {name}(table, {given}):
    """{call}, from a table of small numbers."""
    place = int(max(-{most}, min({most}, {index})))
    if place != {index}:
        return table[2**40]  # not in the table: compiled code leaves it alone
    found = table[place + {width}]
    if not abs(found) < 1e308:
        return table[2**40]  # NumPy may warn
    return found
'''


@dataclass(frozen=True)
class _Tabled:
    """Calls of one function of one whole number and of what the loop leaves alone."""

    text: str
    function: str
    value: str
    """What it is called for, of the parameters' names."""
    index: str
    fixed: tuple[str, ...]
    """As the loop has them, ``self.beta``; the parameters are their last parts."""
    divisors: tuple[str, ...]
    most: int | float
    """`MOST`, as the index has it."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that the function gives them."""
        return (*(name.rpartition(".")[2] for name in self.fixed), self.index)


def with_tables(draft: Draft, nest: Nest) -> Draft:
    """Each such call as an element of a table; the same draft where there is none."""
    numpy = tools.module_alias(draft.source, "numpy")
    if numpy is None:
        return draft
    for one in dict.fromkeys(_tabled(draft, nest, numpy)):
        draft = _with_table(draft, one, numpy)
    return draft


def _with_table(draft: Draft, one: _Tabled, numpy: str) -> Draft:
    function = draft.free(f"_{one.function}_of_{one.index}")
    table = draft.free(f"{one.function}_table", function)
    given = ", ".join((table, *one.fixed, one.index))
    calls = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Call)]
    edits = [
        Edit(*draft.source.span(call), f"{function}({given})")
        for call in calls
        if ast.unparse(call) == one.text
    ]
    each = f"{one.text} for {one.index} in range(-{MOST}, {MOST + 1})"
    lines = [
        f'with {numpy}.errstate(all="ignore"):  # not all of them may be needed',
        f"    {table} = {numpy}.array([{each}])",
    ]
    draft = draft.advanced([*draft.above(draft.loop, lines), *edits], {table: table_info(MOST)})
    call = f"{numpy}.{one.function}({one.value})"
    text = _FUNCTION.format(
        name=function,
        given=", ".join(one.parameters),
        call=call,
        index=one.index,
        most=one.most,
        width=MOST,
    )
    top = top_level_statement(draft.source, draft.loop)
    offset, block = functions_block(draft.source, top, [text])
    draft = draft.elsewhere([Edit(offset, offset, block)])
    plain = {**draft.plain, function: f"return {call}"}
    draft = replace(draft, plain=plain, names=draft.names | {function})
    tests = [_type_test(draft, name, numpy) for name in one.fixed]
    tests += [f"{divisor} != 0" for divisor in one.divisors]
    for test in tests:
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft


def _type_test(draft: Draft, name: str, numpy: str) -> str:
    """The number is of the type seen: whatever it is, the table is made without an exception."""
    seen = draft.values[name]
    if seen.kind == "numpy_scalar":
        return f"isinstance({name}, {numpy}.float64)"
    if seen.kind == "float":
        return f"type({name}) is float"
    return f"type({name}) is int and abs({name}) < 2**31"


# --------------------------------------------------------------------- search
def _tabled(draft: Draft, nest: Nest, numpy: str) -> Iterator[_Tabled]:
    loops = [n for n in ast.walk(draft.loop) if isinstance(n, ast.For)]
    counted = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for node in own_nodes(draft.loop):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=module), attr=name),
                args=[value],
                keywords=[],
            ) if module == numpy and name in NUMPY_LAST_DIGIT:
                found = _of_one_index(draft, nest, node, name, value)
                if found is not None and found.index not in counted:
                    yield found


def _of_one_index(
    draft: Draft, nest: Nest, call: ast.Call, name: str, value: ast.expr
) -> _Tabled | None:
    """The call, if all but one whole number of what it reads stays the same in the loop."""
    paths = _paths(value)
    if paths is None:
        return None
    index = [path for path in paths if path in nest.privates]
    fixed = tuple(path for path in paths if path not in nest.privates)
    if len(index) != 1 or "." in index[0] or not _is_counted(nest, index[0], name):
        return None
    if not all(_is_number(draft.values.get(path)) for path in fixed):
        return None
    inner = _Parameters().visit(ast.parse(ast.unparse(value), mode="eval").body)
    found = _Tabled(
        ast.unparse(call),
        name,
        ast.unparse(inner),
        index[0],
        fixed,
        tuple(map(ast.unparse, _quotients(value))),
        MOST if nest.privates[index[0]].kind is Kind.INT else float(MOST),
    )
    names = ("table", "found", *found.parameters)
    divided = any(index[0] in (_paths(d) or ()) for d in _quotients(value))
    return found if len(set(names)) == len(names) and not divided else None


def _is_counted(nest: Nest, name: str, function: str) -> bool:
    """A whole number, or a float that may be one (-0.0 and 0 have one exponential, two sines)."""
    kind = nest.privates[name].kind
    return kind is Kind.INT or (kind is Kind.FLOAT and function == "exp")


def _paths(value: ast.expr) -> list[str] | None:
    """The variables and attributes of an arithmetic expression, in order; None for another one."""
    match value:
        case ast.Constant(value=int() | float()):
            return []
        case ast.Name() | ast.Attribute():
            path = dotted(value)
            return None if path is None else [path]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _paths(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            one, two = _paths(left), _paths(right)
            return None if one is None or two is None else list(dict.fromkeys((*one, *two)))
    return None


def _quotients(value: ast.expr) -> Iterator[ast.expr]:
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node.right


def _is_number(seen: ValueInfo | None) -> bool:
    if seen is None:
        return False
    return seen.kind in ("int", "float") or (
        seen.kind == "numpy_scalar" and seen.dtype == "float64"
    )


class _Parameters(ast.NodeTransformer):
    """``self.beta`` as ``beta``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """The last part alone."""
        return ast.Name(node.attr, ast.Load())
