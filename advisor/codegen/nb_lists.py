"""Functions that say whether a list can be an array for the length of a loop."""

from __future__ import annotations

LIST_HELPERS = {
    "_is_vector": (
        "def {name}(values, kind, container=list):\n"
        '{I}"""Whether this is a list of numbers of exactly one type, ints not too large."""\n'
        "{I}if type(values) is not container or not set(map(type, values)) <= {{kind}}:\n"
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
        "{I}{I}and all(set(map(type, row)) == {{kind}} for row in rows)\n"
        "{I}{I}and (kind is not int or all(abs(k) <= 2**{bits} for row in rows for k in row))\n"
        "{I})\n"
    ),
}
