"""Whole traced runs against a CUPTI and a CUDA that are made up (`fakes`): how a run can end."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.evidence import gather
from gpuadvise.cudatrace.traced import TracedRun, trace_run
from gpuadvise.gpumodel import LineWork
from gpuadvise.model import Exited, Killed, Stopped, Target
from gpuadvise.observe.sandbox import Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="CUDA is recorded on Linux alone")
FAKES = Path(__file__).parent / "fakes"


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{FAKES}{os.pathsep}{before}".rstrip(os.pathsep))


@pytest.fixture(params=["callback", "trace"])
def _method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUADVISE_TRACE_BY", request.param)


both = pytest.mark.usefixtures("_method")
"""Lines found in each CUDA call, and lines found by time."""


def target_of(tmp_path: Path, text: str) -> Target:
    script = tmp_path / "script.py"
    script.write_text(text)
    return Target(script, (), None, tmp_path, sys.executable)


def traced(tmp_path: Path, text: str, limit: float | None = None) -> TracedRun:
    target = target_of(tmp_path, text)
    with Sandbox(target) as box:
        return trace_run(box, target, limit=limit)


def lines_of(run: TracedRun) -> dict[int | None, LineWork]:
    assert run.trace is not None, (run.notes, run.run.stderr)
    return {w.place.line if w.place else None: w for w in attribute(run.trace).lines}


@both
def test_kernels_are_counted_at_their_lines_under_their_names(tmp_path: Path) -> None:
    text = (
        "import fake_cuda\n"
        "for _ in range(3):\n"
        "    fake_cuda.launch('square')\n"
        "fake_cuda.launch('sum')\n"
    )
    run = traced(tmp_path, text)
    assert run.run.end == Exited(0)
    assert run.notes == ()
    work = lines_of(run)
    assert {name: count for name, (count, _) in work[3].names.items()} == {"square": 3}
    assert {name: count for name, (count, _) in work[4].names.items()} == {"sum": 1}


def test_a_run_at_its_time_limit_keeps_what_it_recorded(tmp_path: Path) -> None:
    text = (
        "import fake_cuda, time\n"
        "for _ in range(10):\n"
        "    fake_cuda.launch()\n"
        "while True:\n"
        "    time.sleep(0.05)\n"
    )
    run = traced(tmp_path, text, limit=3.0)
    assert run.run.end == Stopped(3.0)
    assert run.notes[0] == "the traced run was stopped after 3 s"
    assert lines_of(run)[3].kernels == 10
    assert run.trace is not None and run.trace.window == "the run was ended by a signal"


def test_a_script_with_a_handler_of_its_own_keeps_it(tmp_path: Path) -> None:
    text = (
        "import fake_cuda, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "fake_cuda.launch()\n"
        "while True:\n"
        "    time.sleep(0.05)\n"
    )
    run = traced(tmp_path, text, limit=3.0)
    assert lines_of(run)[3].kernels == 1
    assert run.trace is not None and run.trace.window is None  # it ended by itself


def test_leaving_without_clearing_up_keeps_the_records(tmp_path: Path) -> None:
    run = traced(tmp_path, "import fake_cuda, os\nfake_cuda.launch()\nos._exit(3)\n")
    assert run.run.end == Exited(3)
    assert lines_of(run)[2].kernels == 1


def test_a_killed_run_says_how_it_ended(tmp_path: Path) -> None:
    text = "import fake_cuda, os\nfake_cuda.launch()\nos.kill(os.getpid(), 9)\n"
    run = traced(tmp_path, text)
    assert run.run.end == Killed(9)
    assert run.trace is None
    assert run.notes == (
        "the traced run ended without leaving its records",
        "under the recorder, the script was ended by signal 9",
    )


def test_a_script_that_fails_under_the_recorder_says_with_what(tmp_path: Path) -> None:
    """The recorder takes device memory: what just fitted does not any more."""
    text = "import fake_cuda\nfake_cuda.launch()\nraise MemoryError('out of device memory')\n"
    run = traced(tmp_path, text)
    said = (
        "under the recorder, the script ended with exit code 1: MemoryError: out of device memory"
    )
    assert run.notes == (said,)
    assert lines_of(run)[2].kernels == 1  # what it did until then is known


FORK = (
    "import fake_cuda, os\n"
    "{before}\n"
    "for _ in range(2):\n"
    "    if os.fork() == 0:\n"
    "        os._exit(0)\n"
    "    os.wait()\n"
    "fake_cuda.launch()\n"
)


@pytest.mark.parametrize(("before", "noted"), [("fake_cuda.launch()", 1), ("pass", 0)])
def test_forking_is_noted_once_and_only_after_cuda_began(
    tmp_path: Path, before: str, noted: int
) -> None:
    run = traced(tmp_path, FORK.format(before=before))
    assert sum("forked after CUDA had started" in note for note in run.notes) == noted
    assert lines_of(run)[7].kernels == 1


def test_kernels_whose_times_are_not_known_are_left_out(tmp_path: Path) -> None:
    """CUPTI writes zeros for them: they would have run since 1970."""
    run = traced(tmp_path, "import fake_cuda\nfake_cuda.launch()\nfake_cuda.launch(timed=False)\n")
    work = lines_of(run)
    assert (work[2].kernels, work[3].kernels, work[3].calls) == (1, 0, 1)


def test_a_child_does_not_write_the_parents_trace(tmp_path: Path) -> None:
    text = (
        "import fake_cuda, os, sys\n"
        "fake_cuda.launch()\n"
        "if os.fork() == 0:\n"
        "    sys.exit(0)\n"  # runs what is registered at exit
        "os.wait()\n"
        "fake_cuda.launch()\n"
    )
    assert lines_of(traced(tmp_path, text))[6].kernels == 1


@both
def test_full_buffers_end_the_window_and_the_rest_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One buffer of 256 kB takes some 1900 of 3000 launches."""
    monkeypatch.setenv("FAKE_CUPTI_ROOM", "1")
    text = (
        "import fake_cuda, time\n"
        "for _ in range(3000):\n"
        "    fake_cuda.launch()\n"
        "fake_cuda.launch('b')\n"
        "time.sleep(0.1)\n"
    )
    run = traced(tmp_path, text)
    work = lines_of(run)
    assert run.trace is not None and run.trace.window is not None
    assert run.trace.window.startswith("all 1 buffers for CUDA records are in use; the figures")
    first, whole = re.findall(r"([\d.]+) s", run.trace.window)
    assert run.trace.span * 1e-9 == pytest.approx(float(first), abs=0.01)
    assert float(first) < float(whole)
    assert 1500 < work[3].kernels < 3000
    assert 4 not in work
    assert run.trace.dropped > 0
    assert all((run.trace[name]["start"] <= run.trace.ended).all() for name in ("calls", "kernels"))
    if run.trace.method == "callback":
        return
    assert (run.trace["lines"]["time"] <= run.trace.ended).all()
    with Sandbox(target_of(tmp_path, text)) as box:
        _, notes = gather(box, box.target, limit=None, stdin=None)
    assert any("not traced to the script's end" in note for note in notes)


def test_what_was_recorded_before_another_profiler_came_is_kept(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "profiler.py").write_text("")
    text = "import fake_cuda, torch.profiler\nfake_cuda.launch()\nfake_cuda.profile()\n"
    run = traced(tmp_path, text)
    assert lines_of(run)[2].kernels == 1
    assert any("another profiler" in note for note in run.notes)


def test_pytorchs_profiler_stands_in_where_cupti_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = FAKES.with_name("fakes_torch")
    monkeypatch.setenv("PYTHONPATH", f"{fakes}{os.pathsep}{os.environ['PYTHONPATH']}")
    monkeypatch.setenv("FAKE_CUPTI_PROBLEM", "old")
    text = (
        "import fake_cuda, threading\n"
        "def work():\n"
        "    fake_cuda.launch('in a thread')\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
        "fake_cuda.launch('in the script')\n"
    )
    run = traced(tmp_path, text)
    assert run.run.end == Exited(0)
    (note,) = run.notes
    assert note.startswith("recorded with PyTorch's profiler instead of CUPTI directly: the NVIDIA")
    names = {line: list(work.names) for line, work in lines_of(run).items() if work.kernels}
    assert names == {3: ["in a thread"], 7: ["in the script"]}


def test_names_of_unloaded_code_are_not_vouched_for(tmp_path: Path) -> None:
    run = traced(tmp_path, "import fake_cuda\nfake_cuda.launch()\nfake_cuda.unload()\n")
    assert any("may be listed under another kernel's name" in note for note in run.notes)
    assert lines_of(run)[2].kernels == 1


@pytest.mark.parametrize(
    "variable", ["CUDA_INJECTION64_PATH", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE"]
)
def test_under_another_profiler_nothing_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    run = traced(tmp_path, "import fake_cuda\nfake_cuda.launch()\nprint('ran')\n")
    assert (run.run.stdout, run.trace) == (b"ran\n", None)
    assert run.notes == (
        f"another profiler runs the script ({variable} is set): CUPTI admits one client at a time",
    )


def test_a_run_that_another_profiler_breaks_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under ncu the traced run was seen to crash."""
    monkeypatch.setenv("NV_CUDA_START_SUSPENDED", "1")
    run = traced(tmp_path, "import os\nos.abort()\n")
    (note,) = run.notes
    assert note.startswith("another profiler runs the script (NV_CUDA_START_SUSPENDED is set)")


@both
def test_threads_that_follow_one_another_have_their_own_lines(tmp_path: Path) -> None:
    """Python gives the number of a thread that has ended to the next one."""
    text = (
        "import fake_cuda, threading\n"
        "def work():\n"
        "    fake_cuda.launch()\n"
        "for _ in range(20):\n"
        "    thread = threading.Thread(target=work)\n"
        "    thread.start()\n"
        "    thread.join()\n"
    )
    assert lines_of(traced(tmp_path, text))[3].kernels == 20


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("driver", "there is no NVIDIA driver on this machine (libcuda.so.1 is missing)"),
        ("old", "the NVIDIA driver is too old for this CUPTI"),
        ("import", "cupti-python does not load"),
        ("taken", "another profiler (nsys, ncu, a debugger) already uses CUPTI"),
    ],
)
def test_where_nothing_can_be_recorded_one_line_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str, said: str
) -> None:
    without = tmp_path / "without"
    without.mkdir()
    (without / "torch.py").write_text("raise ImportError('no PyTorch here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{without}{os.pathsep}{os.environ['PYTHONPATH']}")
    monkeypatch.setenv("FAKE_CUPTI_PROBLEM", problem)
    run = traced(tmp_path, "import fake_cuda\nfake_cuda.launch()\nprint('ran')\n")
    assert run.run.end == Exited(0)
    assert run.run.stdout == b"ran\n"
    assert run.trace is None
    assert len(run.notes) == 1
    assert run.notes[0].startswith(said)


def test_threads_have_lines_of_their_own(tmp_path: Path) -> None:
    text = (
        "import fake_cuda, threading\n"
        "def work(name):\n"
        "    for _ in range(50):\n"
        "        fake_cuda.launch(name)\n"
        "threads = [threading.Thread(target=work, args=(f'k{n}',)) for n in range(4)]\n"
        "for thread in threads:\n"
        "    thread.start()\n"
        "for thread in threads:\n"
        "    thread.join()\n"
    )
    work = lines_of(traced(tmp_path, text))
    assert work[4].kernels == 200
    assert sorted(work[4].names) == ["k0", "k1", "k2", "k3"]
