"""Other users of CUPTI, of which a process admits one: what is known of them, and what is said."""

from __future__ import annotations

import sys
from collections.abc import Mapping

ONE_CLIENT = "CUPTI admits one client at a time"
OUTER = (
    "CUDA_INJECTION64_PATH",
    "NSYS_PROFILING_SESSION_ID",
    "NV_CUDA_START_SUSPENDED",
    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
)
"""Environment variables by which nsys, ncu and other tools get into a CUDA program."""
TAKEN_OVER = (
    f"another profiler in the script took CUPTI over ({ONE_CLIENT}): what ran from then on is not "
    "recorded"
)


def outer_profiler(environment: Mapping[str, str]) -> str | None:
    """One line where a profiler started this process, or one above it."""
    found = next((name for name in OUTER if name in environment), None)
    return found and f"another profiler runs the script ({found} is set): {ONE_CLIENT}"


def has_inner_profiler() -> bool:
    """Whether a library is loaded that starts a profiler of its own on request."""
    return any(name in sys.modules for name in ("torch.profiler", "jax.profiler"))
