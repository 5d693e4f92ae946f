from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streams import ALLOC, COPY, LAUNCH, MAIN, SYNC, WORKER, trace

from gpuadvise.cudatrace.attribute import attribute, busy_intervals, call_places
from gpuadvise.cudatrace.records import Trace, load
from gpuadvise.gpumodel import LineWork

DATA = Path(__file__).parents[1] / "data" / "cudatrace"


def by_line(found: Trace) -> dict[int | None, LineWork]:
    return {w.place.line if w.place else None: w for w in attribute(found).lines}


def test_a_call_belongs_to_the_line_its_thread_was_at() -> None:
    found = trace(
        lines=[(0, MAIN, 1), (100, MAIN, 2), (200, MAIN, 1)],
        calls=[
            (50, 60, MAIN, 1, LAUNCH),
            (100, 110, MAIN, 2, LAUNCH),  # at the very moment of the event: the new line
            (199, 205, MAIN, 3, LAUNCH),  # ends in the next line, but was made on this one
            (200, 210, MAIN, 4, LAUNCH),
        ],
    )
    assert call_places(found).tolist() == [0, 1, 1, 0]


def test_a_thread_without_lines_works_for_the_main_threads_line() -> None:
    """Autograd's kernels are launched by a thread of its own: they belong to ``backward()``."""
    found = trace(
        lines=[(0, MAIN, 1), (100, MAIN, 5)],
        calls=[(150, 160, WORKER, 1, LAUNCH)],
        kernels=[(170, 180, 1)],
    )
    assert by_line(found)[5].kernels == 1


def test_a_thread_with_lines_of_its_own_keeps_them() -> None:
    found = trace(
        lines=[(0, MAIN, 1), (40, WORKER, 7), (100, MAIN, 5)],
        calls=[(150, 160, WORKER, 1, LAUNCH), (20, 30, WORKER, 2, LAUNCH)],
    )
    assert call_places(found).tolist() == [6, 0]


def test_device_work_follows_its_correlation_id() -> None:
    found = trace(
        lines=[(0, MAIN, 1), (100, MAIN, 2)],
        calls=[(10, 12, MAIN, 71, LAUNCH), (110, 112, MAIN, 70, LAUNCH)],
        kernels=[(120, 150, 71), (150, 250, 70), (300, 310, 99)],
    )
    work = by_line(found)
    assert work[1].gpu == pytest.approx(30e-9)
    assert work[2].gpu == pytest.approx(100e-9)
    assert work[None].kernels == 1  # its launch was not recorded
    assert attribute(found).covered["kernels"] == (2, 3)
    assert attribute(found).coverage == pytest.approx(2 / 3)


def test_copies_are_told_apart_by_direction_and_memory() -> None:
    found = trace(
        lines=[(0, MAIN, 3)],
        calls=[(10, 20, MAIN, 1, COPY), (30, 40, MAIN, 2, COPY), (50, 60, MAIN, 3, COPY)],
        copies=[
            (12, 18, 1, 800, 1, 1, 3),
            (32, 38, 2, 800, 1, 2, 3),
            (52, 58, 3, 400, 2, 3, 1),
        ],
    )
    found_copies = {(c.direction, c.source, c.target): c.bytes for c in by_line(found)[3].copies}
    assert found_copies == {
        ("host to device", "pageable", "device"): 800,
        ("host to device", "pinned", "device"): 800,
        ("device to host", "device", "pageable"): 400,
    }


def test_a_copy_that_waits_for_kernels_is_a_hidden_synchronisation() -> None:
    """The call takes 500 ns, the copy 10: 480 ns are spent waiting for the kernel before it."""
    found = trace(
        lines=[(0, MAIN, 1), (90, MAIN, 2)],
        calls=[(10, 20, MAIN, 1, LAUNCH), (100, 600, MAIN, 2, COPY)],
        kernels=[(15, 580, 1)],
        copies=[(580, 590, 2, 8, 2, 3, 1)],
    )
    work = by_line(found)[2]
    assert work.copy_waits == 1
    assert work.copy_wait == pytest.approx(480e-9)
    assert work.sync_wait == 0.0
    assert work.waited == pytest.approx(480e-9)


def test_an_asynchronous_copy_makes_nobody_wait() -> None:
    """A pinned device-to-host copy returns at once and runs long after."""
    found = trace(
        lines=[(0, MAIN, 1)],
        calls=[(10, 20, MAIN, 1, LAUNCH), (100, 110, MAIN, 2, COPY)],
        kernels=[(15, 580, 1)],
        copies=[(580, 590, 2, 8, 2, 3, 2)],
    )
    assert by_line(found)[1].copy_waits == 0


def test_synchronisations_and_allocations_are_counted_where_they_are() -> None:
    found = trace(
        lines=[(0, MAIN, 1), (50, MAIN, 2)],
        calls=[(10, 40, MAIN, 1, SYNC), (60, 70, MAIN, 2, ALLOC)],
        syncs=[(11, 39, 1)],
        memory=[(65, 2, 4096, 0)],
    )
    work = by_line(found)
    assert (work[1].syncs, work[1].sync_wait) == (1, pytest.approx(30e-9))
    assert (work[2].allocations, work[2].frees) == (1, 0)
    assert work[2].memory_api == pytest.approx(10e-9)


def test_idle_time_is_split_over_the_lines_that_ran_meanwhile() -> None:
    """Device busy 100-200 and 500-600. Line 1 runs to 300, line 2 from there."""
    found = trace(
        lines=[(0, MAIN, 1), (300, MAIN, 2)],
        calls=[(90, 95, MAIN, 1, LAUNCH), (450, 460, MAIN, 2, LAUNCH)],
        kernels=[(100, 200, 1), (500, 600, 2)],
        ended=1000,
    )
    work = by_line(found)
    assert work[1].idle == pytest.approx(100e-9)  # 200 to 300; before the first kernel is start-up
    assert work[2].idle == pytest.approx(200e-9)  # 300 to 500; after the last kernel nothing
    assert work[1].host == pytest.approx(300e-9)
    assert work[2].host == pytest.approx(700e-9)


def test_overlapping_device_work_is_busy_once() -> None:
    start, end = busy_intervals(trace(kernels=[(10, 50, 1), (20, 30, 2), (40, 60, 3), (80, 90, 4)]))
    assert (start.tolist(), end.tolist()) == ([10, 80], [60, 90])


def test_callbacks_join_by_correlation_id() -> None:
    found = trace(
        lines=[(7, 0, 4), (9, 0, 6)],
        calls=[(10, 20, MAIN, 9, LAUNCH), (30, 40, MAIN, 7, LAUNCH), (50, 60, MAIN, 8, LAUNCH)],
        method="callback",
    )
    assert call_places(found).tolist() == [5, 3, -1]


def test_an_empty_trace_has_no_lines() -> None:
    work = attribute(trace())
    assert work.lines == ()
    assert work.coverage == 1.0


@pytest.mark.parametrize("name", sorted(p.stem for p in DATA.glob("*.npz")))
def test_recorded_streams_are_attributed_wholly(name: str) -> None:
    """Streams recorded on an H200: every kernel, copy and synchronisation has a line."""
    recorded = load(DATA / f"{name}.npz")
    work = attribute(recorded)
    assert work.coverage >= 0.99
    assert sum(w.kernels for w in work.lines) == len(recorded["kernels"])
    moved = sum(c.bytes for w in work.lines for c in w.copies)
    assert moved == int(recorded["copies"]["bytes"].sum())
    host = sum(w.host for w in work.lines)
    assert host <= recorded.span * 1e-9 * 1.001


def test_the_recorded_training_shows_backward_and_item() -> None:
    """Line 44 calls ``backward()``, whose kernels another thread launches; 46 is ``.item()``."""
    recorded = load(DATA / "torch_training.npz")
    work = by_line(recorded)
    calls = recorded["calls"]
    assert len(np.unique(calls["thread"])) > 1
    assert work[44].kernels > 100
    fetched = {c.direction: c.count for c in work[46].copies}
    assert fetched == {"device to host": 8}
    assert work[47].syncs == 8


def test_raw_kernels_of_four_threads_are_at_the_threads_own_lines() -> None:
    """``square`` is launched at line 17 by each worker ten times, and once by the main thread."""
    recorded = load(DATA / "cupy_raw_threads.npz")
    work = by_line(recorded)
    assert {name: count for name, (count, _) in work[17].names.items()} == {"square": 41}
    assert (work[26].syncs, work[23].kernels) == (4, 4)
    assert [(c.direction, c.count, c.bytes) for c in work[27].copies] == [
        ("device to host", 4, 4 * (1000 + 2000 + 3000 + 4000))
    ]
    assert len(np.unique(recorded["calls"]["thread"])) == 5


def test_the_recorded_kernel_on_host_arrays_copies_at_its_launch() -> None:
    work = by_line(load(DATA / "numba_host_arrays.npz"))
    directions = {c.direction: (c.count, c.bytes) for c in work[29].copies}
    assert directions == {
        "host to device": (10, 10 * 64 * 64 * 8),
        "device to host": (10, 10 * 64 * 64 * 8),
    }
    assert work[29].kernels == 5
    assert work[30].syncs == 5
