"""Functions that say whether a list can be an array for the length of a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..model import ValueInfo
from .nb_values import Unsupported

LIST_HELPERS = {
    "_is_vector": (
        "def {name}(values, kind, container=list):\n"
        '{I}"""Whether this is a list of numbers of exactly one type, ints not too large."""\n'
        "{I}if type(values) is not container or [*map(type, values)].count(kind) < len(values):\n"
        "{I}{I}return False\n"
        "{I}return kind is not int or (\n"
        "{I}{I}-(2**{bits}) <= min(values, default=0) and max(values, default=0) <= 2**{bits}\n"
        "{I})\n"
    ),
    "_is_matrix": (
        "def {name}(rows, kind):\n"
        '{I}"""Whether this is a list of distinct, equally long lists of numbers of one type."""\n'
        "{I}return (\n"
        "{I}{I}type(rows) is list\n"
        "{I}{I}and set(map(type, rows)) == {{list}}\n"
        "{I}{I}and len(set(map(len, rows))) == 1\n"
        "{I}{I}and len(set(map(id, rows))) == len(rows)\n"
        "{I}{I}and all([*map(type, row)].count(kind) == len(row) > 0 for row in rows)\n"
        "{I}{I}and (kind is not int or all(\n"
        "{I}{I}{I}-(2**{bits}) <= min(row) and max(row) <= 2**{bits} for row in rows if row\n"
        "{I}{I}))\n"
        "{I})\n"
    ),
    "_is_table": (
        "def {name}(rows, kind):\n"
        '{I}"""Whether this is a list of equally long tuples of numbers of one type."""\n'
        "{I}return (\n"
        "{I}{I}type(rows) is list\n"
        "{I}{I}and set(map(type, rows)) == {{tuple}}\n"
        "{I}{I}and len(set(map(len, rows))) == 1\n"
        "{I}{I}and all([*map(type, row)].count(kind) == len(row) > 0 for row in rows)\n"
        "{I}{I}and (kind is not int or all(\n"
        "{I}{I}{I}-(2**{bits}) <= min(row) and max(row) <= 2**{bits} for row in rows\n"
        "{I}{I}))\n"
        "{I})\n"
    ),
    "_is_cube": (
        "def {name}(planes, kind):\n"
        '{I}"""Whether this is a list of equally long lists that together make a matrix."""\n'
        "{I}return (\n"
        "{I}{I}type(planes) is list\n"
        "{I}{I}and set(map(type, planes)) == {{list}}\n"
        "{I}{I}and len(set(map(len, planes))) == 1\n"
        "{I}{I}and {matrix}({rows}(planes), kind)\n"
        "{I})\n"
    ),
    "_rows": (
        "def {name}(planes):\n"
        '{I}"""The innermost lists of a list of lists of lists."""\n'
        "{I}return [row for plane in planes for row in plane]\n"
    ),
}
"""Each is one edit at one place, so that several regions of a file share them.

A plane that stands twice in a cube brings its rows twice: ``[[[0] * 3] * 3] * 3`` is none.
"""

TABLE = "_is_table"
"""The helper for numbers in tuples in a list, which are only read."""
BY_DEPTH = {1: "_is_vector", 2: "_is_matrix", 3: "_is_cube"}
"""The helper for numbers in lists, in lists of lists, in lists of lists of lists."""


def helper_for(path: str, info: ValueInfo, depth: int, changed: bool) -> str:
    """The helper that says whether a list can be an array. Raises Unsupported if it never can."""
    if depth not in BY_DEPTH:
        raise Unsupported(f"{path} is nested {depth} deep; lists in {len(BY_DEPTH)} levels go")
    if info.kind == "tuple" and depth > 1:
        raise Unsupported(f"{path} is a tuple of tuples or lists")
    if info.kind == "tuple" and changed:
        raise Unsupported(f"{path} is a tuple and is written")
    if info.kind == "tuple" or info.writeable or depth != 2:
        return BY_DEPTH[depth]
    if changed:
        raise Unsupported(f"{path} holds tuples, and is changed")
    return TABLE


def helper_names(bits: int) -> dict[str, str]:
    """What the helpers are called, free names permitting, for ints of this size."""
    suffix = "" if bits == 40 else f"_{bits}"
    return {key: key if key == "_rows" else key + suffix for key in LIST_HELPERS}


def with_callees(helpers: set[str]) -> list[str]:
    """The helpers and those that they call."""
    return sorted(helpers | ({"_is_matrix", "_rows"} if "_is_cube" in helpers else set()))


def helper_text(key: str, functions: Mapping[str, str], level: str, bits: int) -> str:
    """A helper's definition under the name it has in this file."""
    matrix, rows = functions["_is_matrix"], functions["_rows"]
    return LIST_HELPERS[key].format(
        name=functions[key], matrix=matrix, rows=rows, I=level, bits=bits
    )


def different(first: tuple[str, int], second: tuple[str, int], rows: str) -> str:
    """A test that two nested lists have no innermost list in common; (name, depth) of each.

    ``rows``: the name of the helper that gives the innermost lists of a cube.
    """
    if first[1] == second[1] == 1:
        return f"{first[0]} is not {second[0]}"
    (a, depth_a), (b, depth_b) = sorted((first, second), key=lambda one: one[1])
    a, b = (f"{rows}({n})" if d == 3 else n for n, d in ((a, depth_a), (b, depth_b)))
    if depth_a == 1:
        return f"id({a}) not in map(id, {b})"
    return f"{{*map(id, {a})}}.isdisjoint(map(id, {b}))"


LONG_ROW = 16
"""Elements from which on rows go back one by one: each takes the memory that the row before it
has just given up, where the numbers of the whole array at once need as much anew."""


def write_back(
    name: str, array: str, depth: int, free: Callable[[str], str], row_length: int = 0
) -> list[str]:
    """Lines that put the elements of an array into the lists they came from.

    ``free`` gives a local name that nothing else has. ``row_length``: of the innermost lists, as
    far as it is known.
    """
    if depth == 1:
        return [f"{name}[:] = {array}.tolist()"]
    row, values = free("row"), free("values")
    whole, each = f"{array}.tolist()", values
    if row_length >= LONG_ROW:
        whole, each = array, f"{values}.tolist()"
    if depth == 2:
        return [f"for {row}, {values} in zip({name}, {whole}):", f"    {row}[:] = {each}"]
    plane, table = free("plane"), free("table")
    return [
        f"for {plane}, {table} in zip({name}, {whole}):",
        f"    for {row}, {values} in zip({plane}, {table}):",
        f"        {row}[:] = {each}",
    ]
