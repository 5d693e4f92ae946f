"""What the user may choose."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field

from .errors import UsageProblem

BACK_ENDS = ("numpy", "numba", "cupy", "cuda")
_MODULES = {"numpy": "numpy", "numba": "numba", "cupy": "cupy", "cuda": "numba_cuda"}


def installed_back_ends() -> frozenset[str]:
    """The back ends whose packages this Python has; looks them up without importing them."""
    return frozenset(name for name in BACK_ENDS if importlib.util.find_spec(_MODULES[name]))


@dataclass(frozen=True)
class Options:
    """The choices of one run; times in seconds."""

    allow: frozenset[str] = field(default_factory=installed_back_ends)
    unsafe: bool = False
    budget: float | None = None
    time_limit: float | None = None
    min_speedup: float = 1.1
    runs: int = 1
    """How often the script will be run: the cost of a first run is spread over so many."""
    verbose: bool = False
    survey: bool = False
    """Try every rewrite on the program's states and choose none: another size may favour it."""

    def __post_init__(self) -> None:
        """Raises UsageProblem for a time without end, which no part can be taken of."""
        for name in ("budget", "time_limit", "min_speedup"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                option = name.replace("_", "-")
                raise UsageProblem(f"--{option} takes a number that is not infinite")


def parse_allow(text: str | None) -> frozenset[str]:
    """``"numpy,numba"`` to the set of back ends. Raises UsageProblem on an unknown name."""
    if text is None:
        return installed_back_ends()
    wanted = frozenset(part.strip() for part in text.split(",") if part.strip())
    if unknown := wanted - set(BACK_ENDS):
        raise UsageProblem(
            f"--allow does not know {', '.join(sorted(unknown))}; it takes {', '.join(BACK_ENDS)}"
        )
    if missing := wanted - installed_back_ends():
        raise UsageProblem(f"--allow names {', '.join(sorted(missing))}, which is not installed")
    return wanted
