"""The frozen values about GPU work that pass from one stage of the journey to the next.

Times are seconds, sizes are bytes, shares are fractions, unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Place:
    """A source line of the user's, and the function it is in."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class CopyWork:
    """Copies of one direction between two kinds of memory, by one line."""

    direction: str
    source: str
    target: str
    count: int
    bytes: int
    seconds: float
    """On the device."""


@dataclass(frozen=True)
class LineWork:
    """What one source line made the GPU do, and what that cost the host. Times in seconds."""

    place: Place | None
    """None: calls before the first line, or of threads at a time when no line ran."""
    host: float
    """Wall time during which the main thread was at this line."""
    calls: int = 0
    api: float = 0.0
    """In recorded CUDA calls."""
    kernels: int = 0
    gpu: float = 0.0
    """Of kernels, memsets and copies on the device, added up."""
    kernel_time: float = 0.0
    names: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """Kernel name -> count, seconds."""
    copies: tuple[CopyWork, ...] = ()
    syncs: int = 0
    """Calls that do nothing but wait."""
    sync_wait: float = 0.0
    copy_waits: int = 0
    """Copies in which the host waited for work that had to come before them."""
    copy_wait: float = 0.0
    allocations: int = 0
    frees: int = 0
    memory_api: float = 0.0
    idle: float = 0.0
    """Time in which the main thread was at this line and the device had nothing to do."""

    @property
    def waited(self) -> float:
        """Seconds in which the CPU waited for the GPU, in synchronisations and in copies."""
        return self.sync_wait + self.copy_wait


@dataclass(frozen=True)
class Sample:
    """One reading of one device."""

    time: float
    """Seconds since sampling began."""
    gpu: int | None
    """Percent of the last sample period in which a kernel ran. None, here and below: the device
    does not tell (MIG, some consumer cards)."""
    memory_bus: int | None
    """Percent of the last sample period in which device memory was read or written."""
    used: int | None
    """Bytes of device memory in use, by everybody."""
    power: float | None
    """Watt."""
    temperature: int | None
    """Degrees Celsius."""
    clock: int | None
    """SM clock, MHz."""
    memory_clock: int | None
    """MHz."""


@dataclass(frozen=True)
class DeviceSamples:
    """All readings of one device."""

    name: str
    memory: int
    """Bytes."""
    samples: tuple[Sample, ...]
    uuid: str = ""
    """The driver's name of the device, ``"GPU-..."``."""

    @property
    def mean_use(self) -> float | None:
        """Mean GPU utilisation, percent; None where no sample has one."""
        known = [s.gpu for s in self.samples if s.gpu is not None]
        return sum(known) / len(known) if known else None

    @property
    def peak_memory(self) -> int | None:
        """Bytes."""
        return max((s.used for s in self.samples if s.used is not None), default=None)

    @property
    def peak_power(self) -> float | None:
        """Watt."""
        return max((s.power for s in self.samples if s.power is not None), default=None)


@dataclass(frozen=True)
class PlaceTime:
    """Wall time during which the main thread was at a line, in library code that it called too."""

    place: Place
    seconds: float


@dataclass(frozen=True)
class GpuWork:
    """What a script did on the GPU, by line, as one traced run showed it."""

    lines: tuple[LineWork, ...]
    coverage: float
    """Share of kernels, copies and synchronisations that carry a line."""
    span: float
    """Seconds from the script's first line to its end, in the traced run."""
    traced: float
    """Wall seconds of the traced run."""
    devices: tuple[DeviceSamples, ...] = ()
    notes: tuple[str, ...] = ()
    times: tuple[PlaceTime, ...] = ()
    """Every line that the main thread ran, with GPU work or without; empty where lines were seen
    in CUDA calls only."""
