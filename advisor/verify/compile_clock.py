"""How much of a call numba spends on compiling: the rest is what later calls take.

Runs in the process that calls the rewritten code; imports nothing that it has not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

LOCK = "numba:compiler_lock"
"""numba's event around all that it compiles, what is compiled for that included."""


def started() -> Callable[[], float]:
    """What tells the seconds of compilation from now on; 0.0 where numba is not loaded."""
    event = sys.modules.get("numba.core.event")
    try:
        listener = event.TimingListener()  # type: ignore[union-attr]
        event.register(LOCK, listener)  # type: ignore[union-attr]
    except Exception:  # no numba, or one that tells nothing
        return float
    return lambda: float(listener.duration) if listener.done else 0.0
