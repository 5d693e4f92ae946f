"""NVML beside a run: utilisation, memory, power, temperature and clocks. Nothing is ever set."""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from ..gpumodel import DeviceSamples, Sample

PERIOD = 0.05
"""Seconds between two samples. NVML's own utilisation covers the last 1/6 s to 1 s (NVML API
reference, ``nvmlUtilization_t``), so more would show nothing new; memory and power do change."""


@dataclass(frozen=True)
class Samples:
    """The devices that were seen, or why there are none."""

    devices: tuple[DeviceSamples, ...] = ()
    missing: str | None = None
    split: bool = False
    """Whether a device is split into instances (MIG), whose utilisation NVML does not give."""


@dataclass(frozen=True)
class _Device:
    name: str
    memory: int
    uuid: str
    split: bool
    handle: Any


class Sampler:
    """Samples in a thread between ``__enter__`` and ``__exit__``; does nothing without NVML."""

    def __init__(self, period: float = PERIOD) -> None:
        self.period = period
        self._missing: str | None = None
        self._devices: list[_Device] = []
        self._samples: list[list[Sample]] = []
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Sampler:
        try:
            self._nvml = importlib.import_module("pynvml")
        except ImportError:
            self._missing = "nvidia-ml-py is not installed"
            return self
        try:
            self._nvml.nvmlInit()
            self._devices = list(self._open())
        except self._nvml.NVMLError as problem:
            self._missing = _refusal(problem)
            return self
        self._samples = [[] for _ in self._devices]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()

    def samples(self) -> Samples:
        """What was seen so far."""
        devices = tuple(
            DeviceSamples(device.name, device.memory, tuple(found), device.uuid)
            for device, found in zip(self._devices, self._samples, strict=True)
        )
        return Samples(devices, self._missing, any(device.split for device in self._devices))

    def _open(self) -> Iterator[_Device]:
        nvml = self._nvml
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = self._or_none(partial(nvml.nvmlDeviceGetMemoryInfo, handle))
            mode = self._or_none(partial(nvml.nvmlDeviceGetMigMode, handle))
            yield _Device(
                name=_text(nvml.nvmlDeviceGetName(handle)),
                memory=0 if memory is None else int(memory.total),
                uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
                split=mode is not None and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE,
                handle=handle,
            )

    def _run(self) -> None:
        began = time.monotonic()
        while not self._end.wait(self.period):
            for device, found in zip(self._devices, self._samples, strict=True):
                found.append(self._read(device.handle, time.monotonic() - began))

    def _read(self, handle: Any, now: float) -> Sample:
        nvml = self._nvml
        use = self._or_none(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        memory = self._or_none(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))

        def number(read: Callable[[], Any]) -> int | None:
            value = self._or_none(read)
            return None if value is None else int(value)

        power = number(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return Sample(
            time=now,
            gpu=None if use is None else int(use.gpu),
            memory_bus=None if use is None else int(use.memory),
            used=None if memory is None else int(memory.used),
            power=None if power is None else power / 1000.0,
            temperature=number(
                lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
            ),
            clock=number(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            memory_clock=number(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
        )

    def _or_none(self, read: Callable[[], Any]) -> Any:
        """A reading that this device does not offer (MIG, consumer cards) is left out."""
        try:
            return read()
        except self._nvml.NVMLError:
            return None


def _text(value: Any) -> str:
    """Names are bytes in older versions of nvidia-ml-py."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _refusal(problem: Exception) -> str:
    """One line on why NVML does not answer."""
    text = str(problem)
    if "Library Not Found" in text or "Driver Not Loaded" in text:
        return "there is no NVIDIA driver on this machine"
    if "Function Not Found" in text or "version mismatch" in text:
        return f"the NVIDIA driver and nvidia-ml-py do not fit one another ({text})"
    return f"NVML is not available ({text})"
