"""Whether what a rewrite runs on is in this machine."""

from __future__ import annotations

from functools import cache

from ..model import Candidate
from ..observe.machine import gpus


@cache
def _has_gpu() -> bool:
    return bool(gpus())


def missing(candidate: Candidate) -> str | None:
    """Why a candidate cannot be tried here, in words; None if it can.

    Without a GPU, a kernel's launcher leaves the work to the original loop: a trial would say that
    nothing is gained, which is no word on the kernel.
    """
    if candidate.match.needs & {"cuda", "cupy"} and not _has_gpu():
        return "this machine has no CUDA device"
    return None
