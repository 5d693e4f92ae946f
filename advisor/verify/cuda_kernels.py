"""What the CUDA driver says of the kernels that a rewrite has compiled: registers, shared memory.

Runs in the process that has just called the rewritten code; imports nothing that it has not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Facts = dict[str, Any]


def compiled_kernels(namespaces: Iterable[Mapping[str, Any]]) -> list[Facts]:
    """One entry for each kernel of ``numba.cuda`` at the top of these modules that has run.

    Empty where numba offers no such figures: its simulator has none, and older ones differ.
    """
    found = []
    for namespace in namespaces:
        for value in tuple(namespace.values()):
            try:
                found += list(_facts(value))
            except Exception:  # the driver's or numba's: figures that nobody has to have
                continue
    return found


def _facts(value: Any) -> Iterator[Facts]:
    # a class of the user's may answer to any name
    if type(value).__module__.partition(".")[0] not in ("numba", "numba_cuda"):
        return
    for kernel in getattr(value, "overloads", {}).values():
        registers = getattr(kernel, "regs_per_thread", None)
        if not isinstance(registers, int):
            continue  # a device function, or one for the CPU
        yield {
            "name": str(value.py_func.__name__),
            "registers": registers,
            "shared": int(kernel.shared_mem_per_block),
            "local": int(kernel.local_mem_per_thread),
            "capability": _capability(),
        }


def _capability() -> list[int]:
    device = sys.modules["numba.cuda"].get_current_device()
    return [int(part) for part in device.compute_capability]
