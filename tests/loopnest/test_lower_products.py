"""``itertools.product`` and tuple comparisons as nests, executed."""

from __future__ import annotations

from typing import Any

import pytest
from nests import compare

EQUAL: dict[str, tuple[str, tuple[Any, ...]]] = {
    "constants": (
        "import itertools\ndef f(n):\n    s = 0\n    for i in range(n):\n"
        "        for a, b in itertools.product((-1, 0, 1), repeat=2):\n"
        "            if (a, b) != (0, 0):\n                s += 3 * a + b * i\n    return s\n",
        (4,),
    ),
    "ranges and continue": (
        "from itertools import product\ndef f(n, m):\n    s = 0\n"
        "    for i, j in product(range(n), range(1, m)):\n        if (i, j) == (1, 2):\n"
        "            continue\n        s += i * 10 + j\n    return s\n",
        (3, 5),
    ),
    "an empty factor": (
        "from itertools import product\ndef f(n, m):\n    s = 0\n"
        "    for i, j in product(range(n), range(m)):\n        s += i\n    return s\n",
        (3, 0),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_same(name: str) -> None:
    text, args = EQUAL[name]
    compare(text, *args)
