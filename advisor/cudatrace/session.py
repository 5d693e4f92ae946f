"""The traced run inside the script's process: set up, run, write down, end.

Started as ``python runner.py PLAN.json``; the plan says what to run and where to write. However
the script ends, what was recorded is written, in the program's own process only.
"""

# In the program's process: as few objects and imports as can be.
# ruff: noqa: PTH105, PTH123

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from ..observe import session as running
from ..observe.plan import RunPlan, plan_from_json
from .callwalk import CallWalker
from .clients import TAKEN_OVER, has_inner_profiler, outer_profiler
from .cupti import Cupti, CuptiProblem
from .lineclock import LineClock
from .linetrace import LineTrace
from .torchrecorder import TorchRecorder

METHOD = "GPUADVISE_TRACE_BY"
"""Environment variable, for comparing the ways on one machine: ``callback`` (in each CUDA call),
``trace`` (trace functions for lines), ``torch`` (PyTorch's profiler)."""


FORKED = (
    "the script forked after CUDA had started: CUDA does not work in such a child, and nothing of "
    "the children is recorded"
)
UNLOADED = (
    "the script unloaded GPU code while it ran: CUPTI forgets the names of what is unloaded, so "
    "kernels before that may be listed under another kernel's name (lines, counts and times hold)"
)


class Session:
    """One recording, and the ways in which it can end."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.pid = os.getpid()
        self.written = False
        self.notes: list[str] = []
        self.window: str | None = None
        self.recorder: Any = None
        self.lines: LineClock | CallWalker | None = None
        self.began = 0
        self.ended = 0

    def start(self) -> None:
        """Begin to record; where that is not possible a note says so, and the script runs bare."""
        try:
            self.recorder = self.choose()
        except CuptiProblem as problem:
            Path(self.plan.out).with_suffix(".why").write_text(f"{problem}\n", encoding="utf-8")
            return
        self.thread = threading.get_native_id()
        self.lines = self.line_recorder()
        self.lines.start()
        self.watch_the_ends()
        self.began = self.recorder.clock()

    def choose(self) -> Any:
        """A recorder at work: CUPTI's bindings, or else PyTorch's profiler. Raises CuptiProblem."""
        if outer := outer_profiler(os.environ):
            raise CuptiProblem(outer)
        try:
            if os.environ.get(METHOD) == "torch":
                raise CuptiProblem("not asked for", other_way=True)
            recorder: Any = Cupti()
            recorder.start()
            return recorder
        except CuptiProblem as problem:
            if not problem.other_way:
                raise
            reason = problem
        if find_spec("torch") is None:
            instead = "PyTorch, whose profiler could stand in, is not installed either"
            raise CuptiProblem(f"{reason}; {instead}")
        try:
            recorder = TorchRecorder()
            recorder.start()
        except CuptiProblem as problem:
            raise CuptiProblem(f"{reason}; {problem}") from None
        self.notes.append(f"recorded with PyTorch's profiler instead of CUPTI directly: {reason}")
        return recorder

    def line_recorder(self) -> LineClock | CallWalker:
        """What fits the recorder and this Python."""
        files, method = self.plan.user_files, os.environ.get(METHOD)
        by_call = method == "callback" or (method != "trace" and not hasattr(sys, "monitoring"))
        if by_call and isinstance(self.recorder, Cupti):
            return CallWalker(files, self.recorder, self.close_window)
        events = hasattr(sys, "monitoring") and method != "trace"
        kind = LineClock if events else LineTrace
        return kind(files, self.recorder.clock, self.close_window, self.look_for_room)

    # ------------------------------------------------------------------ window
    def close_window(self, reason: str, ended: int | None = None) -> None:
        """Stop recording while the script goes on. ``ended``: CUPTI's time; None: now."""
        if self.window is not None or self.written or self.lines is None:
            return
        self.window = reason
        self.ended = self.recorder.clock() if ended is None else ended
        self.lines.stop()
        self.recorder.pause()

    def look_for_room(self) -> None:
        """Close the window once CUDA's records had no room."""
        if self.recorder.room is not None:
            self.close_window(*self.recorder.room)

    # ------------------------------------------------------------------ ending
    def watch_the_ends(self) -> None:
        """Write the records however the process ends, a kill or a crash in C apart."""
        atexit.register(self.write)
        os.register_at_fork(before=self.note_fork, after_in_child=self.forget)
        leave = os._exit

        def _exit(status: int) -> NoReturn:
            self.write()
            leave(status)

        os._exit = _exit
        sys.addaudithook(lambda event, args: self.write() if event == "os.exec" else None)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.terminated)

    def terminated(self, signum: int, frame: types.FrameType | None) -> None:
        """The time limit: end as a program without a handler does, with the records written."""
        self.write("the run was ended by a signal")
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    def note_fork(self) -> None:
        """Said once, whatever number of workers a loader starts."""
        if self.recorder.used and FORKED not in self.notes:
            self.notes.append(FORKED)

    def forget(self) -> None:
        """In a forked child: CUDA does not work there, and the records are the parent's."""
        self.written = True
        if self.lines is not None:
            self.lines.stop()
        if signal.getsignal(signal.SIGTERM) == self.terminated:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def write(self, cut: str | None = None) -> None:
        """Write the trace, once. ``cut``: why the run ends before the script's end."""
        if self.written or os.getpid() != self.pid or self.recorder is None or self.lines is None:
            return
        self.look_for_room()
        self.written = True
        now = self.recorder.clock()
        self.lines.stop()
        self.recorder.stop()
        if isinstance(self.recorder, TorchRecorder) and isinstance(self.lines, LineClock):
            self.recorder.threads = self.lines.natives
        if self.recorder.took_over and (self.recorder.count == 0 or has_inner_profiler()):
            self.notes.append(TAKEN_OVER)
        if self.recorder.unloaded:
            self.notes.append(UNLOADED)
        from .assemble import trace_of
        from .records import save

        trace = trace_of(
            self.recorder,
            self.lines,
            main_thread=self.thread,
            span=(self.began, now if self.window is None else self.ended),
            notes=tuple(self.notes),
            window=self._window_words(now) or cut,
        )
        temporary = Path(f"{self.plan.out}.part")
        save(trace, temporary)
        os.replace(temporary, self.plan.out)

    def _window_words(self, now: int) -> str | None:
        if self.window is None:
            return None
        first, whole = ((end - self.began) * 1e-9 for end in (self.ended, now))
        return f"{self.window}; the figures stand for the first {first:.2f} s of {whole:.2f} s"

    def compile(self, data: bytes, path: str) -> types.CodeType | None:
        """The script's own code, watched from its first line."""
        code = compile(data, path, "exec", dont_inherit=True)
        if self.lines is not None:
            self.lines.watch(code)
        return code


def main(path: str) -> None:
    """Run the plan in the file ``path``; the exit is the program's own."""
    with open(path, encoding="utf-8") as file:
        plan = plan_from_json(json.load(file))
    session = Session(plan)
    session.start()
    running.run_as_main(plan, session.compile)
