from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from streams import COPY, LAUNCH, MAIN, SYNC, WORKER, trace

from gpuadvise.cudatrace import chrome, summaries
from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.cupti import readable
from gpuadvise.cudatrace.records import load, save

DATA = Path(__file__).parents[1] / "data" / "cudatrace"


def test_calls_are_summed_by_name_with_the_share_of_this_table() -> None:
    found = summaries.calls(
        trace(calls=[(0, 10, MAIN, 1, LAUNCH), (20, 50, MAIN, 2, LAUNCH), (60, 120, MAIN, 3, SYNC)])
    )
    names = [row.name for row in found.rows]
    assert names == ["cudaStreamSynchronize", "cudaLaunchKernel"]
    launch = found.rows[1]
    assert (launch.count, launch.total, launch.mean, launch.median) == (2, 40.0, 20.0, 20.0)
    assert (launch.least, launch.most, launch.share) == (10.0, 30.0, 0.4)
    assert launch.deviation == pytest.approx(np.std([10, 30], ddof=1))


def test_copies_are_summed_by_direction_in_time_and_size() -> None:
    found = trace(
        calls=[(0, 1, MAIN, 1, COPY)],
        copies=[
            (0, 100, 1, 4000, 1, 1, 3),
            (200, 260, 2, 1000, 2, 3, 1),
            (300, 320, 3, 2000, 1, 2, 3),
        ],
    )
    times = {row.name: row.total for row in summaries.memory_times(found).rows}
    sizes = {row.name: row.total for row in summaries.memory_sizes(found).rows}
    assert times == {"[CUDA memcpy Host-to-Device]": 120.0, "[CUDA memcpy Device-to-Host]": 60.0}
    assert sizes == {"[CUDA memcpy Host-to-Device]": 6000.0, "[CUDA memcpy Device-to-Host]": 1000.0}


def test_functions_are_ranges_with_the_calls_they_make() -> None:
    """Function at line 1 calls the one at line 5 twice; another thread runs line 9's."""
    found = trace(
        ranges=[
            (0, MAIN, 1, 1),
            (10, MAIN, 5, 1),
            (15, WORKER, 9, 1),
            (30, MAIN, 5, 0),
            (40, MAIN, 5, 1),
            (50, MAIN, 5, 0),
            (95, WORKER, 9, 0),
            (100, MAIN, 1, 0),
        ]
    )
    lasting = sorted(row.total for row in summaries.ranges(found).rows)
    # All places of the hand-made stream are in one function, "run": 100 + 20 + 10 + 80.
    assert lasting == [210.0]
    assert summaries.ranges(found).rows[0].count == 4


def test_a_range_left_by_an_exception_closes_with_its_caller() -> None:
    found = trace(ranges=[(0, MAIN, 1, 1), (10, MAIN, 5, 1), (60, MAIN, 1, 0)])
    assert [row.total for row in summaries.ranges(found).rows] == [60.0]


def test_the_five_tables_come_in_the_order_of_nsys() -> None:
    keys = [s.key for s in summaries.summaries(load(DATA / "torch_training.npz"))]
    assert keys == [
        "nvtx_sum",
        "cuda_api_sum",
        "cuda_gpu_kern_sum",
        "cuda_gpu_mem_time_sum",
        "cuda_gpu_mem_size_sum",
    ]


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    recorded = load(DATA / "cupy_life.npz")
    save(recorded, tmp_path / "copy.npz")
    again = load(tmp_path / "copy.npz")
    assert again.places == recorded.places
    assert again.names == recorded.names
    assert all((again[name] == recorded[name]).all() for name in recorded.tables)
    assert (again.began, again.ended, again.method) == (recorded.began, recorded.ended, "lines")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"text"])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other.npz"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.npz is no trace"):
        load(file)


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    recorded = load(DATA / "cupy_life.npz")
    changed = {**recorded.tables, "syncs": np.zeros(1, dtype=[("start", "u8")])}
    texts = np.load(DATA / "cupy_life.npz")["texts"]
    np.savez(tmp_path / "old.npz", texts=texts, **changed)
    with pytest.raises(ValueError, match=r"columns \('start',\)"):
        load(tmp_path / "old.npz")


def test_the_timeline_holds_every_call_kernel_and_copy(tmp_path: Path) -> None:
    recorded = load(DATA / "torch_training.npz")
    mark = chrome.Mark("many short kernels", recorded.began + 1000, recorded.began + 5000)
    chrome.write(recorded, attribute(recorded), tmp_path / "t.json", [mark])
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    counts = {
        kind: sum(e["cat"] == kind for e in spans) for kind in ("cuda call", "kernel", "copy")
    }
    assert counts == {
        "cuda call": len(recorded["calls"]),
        "kernel": len(recorded["kernels"]),
        "copy": len(recorded["copies"]),
    }
    assert all(e["dur"] >= 0 for e in spans)
    finding = next(e for e in spans if e["cat"] == "finding")
    assert (finding["ts"], finding["dur"]) == (1.0, 4.0)
    named = {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M"}
    assert {(e["pid"], e["tid"]) for e in spans} <= named


def test_calls_in_the_timeline_carry_their_line(tmp_path: Path) -> None:
    recorded = load(DATA / "numba_host_arrays.npz")
    events = list(chrome.events(recorded, attribute(recorded)))
    lines = {e["args"].get("line") for e in events if e.get("cat") == "cuda call"}
    assert "/home/user/numba_host_arrays.py:29" in lines


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("life", "life"),
        ("_ZN2at6native6reduceIfEEvT_", "at::native::reduce"),
        (
            "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e853addEv",
            "at::native::add",
        ),
        ("_Z6squarePf", "square"),
        ("_Z", "_Z"),
    ],
)
def test_kernel_names_are_readable(symbol: str, name: str) -> None:
    assert readable(symbol) == name
