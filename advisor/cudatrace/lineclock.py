"""Which line each thread was at, and when: ``sys.monitoring`` events of the user's files.

Lives in the script's process (Python 3.12 and later). A line event costs one reading of the clock
and one append; what it means is worked out after the run.
"""

from __future__ import annotations

import array
import os
import sys
import threading
import types
from collections.abc import Callable, Collection
from typing import Any

LIMIT = 4_000_000
"""Line and function events of one run (24 bytes each); then recording stops."""
_CHECK_EVERY = 4096


class LineClock:
    """Records lines and functions of code whose file is in ``files``.

    A return moves the thread back into its caller, in mid-line, without a new line event: what the
    caller launches after it would be booked on the callee's last line. So returns, yields and
    unwinding are recorded as well, with the caller's line.
    """

    method = "lines"

    def __init__(
        self,
        files: Collection[str],
        clock: Callable[[], int],
        full: Callable[[str], None],
        look: Callable[[], None] | None = None,
    ) -> None:
        """``full`` is called, once, with the reason when there is no room for more events.

        ``look`` is called now and then, from the script's threads.
        """
        self.files = frozenset(files)
        self.clock = clock
        self.full = full
        self.look = look
        self.codes: dict[int, types.CodeType] = {}
        """By `id`, which events name them by."""
        self.lines: dict[int, array.array[int]] = {}
        """Thread -> time, code and line of its events, one after the other."""
        self.ranges: dict[int, array.array[int]] = {}
        """Thread -> time, code, and 1 for entering or 0 for leaving."""
        self._known: dict[str, bool] = {}
        self._tool: int | None = None
        # Not by ``get_ident``: a new thread may get the number of one that has ended.
        self._own = threading.local()
        self.natives: dict[int, int] = {}
        """Python's number of each thread -> the operating system's, of the last that had it."""
        self._room = LIMIT

    # ------------------------------------------------------------------ events
    def start(self) -> None:
        """Take a tool id of ``sys.monitoring``. Raises RuntimeError if all are taken."""
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        for tool in (4, 3, 2, 1, 0):
            if monitoring.get_tool(tool) is None:
                break
        else:
            raise RuntimeError("all tool ids of sys.monitoring are in use")
        monitoring.use_tool_id(tool, "gpuadvise")
        self._tool = tool
        events = monitoring.events
        self._local = (
            events.LINE | events.PY_START | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME
        )
        for event, handler in (
            (events.LINE, self._line()),
            (events.PY_START, self._on_start),
            (events.PY_RETURN, self._on_leave),
            (events.PY_YIELD, self._on_leave),
            (events.PY_RESUME, self._on_resume),
            (events.PY_UNWIND, self._on_leave),
        ):
            monitoring.register_callback(tool, event, handler)
        monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)

    def stop(self) -> None:
        """No further event, in any thread."""
        tool, self._tool = self._tool, None
        if tool is None:
            return
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        monitoring.set_events(tool, 0)
        for code in self.codes.values():
            monitoring.set_local_events(tool, code, 0)
        monitoring.free_tool_id(tool)

    def watch(self, code: types.CodeType) -> None:
        """Events for a code object and all that is defined in it."""
        if id(code) in self.codes or self._tool is None:
            return
        self.codes[id(code)] = code  # kept alive: its id stands for it
        sys.monitoring.set_local_events(self._tool, code, self._local)  # type: ignore[attr-defined,unused-ignore]
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.watch(constant)

    def _is_users(self, code: types.CodeType) -> bool:
        name = code.co_filename
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = os.path.realpath(name) in self.files
        return known

    # ---------------------------------------------------------------- handlers
    def _line(self) -> Callable[[types.CodeType, int], Any]:
        """The line handler, with all it needs in its cells: it is called at every line."""
        clock, own, new = self.clock, self._own, self._new_thread

        def on_line(code: types.CodeType, line: int) -> None:
            try:
                push = own.push
            except AttributeError:
                push = new()
            push((clock(), id(code), line))

        return on_line

    def _new_thread(self) -> Callable[[tuple[int, int, int]], None]:
        """The recording function of the thread that calls."""
        native = threading.get_native_id()
        self.natives[threading.get_ident()] = native
        # The system uses its numbers again as well, for threads that come after one another.
        stream = self.lines.setdefault(native, array.array("Q"))
        extend, left = stream.extend, [_CHECK_EVERY]

        def push(event: tuple[int, int, int]) -> None:
            extend(event)
            left[0] -= 1
            if left[0] <= 0:
                left[0] = _CHECK_EVERY
                self._check()

        self._own.push = push
        return push

    def _check(self) -> None:
        if self.look is not None:
            self.look()
        taken = sum(map(len, list(self.lines.values()))) // 3  # threads may be added meanwhile
        if taken >= self._room:
            self._close(f"{taken} line events were recorded")

    def _close(self, reason: str) -> None:
        self._room = sys.maxsize
        self.full(reason)

    def _mark(self, code: types.CodeType, enter: int) -> None:
        native = threading.get_native_id()
        stream = self.ranges.setdefault(native, array.array("Q"))
        if len(stream) >= 3 * LIMIT // 4:
            if self._room < sys.maxsize:
                self._close(f"{len(stream) // 3} entries and exits of functions were recorded")
            return
        stream.extend((self.clock(), id(code), enter))

    def _on_start(self, code: types.CodeType, offset: int) -> Any:
        if id(code) not in self.codes:
            if not self._is_users(code):
                return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
            self.watch(code)
        self._mark(code, 1)
        return None

    def _on_resume(self, code: types.CodeType, offset: int) -> None:
        self._mark(code, 1)
        frame = sys._getframe(1)
        push = getattr(self._own, "push", None) or self._new_thread()
        push((self.clock(), id(code), frame.f_lineno or code.co_firstlineno))

    def _on_leave(self, code: types.CodeType, offset: int, value: object) -> None:
        if id(code) not in self.codes:
            return  # unwinding through a library's frame
        self._mark(code, 0)
        caller = sys._getframe(1).f_back
        while caller is not None and id(caller.f_code) not in self.codes:
            caller = caller.f_back
        if caller is None or caller.f_lineno is None:
            return
        push = getattr(self._own, "push", None) or self._new_thread()
        push((self.clock(), id(caller.f_code), caller.f_lineno))
