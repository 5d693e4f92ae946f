"""Which of the machine's GPUs the program worked on, and what NVML cannot tell of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..report.gpu import counted
from .records import Trace
from .sampling import Samples

SPLIT = (
    "the GPU is split into instances (MIG): NVML does not tell their utilisation, and power, "
    "temperature and clocks are the whole card's"
)


def numbers(trace: Trace) -> frozenset[int]:
    """CUDA's numbers of the devices that did anything."""
    tables = (trace[name]["device"] for name in ("kernels", "copies", "memsets"))
    return frozenset(int(number) for table in tables for number in np.unique(table))


def worked_on(samples: Samples, trace: Trace | None) -> tuple[Samples, tuple[str, ...]]:
    """The samples of the devices that the program used, and notes for the user.

    CUDA numbers the devices that a program may see, NVML all there are: they are matched by the
    driver's own names. Where those are not known, all devices stay.
    """
    notes = [SPLIT] if samples.split else []
    several = len(samples.devices) > 1
    if trace is None or not several:
        return samples, tuple(notes)
    told = trace.extra.get("devices", {})
    used = numbers(trace)
    wanted = {told[str(n)]["uuid"] for n in used if str(n) in told}
    found = tuple(device for device in samples.devices if device.uuid in wanted)
    machine = f"the machine has {counted(len(samples.devices), 'GPU')}"
    if not used:
        return samples, (*notes, f"{machine}; the script used none of them")
    if len(found) != len(used):
        return samples, (*notes, f"{machine}: which of them the script used is not known")
    notes.append(f"{machine}; the script used {len(found)}, and the samples are of what it used")
    if len(used) > 1:
        notes.append("idle time counts only while none of the GPUs that the script used works")
    return replace(samples, devices=found), tuple(notes)
