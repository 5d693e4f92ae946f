"""What a forked process hands to the holder of its state.

The instrumented run (``observe/runner.py``) forks at chosen calls; the child passes one of these
to ``verify.worker.hold`` and never returns to the program. The objects inside are the program's
own, live ones: nothing here is copied or pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Reason = Literal["first", "signature", "largest", "late"]
"""Why a call was chosen: the first one, the first of its type signature, one at least twice as
large as every earlier one, or a late one (entry 10, 100, 1000 ...). A later ``largest`` or
``late`` holder of a site replaces the earlier one with the same reason."""


@dataclass(frozen=True)
class HeldCall:
    """The state at the entry of a function that contains hot loops."""

    site: str
    """``Site.key`` of the function site."""
    file: str
    """The file that defines the function, as the user knows it."""
    module_file: str
    """The same file where this process found it (in the sandbox)."""
    qualname: str
    entry: int
    """Which call of the site this is; 1 is the first."""
    reason: Reason
    function: Callable[..., Any]
    """The live function (no decorators, no profiler); its code object is the instrumented one."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    namespace: dict[str, Any]
    """The live globals of the function's module."""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class HeldStatement:
    """The state right before a loop statement at module level."""

    site: str
    """``Site.key`` of the loop site."""
    file: str
    module_file: str
    line: int
    """Line of the loop statement in the original file."""
    entry: int
    reason: Reason
    namespace: dict[str, Any]
    notes: tuple[str, ...] = field(default=())


Held = HeldCall | HeldStatement
