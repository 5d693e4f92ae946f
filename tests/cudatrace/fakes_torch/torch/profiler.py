"""A profiler that writes what ``fake_cuda`` tells it, as Kineto would."""

from __future__ import annotations

import enum
import json
from pathlib import Path

BASE = 1_700_000_000_000_000_000
EVENTS: list[dict[str, object]] = []
RUNNING = []


class ProfilerActivity(enum.Enum):
    CUDA = 2


class profile:  # noqa: N801
    def __init__(self, activities: list[ProfilerActivity], acc_events: bool = False) -> None:
        assert activities == [ProfilerActivity.CUDA]
        assert acc_events  # PyTorch warns otherwise

    def start(self) -> None:
        RUNNING.append(self)

    def stop(self) -> None:
        RUNNING.remove(self)

    def export_chrome_trace(self, path: str) -> None:
        document = {"baseTimeNanoseconds": BASE, "traceEvents": EVENTS}
        Path(path).write_text(json.dumps(document))


def add(cat: str, name: str, start: int, length: int, tid: int, correlation: int) -> None:
    EVENTS.append(
        {
            "ph": "X",
            "cat": cat,
            "name": name,
            "ts": (start - BASE) / 1000,
            "dur": length / 1000,
            "tid": tid,
            "args": {"correlation": correlation},
        }
    )
