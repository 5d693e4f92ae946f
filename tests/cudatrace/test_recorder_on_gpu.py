"""The recorder on a real GPU: ``pytest -m gpu`` on a machine that has one, with CuPy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import gpuadvise.targets
from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.traced import TracedRun, trace_run
from gpuadvise.gpumodel import LineWork
from gpuadvise.model import Target
from gpuadvise.observe.machine import describe
from gpuadvise.observe.sandbox import Sandbox

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not describe().gpus, reason="there is no NVIDIA GPU on this machine"),
]
TARGETS = Path(gpuadvise.targets.__file__).parent / "cuda"


def traced(script: Path, *args: str) -> TracedRun:
    target = Target(script, args, None, script.parent, sys.executable)
    with Sandbox(target) as box:
        return trace_run(box, target)


def lines_of(run: TracedRun) -> dict[int | None, LineWork]:
    assert run.trace is not None, run.notes
    return {w.place.line if w.place else None: w for w in attribute(run.trace).lines}


def written(tmp_path: Path, text: str) -> Path:
    script = tmp_path / "script.py"
    script.write_text(text)
    return script


def test_copies_have_the_sizes_that_the_program_made(tmp_path: Path) -> None:
    text = (
        "import cupy as cp, numpy as np\n"
        "a = np.ones(1000)\n"
        "for _ in range(7):\n"
        "    b = cp.asarray(a)\n"
        "    c = b.get()\n"
        "print(c.sum())\n"
    )
    work = lines_of(traced(written(tmp_path, text)))
    assert [(c.direction, c.count, c.bytes) for c in work[4].copies] == [
        ("host to device", 7, 56_000)
    ]
    assert [(c.direction, c.count, c.bytes) for c in work[5].copies] == [
        ("device to host", 7, 56_000)
    ]


def test_a_kernels_time_agrees_with_events(tmp_path: Path) -> None:
    """CUDA events around long kernels, printed by the program, against the trace.

    Events see what other programs do to the GPU meanwhile, so the shortest of them counts.
    """
    text = (
        "import cupy as cp\n"
        "x = cp.ones(400_000_000)\n"
        "y = cp.sqrt(x)\n"
        "start, end = cp.cuda.Event(), cp.cuda.Event()\n"
        "times = []\n"
        "for _ in range(20):\n"
        "    start.record()\n"
        "    y = cp.sqrt(x)\n"
        "    end.record(); end.synchronize()\n"
        "    times.append(cp.cuda.get_elapsed_time(start, end))\n"
        "print(min(times))\n"
    )
    run = traced(written(tmp_path, text))
    events = float((run.run.stdout or b"0").split()[-1]) * 1e-3
    work = lines_of(run)[8]
    assert work.kernels == 20
    measured = work.kernel_time / work.kernels
    assert measured == pytest.approx(events, rel=0.25)


def test_threads_and_the_line_after_a_return(tmp_path: Path) -> None:
    text = (
        "import threading, cupy as cp\n"
        "def made():\n"
        "    return cp.arange(10)\n"
        "x = made() + 1\n"
        "def work():\n"
        "    cp.zeros(5) * 2\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
        "print(x.sum())\n"
    )
    work = lines_of(traced(written(tmp_path, text)))
    assert any("arange" in name for name in work[3].names)
    assert any("add" in name for name in work[4].names)
    assert any("multiply" in name for name in work[6].names)


def test_many_threads_that_end_while_the_gpu_works(tmp_path: Path) -> None:
    """CUPTI hands the buffers of an ending thread over; Python's numbers of threads come again."""
    text = (
        "import threading, cupy as cp\n"
        "def work():\n"
        "    (cp.ones(1000) * 2).get()\n"
        "for _ in range(30):\n"
        "    threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "    for thread in threads:\n"
        "        thread.start()\n"
        "    for thread in threads:\n"
        "        thread.join()\n"
    )
    run = traced(written(tmp_path, text))
    assert run.run.ok
    work = lines_of(run)
    assert work[3].kernels == 240
    assert [(c.direction, c.count) for c in work[3].copies] == [("device to host", 120)]


def test_a_run_at_its_time_limit_keeps_what_it_recorded(tmp_path: Path) -> None:
    text = "import cupy as cp\nx = cp.ones(1000)\nwhile True:\n    y = x * 2\n"
    script = written(tmp_path, text)
    target = Target(script, (), None, script.parent, sys.executable)
    with Sandbox(target) as box:
        run = trace_run(box, target, limit=6.0)
    assert lines_of(run)[4].kernels > 1000


def test_names_of_unloaded_modules_are_not_vouched_for(tmp_path: Path) -> None:
    text = (
        "import gc, cupy as cp\n"
        "x = cp.zeros(4, dtype=cp.float32)\n"
        "code = 'extern \"C\" __global__ void once(float* x) { x[0] += 1; }'\n"
        "module = cp.RawModule(code=code)\n"
        "module.get_function('once')((1,), (1,), (x,))\n"
        "cp.cuda.Device().synchronize()\n"
        "del module; gc.collect(); cp.clear_memo()\n"
        "print(float(x[0]))\n"
    )
    run = traced(written(tmp_path, text))
    assert lines_of(run)[5].kernels == 1
    assert any("unloaded GPU code" in note for note in run.notes), run.notes


def test_torchs_profiler_takes_over_where_cupti_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("GPUADVISE_TRACE_BY", "torch")
    text = (
        "import threading, cupy as cp\n"
        "def work():\n"
        "    (cp.ones(1000) * 2).get()\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
        "y = cp.ones(1000) + 1\n"
        "print(float(y.sum()))\n"
    )
    run = traced(written(tmp_path, text))
    work = lines_of(run)
    assert any("PyTorch's profiler instead" in note for note in run.notes)
    assert any("multiply" in name for name in work[3].names)
    assert any("add" in name for name in work[5].names)
    assert attribute(run.trace).coverage >= 0.99  # type: ignore[arg-type]


def test_torch_autograd_lands_on_backward() -> None:
    pytest.importorskip("torch")
    run = traced(TARGETS / "torch_training.py", "--size", "1024", "--steps", "1")
    work = lines_of(run)
    assert work[44].kernels > 50
    assert attribute(run.trace).coverage >= 0.99  # type: ignore[arg-type]


def test_another_profiler_in_the_script_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (
        "import torch\n"
        "x = torch.ones(100, 100, device='cuda')\n"
        "from torch.profiler import profile, ProfilerActivity\n"
        "with profile(activities=[ProfilerActivity.CUDA]):\n"
        "    y = (x @ x).sum().item()\n"
        "print(y)\n"
    )
    run = traced(written(tmp_path, text))
    assert any("another profiler" in note for note in run.notes), run.notes


def test_a_forked_child_leaves_the_parents_trace_alone(tmp_path: Path) -> None:
    text = (
        "import os, cupy as cp\n"
        "a = float(cp.ones(10).sum())\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print(a + float(cp.ones(5).sum()))\n"
    )
    run = traced(written(tmp_path, text))
    assert run.run.ok
    assert lines_of(run)[7].kernels >= 1
