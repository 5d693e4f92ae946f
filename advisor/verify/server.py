"""The tool's side of held states: who is there."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..model import Region
from . import rebuild
from .replies import Hello, read_message
from .sockets import fitting
from .states import HeldState

ADDRESS_VARIABLE = "GPUADVISE_STATES"
"""Environment variable through which the instrumented run learns where to send holders."""
SETTLE = 0.3
"""Seconds a holder that was forked at the very end of the run gets to say hello."""
FOLDER = f"gpuadvise-{os.getpid()}-"
"""As the scratch copies are called, so that the next start removes what a killed tool left."""
REPLACED = ("largest", "late")


class StateServer:
    """Listens for holders. Leaving the context ends every one of them."""

    def __init__(
        self, originals: Mapping[Path, bytes] | None = None, folder: Path | None = None
    ) -> None:
        """``originals``: the text of the user's files when the program was started.

        ``folder``: where the socket and the trials' scratch folders go; must be writable for the
        instrumented run (``Sandbox.own``).
        """
        self.originals: dict[Path, bytes] = dict(originals or {})
        self._folder = Path(tempfile.mkdtemp(prefix="states-" if folder else FOLDER, dir=folder))
        self._lock = threading.Lock()
        self._states: list[HeldState] = []
        self._wanted: frozenset[str] | None = None
        self._settled = False
        self._ended: float | None = None
        self._closing = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._thread = threading.Thread(target=self._accept, name="states", daemon=True)

    @property
    def address(self) -> str:
        """Where holders connect to."""
        return str(self._folder / "states")

    @property
    def environment(self) -> dict[str, str]:
        """What the instrumented run needs in its environment."""
        return {ADDRESS_VARIABLE: self.address}

    def __enter__(self) -> StateServer:
        with fitting(self.address) as name:
            self._listener.bind(name)
        self._listener.listen(64)
        self._listener.settimeout(0.2)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing = True
        self._thread.join()
        self._listener.close()
        for state in self._states:
            state.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while not self._closing:
            try:
                link, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            try:
                hello = Hello.parse(read_message(link, 10.0))
            except (OSError, ValueError, KeyError):
                link.close()
                continue
            self._register(HeldState(link, hello, self.originals))

    def run_ended(self) -> None:
        """The instrumented run is over: no holder is forked from now on."""
        self._ended = time.monotonic()

    def keep(self, sites: Iterable[str]) -> None:
        """Let go of all states, also of those to come, but the ones of these sites (keys)."""
        with self._lock:
            self._wanted = wanted = frozenset(sites)
            for state in self._states:
                if state.hello.site not in wanted:
                    state.close()
            self._states = [state for state in self._states if state.hello.site in wanted]

    def _register(self, state: HeldState) -> None:
        with self._lock:
            if self._wanted is not None and state.hello.site not in self._wanted:
                state.close()
                return
            for other in list(self._states):
                same_site = other.hello.site == state.hello.site
                if same_site and other.hello.reason == state.hello.reason in REPLACED:
                    self._states.remove(other)
                    other.close()
            self._states.append(state)

    def all_states(self) -> tuple[HeldState, ...]:
        """Every state that is held now, first calls first."""
        if not self._settled:
            passed = 0.0 if self._ended is None else time.monotonic() - self._ended
            time.sleep(max(0.0, SETTLE - passed))
            self._settled = True
        with self._lock:
            return tuple(sorted(self._states, key=lambda s: (s.hello.site, s.hello.entry)))

    def states(self, site_key: str) -> tuple[HeldState, ...]:
        """The states held at the entry of a function site, or before a module-level loop."""
        return tuple(s for s in self.all_states() if s.hello.site == site_key)

    def states_of(self, region: Region) -> tuple[HeldState, ...]:
        """The states from which a region is reached.

        A region in a function: that function's entries. At module level: the loop itself, or the
        loop statement around it.
        """
        return tuple(self._matching(region))

    def _matching(self, region: Region) -> Iterator[HeldState]:
        first, last = region.lines
        for state in self.all_states():
            hello = state.hello
            if hello.file != region.site.file or hello.qualname != region.site.qualname:
                continue
            if hello.line is None or hello.line == first or _encloses(region, hello.line, last):
                yield state


def _encloses(region: Region, line: int, last: int) -> bool:
    try:
        path = rebuild.find_statement(region.source.tree, line)
    except rebuild.Unavailable:
        return False
    statements, position = path[-1]
    end = statements[position].end_lineno
    return line <= region.loop.lineno and end is not None and end >= last
