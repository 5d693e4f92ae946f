"""Occupancy against NVIDIA's own examples and tables."""

from __future__ import annotations

import pytest

from gpuadvise.roofline.occupancy import (
    MULTIPROCESSORS,
    Limiter,
    Occupancy,
    most_registers,
    occupancy,
)

AMPERE, CONSUMER, HOPPER, TURING, VOLTA = (8, 0), (8, 6), (9, 0), (7, 5), (7, 0)


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "blocks", "share", "limiters"),
    [
        # The best practices guide, "Calculating Occupancy": 65536 registers and 2048 threads an
        # SM, so 32 registers a thread fill it.
        (VOLTA, 256, 32, 0, 8, 1.0, {Limiter.WARPS, Limiter.REGISTERS}),
        # The same guide: 37 registers, blocks of 128 threads: 12 blocks, 75 %; blocks of 320
        # threads: 4 blocks, 63 %.
        (VOLTA, 128, 37, 0, 12, 0.75, {Limiter.REGISTERS}),
        (VOLTA, 320, 37, 0, 4, 0.625, {Limiter.REGISTERS}),
        # One thread a block: as many blocks as an SM has slots for, a warp each.
        (HOPPER, 1, 16, 0, 32, 0.5, {Limiter.BLOCKS}),
        (HOPPER, 1024, 32, 0, 2, 1.0, {Limiter.WARPS, Limiter.REGISTERS}),
        (HOPPER, 1024, 64, 0, 1, 0.5, {Limiter.REGISTERS}),
        (HOPPER, 256, 255, 0, 1, 0.125, {Limiter.REGISTERS}),
        # 48 KiB and the reserved one: four blocks of 228 KiB.
        (HOPPER, 256, 32, 48 * 1024, 4, 0.5, {Limiter.SHARED}),
        (HOPPER, 128, 32, 227 * 1024, 1, 4 / 64, {Limiter.SHARED}),
        (AMPERE, 256, 32, 48 * 1024, 3, 0.375, {Limiter.SHARED}),
        # 1536 threads an SM: blocks of 1024 leave a third of it empty.
        (CONSUMER, 1024, 32, 0, 1, 2 / 3, {Limiter.WARPS}),
        (CONSUMER, 512, 32, 0, 3, 1.0, {Limiter.WARPS}),
        (TURING, 1024, 64, 0, 1, 1.0, {Limiter.WARPS, Limiter.REGISTERS}),
    ],
)
def test_known_kernels(
    capability: tuple[int, int],
    threads: int,
    registers: int,
    shared: int,
    blocks: int,
    share: float,
    limiters: set[Limiter],
) -> None:
    found = occupancy(capability, threads, registers, shared)
    assert isinstance(found, Occupancy)
    assert found.blocks == blocks
    assert found.share == pytest.approx(share)
    assert set(found.limiters) == limiters


def test_what_cannot_be_launched() -> None:
    for kernel in ((256, 256, 0), (256, 32, 228 * 1024), (1024, 128, 0)):
        found = occupancy(HOPPER, *kernel)
        assert found is not None and found.blocks == 0 and found.share == 0.0
    with pytest.raises(ValueError, match="1 to 1024 threads, not 2048"):
        occupancy(HOPPER, 2048, 32)


@pytest.mark.parametrize(
    ("capability", "threads", "registers"),
    [(HOPPER, 256, 32), (HOPPER, 64, 32), (CONSUMER, 512, 40), (TURING, 256, 64), (HOPPER, 32, 64)],
)
def test_registers_that_a_block_size_allows(
    capability: tuple[int, int], threads: int, registers: int
) -> None:
    assert most_registers(capability, threads) == registers
    at, above, free = (occupancy(capability, threads, r) for r in (registers, registers + 8, 0))
    assert at is not None and above is not None and free is not None
    assert at.warps == free.warps > above.warps


def test_an_unknown_device_is_not_guessed() -> None:
    assert occupancy((99, 0), 256, 32) is None


@pytest.mark.parametrize("capability", MULTIPROCESSORS)
def test_more_of_anything_never_gives_more_warps_of_one_size(capability: tuple[int, int]) -> None:
    for registers, shared in ((16, 0), (64, 4096), (128, 32768)):
        base = occupancy(capability, 256, registers, shared)
        more = [
            occupancy(capability, 256, registers + 8, shared),
            occupancy(capability, 256, registers, shared + 1024),
        ]
        assert base is not None
        assert all(other is not None and other.warps <= base.warps for other in more)
