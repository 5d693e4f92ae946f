"""Exceptions that a replayed call raises, and the call in the program cannot have raised."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CATCHES = re.compile(
    rb"\b(except|suppress|raises|assertRaises\w*|excepthook|settrace|add_done_callback)\b"
)
"""Words of texts that can take an exception and go on."""
_PROTOCOL = frozenset(
    """
    AttributeError GeneratorExit IndexError KeyError KeyboardInterrupt StopAsyncIteration
    StopIteration SystemExit
    """.split()  # noqa: SIM905
)
"""Exceptions that the interpreter itself takes: the end of an iterator, a missing attribute."""


def only_here(raised: str | None, texts: Iterable[bytes]) -> str | None:
    """Why a replay in which the original raises says nothing of the program; None if it may.

    ``raised`` is the exception in words, its type first; ``texts`` are all files of the program,
    which came to its end. Counter-example: a driver that does not survive the fork makes original
    and rewrite fail alike, after no work at all, and the rewrite would look right and fast.
    """
    if raised is None or raised.partition(":")[0].strip() in _PROTOCOL:
        return None
    if any(_CATCHES.search(text) for text in texts):
        return None
    return (
        f"the original raises {raised} when this call is replayed; in the program it cannot have, "
        "since nothing there catches it"
    )
