"""What holders of states say, as the tool keeps it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model import CompiledKernel, Crashed, Inconclusive, TimedOut, Unavailable, Usage
from . import capture


@dataclass(frozen=True)
class Hello:
    """What a holder says of itself."""

    site: str
    file: Path
    qualname: str
    line: int | None
    """Of the loop statement, for a held module-level loop."""
    entry: int
    reason: str
    pid: int
    notes: tuple[str, ...]

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Hello:
        """From the holder's first message. Raises KeyError."""
        return cls(
            site=fields["site"],
            file=Path(fields["file"]),
            qualname=fields["qualname"],
            line=fields["line"],
            entry=fields["entry"],
            reason=fields["reason"],
            pid=fields["pid"],
            notes=tuple(fields["notes"]),
        )


HURRIED = Inconclusive("the time budget ran out while it was tried")
TOO_SLOW = Inconclusive("stopped: its first call takes longer than the original")


class Lost(Exception):
    """The holder is gone."""


Failure = Crashed | TimedOut | Unavailable | Inconclusive


@dataclass(frozen=True)
class Run:
    """One attempt's answer, and the state it left."""

    answer: Mapping[str, Any]
    state: capture.Capture | None
    hurried: bool = False
    """Less time was left for it than a sound rewrite may take."""
    hopeless: bool = False
    """It had all the time that the original takes, and nothing but this call counts."""

    @property
    def done(self) -> bool:
        """It came to its end; the code may have raised."""
        return bool(self.answer["status"] == "done")

    @property
    def seconds(self) -> float:
        """Wall seconds of the call."""
        return max(float(self.answer["seconds"]), 1e-9)

    @property
    def compiling(self) -> float:
        """Seconds of it in which numba compiled, where that is known."""
        return min(float(self.answer.get("compiling", 0.0)), self.seconds)

    @property
    def usage(self) -> Usage:
        """What else the call took."""
        return Usage(float(self.answer["cpu"]), int(self.answer["faults"]))

    @property
    def kernels(self) -> tuple[CompiledKernel, ...]:
        """What the driver says of the CUDA kernels that it compiled."""
        return tuple(
            CompiledKernel(**{**facts, "capability": tuple(facts["capability"])})
            for facts in self.answer.get("kernels", ())
        )

    @property
    def kept(self) -> bool:
        """A second call with the same arguments returned an object that this one had made."""
        return bool(self.answer.get("kept", False))

    @property
    def failure(self) -> Failure:
        """Why it did not come to its end."""
        why = str(self.answer.get("why", "it gave no answer"))
        if self.answer["status"] == "crashed":
            return Crashed(why)
        if self.answer["status"] == "timeout":
            if self.hopeless:
                return TOO_SLOW
            if self.hurried:
                return HURRIED
            return TimedOut(float(self.answer.get("limit", 0.0)))
        return Unavailable(why)


@dataclass
class Reference:
    """The original on this state."""

    state: capture.Capture
    times: list[float]
    raised: str | None
    usages: list[Usage]
    warm: list[float] = field(default_factory=list)
    """Times after a warm-up; ``times`` are those of first calls, in a process just forked."""
    warm_usages: list[Usage] = field(default_factory=list)
    compiling: float = 0.0
    """Seconds of the first call in which numba compiled what the original uses of it."""
    around: float = 0.0
    """Seconds that one attempt takes beside the call: what it left behind is written and read."""
    warmable: bool = True
    keeps: bool | None = None
    """Two calls return one object: ``lru_cache``. None: not known."""

    def of(self, *, warm: bool) -> tuple[tuple[float, ...], tuple[Usage, ...]]:
        """Times to compare a candidate's with that was warmed up, or was not."""
        if warm and self.warm:
            return tuple(self.warm), tuple(self.warm_usages)
        return tuple(self.times), tuple(self.usages)


def read_message(link: socket.socket, limit: float) -> dict[str, Any]:
    """One message. Raises OSError (TimeoutError) or ValueError."""
    link.settimeout(limit)
    size = int.from_bytes(_exactly(link, 8), "little")
    message = json.loads(_exactly(link, size))
    if not isinstance(message, dict):
        raise ValueError("not a message")
    return message


def _exactly(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = link.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ValueError("the connection was closed")
        data += piece
    return bytes(data)


def texts_of(sources: Mapping[Path, bytes]) -> dict[str, str]:
    """Sources as JSON can carry them."""
    return {str(path): text.decode("latin-1") for path, text in sources.items()}
