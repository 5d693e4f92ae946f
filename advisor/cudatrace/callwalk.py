"""Which line makes each CUDA call, where Python has no ``sys.monitoring`` (3.11).

CUPTI calls back at the entry of every recorded call, and the stack of the calling thread says the
line. Exact, but it stretches each call by some microseconds: times of short calls are too long.
"""

from __future__ import annotations

import array
import os
import sys
import threading
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .lineclock import LIMIT


class CallWalker:
    """Has the interface of `lineclock.LineClock`; the "time" of an event is a correlation id."""

    method = "callback"

    def __init__(self, files: Collection[str], cupti: Any, full: Callable[[str], None]) -> None:
        """``cupti``: a started `cupti.Cupti`."""
        self.files = frozenset(files)
        self.cupti = cupti
        self.full = full
        self.codes: dict[int, types.CodeType] = {}
        self.calls: array.array[int] = array.array("Q")
        self.main = threading.get_ident()
        self._known: dict[str, bool] = {}
        self._subscriber: int | None = None

    def start(self) -> None:
        """Ask CUPTI to call back at the calls that are recorded."""
        api = self.cupti.api
        self._enter = api.ApiCallbackSite.API_ENTER
        self._subscriber = subscriber = api.subscribe(self._called, None)
        domains: Mapping[str, Any] = {
            "RUNTIME": api.CallbackDomain.RUNTIME_API,
            "DRIVER": api.CallbackDomain.DRIVER_API,
        }
        for kind, domain in domains.items():
            for call in self.cupti.names[kind]:
                api.enable_callback(1, subscriber, domain, call)

    def stop(self) -> None:
        """No further event."""
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self.cupti.api.unsubscribe(subscriber)

    def watch(self, code: types.CodeType) -> None:
        """Nothing to do: frames are looked at when a call is made."""

    def _called(self, userdata: object, domain: int, call: int, data: Any) -> None:
        if self._subscriber is None or data.callback_site != self._enter:
            return
        try:
            frame = self._users(sys._getframe(1))
        except ValueError:  # a thread of C++ code: it has no Python frame but ours
            frame = None
        if frame is None and threading.get_ident() != self.main:
            # A library's thread works for the line that the main thread is at.
            frame = self._users(sys._current_frames().get(self.main))
        if frame is None or frame.f_lineno is None:
            return
        code = frame.f_code
        self.codes.setdefault(id(code), code)
        self.calls.extend((data.correlation_id, id(code), frame.f_lineno))
        if len(self.calls) > 3 * LIMIT:
            self.full(f"{LIMIT} CUDA calls were recorded")

    def _users(self, frame: types.FrameType | None) -> types.FrameType | None:
        while frame is not None:
            name = frame.f_code.co_filename
            known = self._known.get(name)
            if known is None:
                known = self._known[name] = os.path.realpath(name) in self.files
            if known:
                return frame
            frame = frame.f_back
        return None

    @property
    def lines(self) -> dict[int, array.array[int]]:
        """Correlation id, code and line of every call, of all threads together."""
        return {0: self.calls}

    @property
    def ranges(self) -> dict[int, array.array[int]]:
        """None: functions are not seen this way."""
        return {}
