"""The way out of the analysis of a frame's loop."""

from __future__ import annotations


class Stop(Exception):
    """The loop is left alone, and why."""

    def __init__(self, reason: str, line: int | None = None, suggestion: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line, self.suggestion = reason, line, suggestion
