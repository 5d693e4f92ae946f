"""Which line each thread was at, and when, on Python 3.11: trace functions instead of events.

For recorders that have no callbacks of their own (PyTorch's profiler). Every call of a Python
function, a library's too, costs one look at its file name; a debugger or a coverage tool in the
script takes the trace function away, and the lines end there.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

from .lineclock import LineClock


class LineTrace(LineClock):
    """Has the interface of `lineclock.LineClock`, and keeps its events in the same form."""

    def start(self) -> None:
        """Trace what this thread calls from now on, and what threads do that start later."""
        self._tool = 0
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> None:
        """No further event, in any thread."""
        if self._tool is None:
            return
        self._tool = None
        threading.settrace(None)
        sys.settrace(None)

    def watch(self, code: types.CodeType) -> None:
        """Nothing to do: a function is looked at when it is called."""

    def _called(self, frame: types.FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if self._tool is None or not (id(code) in self.codes or self._is_users(code)):
            return None
        self.codes[id(code)] = code
        self._mark(code, 1)
        if frame.f_lineno > code.co_firstlineno:  # a generator goes on in mid-line
            self._at(code, frame.f_lineno)
        return self._inside

    def _inside(self, frame: types.FrameType, event: str, arg: object) -> Any:
        if self._tool is None:
            return None
        if event == "line":
            self._at(frame.f_code, frame.f_lineno)
        elif event == "return":  # or a yield, or an exception on its way out
            self._mark(frame.f_code, 0)
            caller = frame.f_back
            while caller is not None and id(caller.f_code) not in self.codes:
                caller = caller.f_back
            if caller is not None:
                self._at(caller.f_code, caller.f_lineno)
        return self._inside

    def _at(self, code: types.CodeType, line: int | None) -> None:
        push = getattr(self._own, "push", None) or self._new_thread()
        push((self.clock(), id(code), line or code.co_firstlineno))
