"""All that a renderer needs, built once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ..gpumodel import GpuWork
from .profiles import Profile
from .programs import Source, Target
from .rewrites import Advice, Candidate, Refusal, Region
from .verdicts import Unavailable, Verdict, Verified


@dataclass(frozen=True)
class CompiledKernel:
    """What the driver says of one CUDA kernel: what decides how full an SM gets."""

    name: str
    registers: int
    """A thread."""
    shared: int
    """Bytes of static shared memory a block."""
    local: int
    """Bytes of local memory a thread: what did not fit the registers."""
    capability: tuple[int, int]
    """Compute capability of the device that it was compiled for."""


@dataclass(frozen=True)
class Trial:
    """A candidate with what came of it."""

    candidate: Candidate
    region_verdict: Verdict
    """On the program's own states (fork at the hot call)."""
    script_verdict: Verdict | None = None
    """Whole script, this candidate alone; None where it was not run."""
    predicted_script_seconds: float | None = None
    left_out: str = ""
    """Why a rewrite that passed alone is not in the patch; empty if it is, or did not pass."""
    kernels: tuple[CompiledKernel, ...] = ()
    """CUDA kernels that it compiled when it ran on the program's states."""


@dataclass(frozen=True)
class Finding:
    """One hot region for which at least one candidate was tried."""

    region: Region
    winner: Trial | None
    """The trial whose edits are in the patch; None if no trial was good enough."""
    others: tuple[Trial, ...]

    @property
    def unconfirmed(self) -> Trial | None:
        """The best trial that gained on recorded calls and could not run as a whole script."""
        found = [
            trial
            for trial in self.others
            if isinstance(trial.region_verdict, Verified)
            and isinstance(trial.script_verdict, Unavailable)
            and trial.region_verdict.speedup.low > 1.0
        ]
        if self.winner is not None or not found:
            return None
        return min(found, key=lambda trial: trial.predicted_script_seconds or float("inf"))


@dataclass(frozen=True)
class Refused:
    """A hot region, or a rule on it, that was left alone, and why."""

    region: Region
    rule: str | None
    """None: no rule could look at it."""
    refusal: Refusal


@dataclass(frozen=True)
class Machine:
    """Where it ran."""

    node: str
    system: str
    cpu: str
    cores: int
    memory: int
    python: str
    packages: Mapping[str, str]
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageCost:
    """Wall seconds a stage of the tool took."""

    stage: str
    seconds: float


class Outcome(StrEnum):
    """How the journey ended; the CLI's exit code follows from it."""

    ADVICE = "advice found"
    NOTHING = "nothing to gain"
    SCRIPT_FAILED = "script failed"


@dataclass(frozen=True)
class Report:
    """Everything a renderer needs; built once, never changed."""

    target: Target
    machine: Machine
    started: str
    """Local time, ISO 8601."""
    outcome: Outcome
    message: str
    """One line that says how it ended."""
    profile: Profile | None = None
    sources: Mapping[Path, Source] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    refused: tuple[Refused, ...] = ()
    script_verdict: Verdict | None = None
    """The whole script with exactly the patch below."""
    patched: Mapping[Path, bytes] = field(default_factory=dict)
    """New content of every file the patch changes."""
    notes: tuple[str, ...] = ()
    costs: tuple[StageCost, ...] = ()
    partial: bool = False
    advice: tuple[Advice, ...] = ()
    """Mistakes in GPU code that no rewrite in this report mends, most costly first."""
    gpu: GpuWork | None = None
    """None where the script did nothing on a GPU, or nothing could be recorded."""
    runs: int = 1
    """How often the user will run the script: what a first run compiles is spread over them."""
    kept_compiled: tuple[Path, ...] = ()
    """Files of compiled code that ``--apply`` put beside the patched files: what numba compiled in
    the trials, so that the user's first run starts like a later one."""
