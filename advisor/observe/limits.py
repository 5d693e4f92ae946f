"""Bounds of trial runs: memory, core files, the disk of the scratch folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

SHARE = 0.9
"""Of the memory that is free when a run starts, for each of its processes."""
LEAST = 1 << 30
"""Bytes that a process may have in any case."""
MEMORY_LEFT, DISK_LEFT = 192 << 20, 64 << 20
"""Bytes; a run that leaves less on the machine is ended."""


def bound(pid: int) -> None:
    """No core files, and no more memory than there is (Linux); its children inherit that.

    RLIMIT_DATA counts private writable memory, not reserved addresses as RLIMIT_AS does: a CUDA
    context alone reserves more of those than any machine has memory.
    """
    if sys.platform != "linux":
        return
    limits = {resource.RLIMIT_CORE: 0}
    available = available_memory()
    if available is not None:
        limits[resource.RLIMIT_DATA] = max(LEAST, int(SHARE * available))
    for which, wanted in limits.items():
        with contextlib.suppress(OSError, ValueError):  # it has ended
            soft, hard = resource.prlimit(pid, which)
            if soft == resource.RLIM_INFINITY or wanted < soft:
                resource.prlimit(pid, which, (wanted, hard))


def scarce(folder: Path) -> str | None:
    """What the machine runs out of, as a sentence; None while there is enough."""
    available = available_memory()
    if available is not None and available < MEMORY_LEFT:
        return f"only {available >> 20} MB of memory were left on the machine"
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
        if free < DISK_LEFT:
            return f"only {free >> 20} MB were left on the disk of {folder.parent}"
    return None


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say (not Linux).

    In a container the control group may allow less than the machine has.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as info:  # noqa: PTH123 - four times a second
            line = next(line for line in info if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    found = int(line.split()[1]) << 10
    group = _group_left()
    return found if group is None else min(found, group)


def _group_left() -> int | None:
    """What the control group of this process still allows; None: no bound."""
    places = (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    )
    for limit, used in places:
        with contextlib.suppress(OSError, ValueError):
            most = int(Path(limit).read_text())
            if most < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
                # The page cache counts as used, but can be given back: half of it, to be careful.
                return most - int(Path(used).read_text()) + _cached() // 2
    return None


def _cached() -> int:
    for place in ("/sys/fs/cgroup/memory.stat", "/sys/fs/cgroup/memory/memory.stat"):
        with contextlib.suppress(OSError, ValueError):
            for line in Path(place).read_text().splitlines():
                if line.startswith(("file ", "cache ")):
                    return int(line.split()[1])
    return 0
