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


FULL = 0.9
"""Share of a GPU's memory from which on little more fits."""


def nearly_full(samples: Samples) -> tuple[str, ...]:
    """A note for each device whose memory was almost used up, by whomever."""
    notes = []
    for device in samples.devices:
        peak = device.peak_memory
        if peak is not None and device.memory and peak > FULL * device.memory:
            notes.append(
                f"{peak / device.memory:.0%} of the memory of {device.name} was in use: larger "
                "batches will hardly fit; smaller ones, autocast, or in PyTorch "
                "torch.utils.checkpoint, which computes again instead of keeping, give room"
            )
    return tuple(notes)


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
