"""Dictionaries of numbers under small whole numbers, read from an array in compiled loops.

``weights[cost]`` of ``weights = {d: math.exp(-d / t) for d in (-8, -4, 0, 4, 8)}``: compiled code
knows no dictionary. What has no entry is NaN in the array, and the loop runs again in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ..nb_text import functions_block, top_level_statement
from .draft import Draft

MOST = 64
"""Keys up to which there is a place in the array, on both sides of 0."""
_FUNCTION = '''\
def {name}(table, key):
    """The number that the dictionary has under a key."""
    place = int(max(-{most}, min({most}, key)))
    if place != key:
        return float(1 // 0)  # no key: compiled code leaves it alone
    found = table[place + {most}]
    if found != found:
        return float(1 // 0)  # no key
    return float(found)
'''
_PLAIN = """\
found = float(table[int(key) + {most}]) if key in range(-{most}, {most} + 1) else float("nan")
    if found != found:
        raise KeyError(key)
    return found"""


def without_dicts(draft: Draft) -> Draft:
    """Each such dictionary as an array, made above the loop."""
    for name in sorted(set(_dicts(draft))):
        draft = _with_table(draft, name)
    return draft


def _dicts(draft: Draft) -> Iterator[str]:
    """Dictionaries of which the loop does nothing but read single numbers."""
    nodes = list(own_nodes(draft.loop))
    read = [
        (n.value.id, n.value)
        for n in nodes
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and isinstance(n.value, ast.Name)
        and not isinstance(n.slice, ast.Slice | ast.Tuple)
    ]
    harmless = {id(node) for _, node in read}
    for name in {name for name, _ in read}:
        seen = draft.values.get(name)
        if seen is None or seen.type_name != "builtins.dict" or not _of_floats(seen):
            continue
        others = (n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == name)
        if all(id(node) in harmless for node in others):
            yield name


def _of_floats(seen: ValueInfo) -> bool:
    """Whether nothing else was seen under its keys: rows of neighbours have no place here."""
    values = dict(seen.members).get("values")
    if values is None:
        return True  # the text asks
    return values.ndim == 1 and values.element is not None and values.element.kind == "float"


def _with_table(draft: Draft, name: str) -> Draft:
    function, table = draft.free(f"_entry_of_{name}"), draft.free(f"{name}_table")
    numpy, edit = import_edit(draft.source, "numpy", "np")
    reads = [
        n
        for n in own_nodes(draft.loop)
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == name
    ]
    edits = []
    for node in reads:
        start, end = draft.source.span(node)
        first, last = draft.source.span(node.slice)
        edits += [Edit(start, first, f"{function}({table}, "), Edit(last, end, ")")]
    each = f"{name}.get(key, {numpy}.nan) for key in range(-{MOST}, {MOST + 1})"
    lines = [f"{table} = {numpy}.array([{each}])"]
    draft = draft.advanced([*draft.above(draft.loop, lines), *edits], {table: table_info(MOST)})
    top = top_level_statement(draft.source, draft.loop)
    text = _FUNCTION.format(name=function, most=MOST)
    offset, block = functions_block(draft.source, top, [text])
    draft = draft.elsewhere([Edit(offset, offset, block)]).importing(edit)
    plain = {**draft.plain, function: _PLAIN.format(most=MOST)}
    draft = replace(draft, plain=plain, names=draft.names | {function})
    tests = (
        f"type({name}) is dict",
        f"set(map(type, {name})) == {{int}}",
        f"-{MOST} <= min({name}) <= max({name}) <= {MOST}",
        f"set(map(type, {name}.values())) == {{float}}",
        f"all(value == value for value in {name}.values())",
    )
    for test in tests:
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft


def table_info(most: int) -> ValueInfo:
    """An array of floats with a place for every whole number from ``-most`` to ``most``."""
    shape = (2 * most + 1,)
    return ValueInfo(
        "ndarray",
        "numpy.ndarray",
        dtype="float64",
        ndim=1,
        shape=shape,
        min_shape=shape,
        max_shape=shape,
        c_contiguous=True,
        writeable=True,
    )
