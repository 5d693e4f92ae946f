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
import sys
import threading
import types
from pathlib import Path
from typing import Any, NoReturn

from ..observe import session as running
from ..observe.plan import RunPlan, plan_from_json
from .callwalk import CallWalker
from .lineclock import LineClock

METHOD = "GPUADVISE_TRACE_BY_CALLBACK"
"""Environment variable, for comparing both ways on one Python: set to use callbacks."""


class Session:
    """One recording, and the ways in which it can end."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.pid = os.getpid()
        self.written = False
        self.notes: list[str] = []
        self.window: str | None = None
        self.cupti: Any = None
        self.lines: LineClock | CallWalker | None = None
        self.began = 0

    def start(self) -> None:
        """Begin to record; where that is not possible a note says so, and the script runs bare."""
        from .cupti import Cupti, CuptiProblem

        try:
            cupti = Cupti(self.close_window)
            cupti.start()
        except CuptiProblem as problem:
            Path(self.plan.out).with_suffix(".why").write_text(f"{problem}\n", encoding="utf-8")
            return
        self.cupti = cupti
        self.thread = threading.get_native_id()
        files = self.plan.user_files
        if hasattr(sys, "monitoring") and METHOD not in os.environ:
            self.lines = LineClock(files, cupti.api.get_timestamp, self.close_window)
        else:
            self.lines = CallWalker(files, cupti, self.close_window)
        self.lines.start()
        self.watch_the_ends()
        self.began = cupti.clock()

    def close_window(self, reason: str) -> None:
        """Stop recording while the script goes on."""
        if self.window is None and not self.written:
            self.window = reason
            self.ended = self.cupti.clock()
            if self.lines is not None:
                self.lines.stop()

    # ------------------------------------------------------------------ ending
    def watch_the_ends(self) -> None:
        """Write the records however the process ends, a kill or a crash in C apart."""
        atexit.register(self.write)
        if self.lines is not None:
            os.register_at_fork(after_in_child=self.forget)
        leave = os._exit

        def _exit(status: int) -> NoReturn:
            self.write()
            leave(status)

        os._exit = _exit
        sys.addaudithook(lambda event, args: self.write() if event == "os.exec" else None)

    def forget(self) -> None:
        """In a forked child: CUDA does not work there, and the records are the parent's."""
        self.written = True
        if self.lines is not None:
            self.lines.stop()

    def write(self) -> None:
        """Write the trace, once."""
        if self.written or os.getpid() != self.pid or self.cupti is None or self.lines is None:
            return
        self.written = True
        ended = self.ended if self.window is not None else self.cupti.clock()
        self.lines.stop()
        self.cupti.stop()
        if self.cupti.buffers.missing and (self.cupti.count == 0 or _other_profiler()):
            self.notes.append(
                "another profiler in the script took CUPTI over (it admits one client at a time): "
                "what ran from then on is not recorded"
            )
        from .assemble import trace_of
        from .records import save

        trace = trace_of(
            self.cupti,
            self.lines,
            main_thread=self.thread,
            span=(self.began, ended),
            notes=tuple(self.notes),
            window=self.window,
        )
        temporary = Path(f"{self.plan.out}.part")
        save(trace, temporary)
        os.replace(temporary, self.plan.out)

    def compile(self, data: bytes, path: str) -> types.CodeType | None:
        """The script's own code, watched from its first line."""
        code = compile(data, path, "exec", dont_inherit=True)
        if self.lines is not None:
            self.lines.watch(code)
        return code


def _other_profiler() -> bool:
    """Whether a library is loaded that starts a profiler of its own on request."""
    return any(name in sys.modules for name in ("torch.profiler", "jax.profiler"))


def main(path: str) -> None:
    """Run the plan in the file ``path``; the exit is the program's own."""
    with open(path, encoding="utf-8") as file:
        plan = plan_from_json(json.load(file))
    session = Session(plan)
    session.start()
    running.run_as_main(plan, session.compile)
