"""How many warps of a kernel an SM can hold at once, and what keeps it from holding more.

The formula is that of the CUDA programming guide and NVIDIA's occupancy calculator: blocks go to an
SM as long as its threads, its block slots, its registers and its shared memory last; registers are
given out in units to whole warps, shared memory in units to whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Limiter(StrEnum):
    """What runs out first."""

    WARPS = "threads per block"
    BLOCKS = "blocks per SM"
    REGISTERS = "registers"
    SHARED = "shared memory"


@dataclass(frozen=True)
class Multiprocessor:
    """What an SM of one compute capability has, from the programming guide's table."""

    warps: int
    blocks: int
    registers: int
    shared: int
    """Bytes that the blocks of an SM may have together."""
    block_shared: int
    """Bytes that one block may have, reserved ones left out."""
    reserved: int
    """Bytes of shared memory that the system takes for each block."""
    warp: int = 32
    register_unit: int = 256
    """Registers are given to a warp in multiples of it."""
    thread_registers: int = 255
    shared_unit: int = 128
    block_threads: int = 1024
    partitions: int = 4
    """Warps are dealt out over so many parts of the SM, each with its part of the registers."""


_KIB = 1024
MULTIPROCESSORS = {
    (7, 0): Multiprocessor(64, 32, 65536, 96 * _KIB, 96 * _KIB, 0, shared_unit=256),
    (7, 5): Multiprocessor(32, 16, 65536, 64 * _KIB, 64 * _KIB, 0, shared_unit=256),
    (8, 0): Multiprocessor(64, 32, 65536, 164 * _KIB, 163 * _KIB, _KIB),
    (8, 6): Multiprocessor(48, 16, 65536, 100 * _KIB, 99 * _KIB, _KIB),
    (8, 7): Multiprocessor(48, 16, 65536, 164 * _KIB, 163 * _KIB, _KIB),
    (8, 9): Multiprocessor(48, 24, 65536, 100 * _KIB, 99 * _KIB, _KIB),
    (9, 0): Multiprocessor(64, 32, 65536, 228 * _KIB, 227 * _KIB, _KIB),
    (10, 0): Multiprocessor(64, 32, 65536, 228 * _KIB, 227 * _KIB, _KIB),
    (12, 0): Multiprocessor(48, 24, 65536, 100 * _KIB, 99 * _KIB, _KIB),
}
"""By compute capability."""


@dataclass(frozen=True)
class Occupancy:
    """How full an SM gets."""

    blocks: int
    """Blocks that an SM holds at once; 0: the kernel cannot be launched."""
    warps: int
    most: int
    """Warps that it could hold."""
    limiters: tuple[Limiter, ...]
    """What runs out first; several where they run out together."""

    @property
    def share(self) -> float:
        """Warps held, of those that could be."""
        return self.warps / self.most


def occupancy(
    capability: tuple[int, int], threads: int, registers: int, shared: int = 0
) -> Occupancy | None:
    """Of a kernel with so many threads a block, registers a thread and bytes of shared memory.

    ``shared``: static and dynamic together. None where the compute capability is not known here.
    Raises ValueError where no block can have so many threads, or so few.
    """
    sm = MULTIPROCESSORS.get(capability)
    if sm is None:
        return None
    if not 1 <= threads <= sm.block_threads:
        raise ValueError(f"a block has 1 to {sm.block_threads} threads, not {threads}")
    block_warps = _units(threads, sm.warp)
    fit = {
        Limiter.WARPS: sm.warps // block_warps,
        Limiter.BLOCKS: sm.blocks,
        Limiter.REGISTERS: _by_registers(sm, block_warps, registers),
        Limiter.SHARED: _by_shared(sm, shared),
    }
    blocks = min(fit.values())
    limiters = tuple(limiter for limiter, fitting in fit.items() if fitting == blocks)
    return Occupancy(blocks, blocks * block_warps, sm.warps, limiters)


def most_registers(capability: tuple[int, int], threads: int) -> int:
    """Registers a thread up to which a kernel keeps the occupancy that its block size allows.

    Raises KeyError for a compute capability that is not known here.
    """
    sm = MULTIPROCESSORS[capability]
    shares = {
        registers: found.warps
        for registers in range(sm.thread_registers + 1)
        if (found := occupancy(capability, threads, registers)) is not None
    }
    return max(registers for registers, warps in shares.items() if warps == shares[0])


def _by_registers(sm: Multiprocessor, block_warps: int, registers: int) -> int:
    """Blocks whose registers there are: whole warps, dealt out evenly over the SM's parts."""
    if registers > sm.thread_registers:
        return 0
    if registers == 0:
        return sm.blocks
    each = _units(registers * sm.warp, sm.register_unit) * sm.register_unit
    warps = sm.registers // sm.partitions // each * sm.partitions
    return warps // block_warps


def _by_shared(sm: Multiprocessor, shared: int) -> int:
    if shared > sm.block_shared:
        return 0
    each = _units(shared + sm.reserved, sm.shared_unit) * sm.shared_unit
    return sm.shared // each if each else sm.blocks


def _units(amount: int, unit: int) -> int:
    return -(-amount // unit)
