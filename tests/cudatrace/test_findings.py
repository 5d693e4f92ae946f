"""Findings on recorded traces of the bundled programs, and their track in the timeline."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streams

import gpuadvise.targets
from gpuadvise.cudatrace import chrome
from gpuadvise.cudatrace.attribute import Attribution, attribute
from gpuadvise.cudatrace.findings import findings, marks
from gpuadvise.cudatrace.records import Trace, load
from gpuadvise.gpumodel import Place
from gpuadvise.model import Advice, Exited, RunResult, Source

DATA = Path(__file__).parents[1] / "data" / "cudatrace"
TARGETS = Path(gpuadvise.targets.__file__).parent / "cuda"
RECORDED = sorted(path.stem for path in DATA.glob("*.npz"))


def looked_at(name: str, method: str = "lines") -> tuple[Trace, Attribution, tuple[Advice, ...]]:
    """The recorded trace of a target, with the places in the target's own file."""
    recorded = load(DATA / f"{name}.npz")
    file = next(p for p in (DATA / f"{name}.py", TARGETS / f"{name}.py") if p.is_file())
    places = tuple(Place(str(file), p.line, p.function) for p in recorded.places)
    trace = replace(recorded, places=places)
    work = attribute(trace)
    trace = replace(trace, method=method)
    wall = trace.span * 1e-9
    run = RunResult(Exited(0), wall, wall, 0, 0, b"", b"")
    return trace, work, findings(trace, work, run, {file: Source(file, file.read_bytes())})


def named(found: Iterable[Advice]) -> set[tuple[str, int]]:
    return {(advice.rule, advice.mistake.line) for advice in found}


def test_mistakes_are_named_at_their_lines() -> None:
    assert {("CP304", 20), ("CP301", 31)} <= named(looked_at("cupy_life")[2])
    assert {("NC401", 29), ("NC403", 30)} <= named(looked_at("numba_host_arrays")[2])
    assert {("PT501", 46), ("PT502", 47)} <= named(looked_at("torch_training")[2])


def test_a_well_written_program_has_none() -> None:
    assert looked_at("cupy_resident")[2] == ()


def test_nothing_of_them_is_offered_as_a_rewrite() -> None:
    found = looked_at("numba_host_arrays")[2]
    assert found and all(advice.mistake.match is None for advice in found)
    assert all(advice.mistake.measured for advice in found)


def test_a_finding_covers_its_loop_from_the_lines_first_turn_to_the_loops_end() -> None:
    """Line 29 launches; line 32 returns what the loop of lines 26 to 31 made."""
    trace, work, found = looked_at("numba_host_arrays")
    launch = [a for a in found if a.rule == "NC401"]
    (mark,) = marks(trace, work, launch)
    times = {
        line: trace["lines"]["time"][
            [trace.places[p].line == line for p in trace["lines"]["place"]]
        ]
        for line in (29, 32)
    }
    assert mark.start == times[29][0]
    assert mark.end == times[32][0]
    assert mark.track == "NC401 numba_host_arrays.py:29"


def test_without_times_of_lines_a_finding_covers_its_calls() -> None:
    trace, work, found = looked_at("numba_host_arrays", method="callback")
    (mark,) = marks(trace, work, [a for a in found if a.rule == "NC403"])
    calls = trace["calls"][[trace.places[p].line == 30 for p in work.calls]]
    assert (mark.start, mark.end) == (calls["start"].min(), calls["end"].max())


# -------------------------------------------------- what Perfetto asks of a file
def tracks(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Spans of every track in nanoseconds, the longer first of those that begin together."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            span = (start, start + round(event["dur"] * 1000))
            found.setdefault((event["pid"], event["tid"]), []).append(span)
    return {key: sorted(spans, key=lambda s: (s[0], -s[1])) for key, spans in found.items()}


@pytest.mark.parametrize("name", RECORDED)
def test_the_timeline_keeps_the_formats_rules(name: str, tmp_path: Path) -> None:
    """Every event has its fields; spans of a track follow or contain one another; all are named."""
    trace, work, found = looked_at(name)
    chrome.write(trace, work, tmp_path / "t.json", marks(trace, work, found))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    for event in events:
        assert {"ph", "name", "pid"} <= event.keys()
        assert all(isinstance(event[key], int) for key in ("pid", "tid") if key in event)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
    names = {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M"}
    for track, spans in tracks(events).items():
        assert track in names
        assert (track[0], None) in names
        open_until: list[int] = []
        for start, end in spans:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (track, start, end)
            open_until.append(end)


def test_the_findings_are_a_process_above_the_others(tmp_path: Path) -> None:
    trace, work, found = looked_at("torch_training")
    events = list(chrome.events(trace, work, marks(trace, work, found)))
    shown = {
        e["args"]["name"]
        for e in events
        if e["pid"] == chrome.FINDINGS and e["ph"] == "M" and e["name"] == "thread_name"
    }
    assert shown == {f"{a.rule} torch_training.py:{a.mistake.line}" for a in found}
    order = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    assert min(order, key=lambda pid: order[pid]) == chrome.FINDINGS


def test_kernels_that_overlap_in_a_stream_have_tracks_of_their_own() -> None:
    """Kernels of a CUDA graph run at the same time, and count as one stream's."""
    made = streams.trace(kernels=[(10, 50, 1), (20, 30, 2), (30, 45, 3), (50, 60, 4), (25, 40, 5)])
    events = list(chrome.events(made, attribute(made)))
    kernels = {e["args"]["correlation"]: e["tid"] for e in events if e.get("cat") == "kernel"}
    assert kernels[1] == kernels[4]
    assert kernels[2] == kernels[3]
    assert len(set(kernels.values())) == 3
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names[kernels[1]] == "stream 7"
    assert names[kernels[2]] == "stream 7, at the same time (2)"
