"""The two profiled runs at the same time, where the machine and the program allow it.

Samples say which functions are hot, and line timing looks at the loops of those. But a loop whose
entries are only counted costs 0.03 us an entry: in a program of a few dozen loops all can be looked
at, and what turns out to be cold is left out afterwards. The sampled run then goes on beside the
instrumented one, on another core and in a scratch copy of its own.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

from .diagnose.program import Program
from .diagnose.sites import find_sites
from .model import Machine, RunResult, Site, Source, Target
from .observe.sandbox import Sandbox
from .observe.scalene import EMPTY, ScaleneResult, profile

MOST_SITES = 60
"""Loops and functions of a program up to which all of them are looked at."""
MOST_FUNCTIONS = 12
"""Functions with loops; states of each are held, and every state is a process."""
ONE_CORE = 1.2
"""A program with more CPU seconds than so many times its wall time keeps several cores busy."""
UNDISTURBED = 0.7
"""One with fewer waits, for a busy machine perhaps: then two runs at a time take longer than two
in turn, and the time of the trials with it (23 of 27 s at a load of 6 on two cores)."""
MEMORY_PART = 0.1
"""Part of the machine's memory that the program may take to be run twice at a time."""
MOST_BYTES = 64 << 20
"""What the program's folder may hold to be copied once more."""

LIBRARIES = frozenset({"numpy", "scipy", "pandas", "numba", "dateutil", "pytz"})
"""Packages that share nothing between two processes."""
SHARING = frozenset(
    {
        *("asyncio", "concurrent", "ctypes", "dbm", "fcntl", "ftplib", "http", "mmap"),
        *("multiprocessing", "pty", "select", "selectors", "shelve", "smtplib", "socket"),
        *("socketserver", "sqlite3", "subprocess", "syslog", "threading", "_thread", "urllib"),
        "xmlrpc",
    }
)
"""Modules of the standard library through which two runs of a program could meet."""

Result = TypeVar("Result")
Other = TypeVar("Other")


@dataclass(frozen=True)
class Everything:
    """All that can be looked at in a program, hot or not."""

    sites: tuple[Site, ...]
    functions: tuple[tuple[Path, str], ...]
    """Original file and qualified name of the functions to time."""


def everything(sources: Mapping[Path, Source]) -> Everything | None:
    """All loops and functions of a program; None where they are too many."""
    sites = find_sites(sources, ())
    if len(sites) > MOST_SITES or sum(site.is_function for site in sites) > MOST_FUNCTIONS:
        return None
    scopes = (scope for scope in Program(sources).scopes if not scope.compiled)
    return Everything(sites, tuple((scope.file, scope.qualname) for scope in scopes))


def may_run_twice(
    sources: Mapping[Path, Source], bare: RunResult, machine: Machine, box: Sandbox
) -> bool:
    """Whether there is a core, memory and room for two runs that do not meet."""
    fits = bare.max_rss <= MEMORY_PART * machine.memory and box.copied <= MOST_BYTES
    one_core = bare.ok and UNDISTURBED * bare.wall <= bare.cpu <= ONE_CORE * bare.wall
    return fits and one_core and machine.cores > 1 and keeps_to_itself(sources)


def keeps_to_itself(sources: Mapping[Path, Source]) -> bool:
    """Whether two runs of a program at a time cannot meet, as far as its text shows.

    Counter-examples: ``SharedMemory(name="grid", create=True)``; a server on a port of its own.
    """
    own = {path.stem for path in sources} | {path.parent.name for path in sources}
    known = (sys.stdlib_module_names | LIBRARIES | own) - SHARING
    return all(
        b"/dev/shm" not in source.data and known.issuperset(_imported(source.tree))
        for source in sources.values()
    )


def _imported(tree: ast.Module) -> Iterator[str]:
    """First parts of the names of all modules that a file imports by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


class SampledAside:
    """The sampled run in a scratch copy of its own, which is made and removed with it."""

    def __init__(
        self, box: Sandbox, target: Target, stdin: Path, *, limit: float | None, bare_wall: float
    ) -> None:
        """``box``: whose snapshot is taken; for the rest see ``observe.scalene.profile``."""
        self._box, self._target, self._stdin = box, target, stdin
        self._limit, self._bare_wall = limit, bare_wall
        self._lock = Lock()
        self._own: Sandbox | None = None
        self._ended = False

    def run(self) -> ScaleneResult:
        """Samples of the program; empty where it was ended."""
        with Sandbox(self._target, like=self._box) as own:
            with self._lock:
                self._own = own
                if self._ended:
                    return EMPTY
            return profile(
                own, self._target, limit=self._limit, stdin=self._stdin, bare_wall=self._bare_wall
            )

    def end(self) -> None:
        """Wait no longer for it: called from another thread."""
        with self._lock:
            self._ended = True
            if self._own is not None:
                self._own.end()


def both(
    aside: Callable[[], Result], here: Callable[[], Other], give_up: Callable[[], None]
) -> tuple[Result, Other]:
    """Do ``aside`` in a thread and ``here`` in this one.

    ``give_up`` ends what ``aside`` waits for, where ``here`` fails or is interrupted.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside") as pool:
        waiting = pool.submit(aside)
        try:
            done = here()
            return waiting.result(), done
        except BaseException:
            give_up()
            raise
