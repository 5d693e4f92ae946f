"""How full the kernels of a rewrite make an SM: from what the driver gave them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ..model import CompiledKernel, Trial
from .occupancy import Occupancy, occupancy

_BLOCK = re.compile(r"^\s*(\w+) = \(?(\d+(?:, \d+)*)\)?$")
_CONFIGURED = re.compile(r"= (\w+)\[\w+, (\w+)(?:, \w+)?\]$")


@dataclass(frozen=True)
class Fullness:
    """One kernel in blocks of one size."""

    kernel: CompiledKernel
    threads: int
    """Of a block."""
    occupancy: Occupancy

    @property
    def words(self) -> str:
        """``"_step_kernel: 30 registers a thread; 8 blocks of 256 fill 100 % of an SM"``."""
        kernel, held = self.kernel, self.occupancy
        spilled = f", {kernel.local} bytes a thread in local memory" if kernel.local else ""
        shared = f", {kernel.shared} bytes of shared memory a block" if kernel.shared else ""
        limit = "" if held.share == 1.0 else f", limited by {' and '.join(held.limiters)}"
        return (
            f"{kernel.name}: {kernel.registers} registers a thread{shared}{spilled}; "
            f"{held.blocks} blocks of {self.threads} threads fill {100 * held.share:.0f} % of an "
            f"SM{limit}"
        )


def blocks_of(trial: Trial) -> Mapping[str, int]:
    """Threads of a block of each kernel, as the launches in a rewrite's text name them."""
    sizes: dict[str, int] = {}
    found: dict[str, int] = {}
    for edit in trial.candidate.match.edits:
        for line in edit.text.splitlines():
            if match := _BLOCK.search(line):
                sizes[match[1]] = prod(map(int, match[2].split(", ")))
            elif (match := _CONFIGURED.search(line)) and match[2] in sizes:
                found[match[1]] = sizes[match[2]]
    return found


def fullness(trial: Trial) -> Iterator[Fullness]:
    """Of each kernel that was compiled here, and of whose device the limits are known."""
    blocks = blocks_of(trial)
    for kernel in trial.kernels:
        threads = blocks.get(kernel.name)
        if threads is None:
            continue
        held = occupancy(kernel.capability, threads, kernel.registers, kernel.shared)
        if held is not None:
            yield Fullness(kernel, threads, held)
