"""CUDA work of this process as PyTorch's profiler records it, where cupti-python cannot be used.

PyTorch brings a CUPTI of its own (Kineto), which records all CUDA work of the process, CuPy's and
numba's too. It allocates its buffers itself and keeps what it collects to its own bound.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .cupti import CuptiProblem
from .kineto import tables
from .records import Table


class TorchRecorder:
    """Has what `session` uses of `cupti.Cupti`; times are those of ``time.time_ns``."""

    dropped = 0
    took_over = False
    unloaded = False
    room: tuple[str, int] | None = None
    """PyTorch does not say when its own bound is reached."""

    def __init__(self) -> None:
        """Raises CuptiProblem where PyTorch or its CUDA is missing."""
        try:
            torch = importlib.import_module("torch")
            self._profiler = importlib.import_module("torch.profiler")
        except (ImportError, OSError, RuntimeError) as problem:
            raise CuptiProblem(f"PyTorch does not load either ({problem})") from None
        # Not ``is_available``: it would fix the visible devices before the script can choose them.
        if torch.version.cuda is None:
            raise CuptiProblem("PyTorch's profiler cannot be used either: it is built without CUDA")
        self.clock = time.time_ns
        self.threads: Mapping[int, int] = {}
        """Python's number of each thread that ran lines -> the operating system's."""
        self.count = 0
        self._torch = torch
        self._run: Any = None
        self._file: Path | None = None

    def start(self) -> None:
        """Enable recording. Raises CuptiProblem where another profiler runs."""
        activities = [self._profiler.ProfilerActivity.CUDA]
        try:
            # One cycle, all of whose events are kept: said, or PyTorch warns on standard error.
            kept = {"acc_events": True} if _has(self._profiler.profile, "acc_events") else {}
            self._run = self._profiler.profile(activities=activities, **kept)
            self._run.start()
        except RuntimeError as problem:
            raise CuptiProblem(f"PyTorch's profiler does not start ({problem})") from None

    @property
    def used(self) -> bool:
        """Whether the program has used CUDA, as far as PyTorch knows."""
        return bool(self._torch.cuda.is_initialized())

    def pause(self) -> None:
        """Nothing: only the thread that started PyTorch's profiler may stop it."""

    def stop(self) -> None:
        """Disable recording, and have PyTorch write what it has to a file."""
        run, self._run = self._run, None
        if run is None:
            return
        handle, name = tempfile.mkstemp(prefix="gpuadvise-", suffix=".json")
        os.close(handle)
        self._file = Path(name)
        with contextlib.suppress(RuntimeError):  # nothing was recorded
            run.stop()
            run.export_chrome_trace(name)

    def tables(self) -> tuple[dict[str, Table], list[str]]:
        """The columns of `records`, without lines, and the names they point to."""
        try:
            text = self._file.read_text(encoding="utf-8") if self._file is not None else ""
            found, names = tables(json.loads(text or '{"traceEvents": []}'), self.threads)
        finally:
            if self._file is not None:
                self._file.unlink(missing_ok=True)
        self.count = len(found["calls"])
        return found, names

    def devices(self) -> dict[str, dict[str, Any]]:
        """Not told by this recorder."""
        return {}


def _has(function: Callable[..., Any], parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters
