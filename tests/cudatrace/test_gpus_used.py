"""Several GPUs, MIG, no driver: what NVML says, and what is said of it. NVML is made up."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streams import LAUNCH, MAIN, trace

from gpuadvise.cudatrace.devices import SPLIT, nearly_full, worked_on
from gpuadvise.cudatrace.records import Trace
from gpuadvise.cudatrace.sampling import Sampler, Samples
from gpuadvise.gpumodel import DeviceSamples, Sample
from gpuadvise.report.gpu import device_words

SEEN = Sample(0.1, 50, 20, 2_000_000_000, 300.0, 41, 1980, 3201)


class NvmlError(Exception):
    """The bindings' exception."""


def nvml(*, devices: int = 1, mig: bool = False, refusal: str | None = None) -> Any:
    """A module with what the sampler asks for."""
    module = types.ModuleType("pynvml")

    def unsupported(*_: object) -> None:
        raise NvmlError("Not Supported")

    def start() -> None:
        if refusal is not None:
            raise NvmlError(refusal)

    def always(value: object) -> Callable[..., object]:
        return lambda *_: value

    use = types.SimpleNamespace(gpu=40, memory=10)
    memory = types.SimpleNamespace(total=80_000_000_000, used=1_000_000_000)
    answers = {
        "nvmlInit": start,
        "nvmlShutdown": always(None),
        "nvmlDeviceGetCount": always(devices),
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": always(b"Fake H200"),
        "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
        "nvmlDeviceGetMemoryInfo": always(memory),
        "nvmlDeviceGetMigMode": always([1, 1]) if mig else unsupported,
        "nvmlDeviceGetUtilizationRates": unsupported if mig else always(use),
        "nvmlDeviceGetPowerUsage": always(250_000),
        "nvmlDeviceGetTemperature": always(40),
        "nvmlDeviceGetClockInfo": always(1500),
    }
    constants = {
        "NVMLError": NvmlError,
        "NVML_DEVICE_MIG_ENABLE": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_CLOCK_SM": 1,
        "NVML_CLOCK_MEM": 2,
    }
    vars(module).update(answers, **constants)
    return module


def sampled(monkeypatch: pytest.MonkeyPatch, module: Any) -> Samples:
    monkeypatch.setitem(sys.modules, "pynvml", module)
    with Sampler(period=0.001) as sampler:
        while not sampler._missing and not all(sampler._samples):
            sampler._end.wait(0.001)
    return sampler.samples()


def test_a_devices_samples_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    (device,) = sampled(monkeypatch, nvml()).devices
    assert device_words(device).startswith("Fake H200, mean utilisation 40 % (NVML, ")
    assert device_words(device).endswith("up to 250 W, 40 degrees C, SM clock 1500-1500 MHz")
    assert (device.name, device.memory, device.uuid) == ("Fake H200", 80_000_000_000, "GPU-0")


def test_what_a_split_gpu_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never "0 %", which would be a figure."""
    samples = sampled(monkeypatch, nvml(mig=True))
    assert samples.split
    assert "utilisation" not in device_words(samples.devices[0])
    assert samples.devices[0].mean_use is None
    assert worked_on(samples, None)[1] == (SPLIT,)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        ("NVML Shared Library Not Found", "there is no NVIDIA driver on this machine"),
        ("Driver Not Loaded", "there is no NVIDIA driver on this machine"),
        ("Function Not Found", "the NVIDIA driver and nvidia-ml-py do not fit one another"),
        ("Unknown Error", "NVML is not available (Unknown Error)"),
    ],
)
def test_without_nvml_one_line_says_why(
    monkeypatch: pytest.MonkeyPatch, refusal: str, said: str
) -> None:
    samples = sampled(monkeypatch, nvml(refusal=refusal))
    assert samples.devices == ()
    assert samples.missing is not None and samples.missing.startswith(said)


def test_without_its_package_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with Sampler() as sampler:
        pass
    assert sampler.samples().missing == "nvidia-ml-py is not installed"


def test_a_run_too_short_for_a_sample_has_no_figures() -> None:
    assert device_words(DeviceSamples("H200", 80, ())) == (
        "H200: the run was too short for a sample of NVML's"
    )


# --------------------------------------------------------------- several GPUs
def on(*devices: int, told: dict[str, Any] | None = None) -> Trace:
    """A trace with a kernel on each of these devices."""
    found = trace(
        calls=[(10 * n, 10 * n + 1, MAIN, n, LAUNCH) for n, _ in enumerate(devices)],
        kernels=[(10 * n + 2, 10 * n + 3, n) for n, _ in enumerate(devices)],
    )
    found["kernels"]["device"] = devices
    every = {str(n): {"uuid": f"GPU-{n + 1}", "mig": False} for n in range(2)}
    return replace(found, extra={"devices": every if told is None else told})


FOUR = Samples(tuple(DeviceSamples("H200", 80, (SEEN,), f"GPU-{n}") for n in range(4)))


def test_samples_are_of_the_gpu_that_was_used() -> None:
    """CUDA's device 1 is NVML's 2 here: the program sees the second and the third only."""
    found, notes = worked_on(FOUR, on(1, 1))
    assert [device.uuid for device in found.devices] == ["GPU-2"]
    assert notes == (
        "the machine has 4 GPUs; the script used 1, and the samples are of what it used",
    )


def test_idle_time_of_several_gpus_is_explained() -> None:
    found, notes = worked_on(FOUR, on(0, 1))
    assert len(found.devices) == 2
    assert notes[-1].startswith("idle time counts only while none of the GPUs")


def test_all_stay_where_it_is_not_known_which_was_used() -> None:
    found, notes = worked_on(FOUR, on(0, told={}))
    assert found == FOUR
    assert notes == ("the machine has 4 GPUs: which of them the script used is not known",)


def test_a_script_that_used_none_is_told_so() -> None:
    assert worked_on(FOUR, on())[1] == ("the machine has 4 GPUs; the script used none of them",)


def test_one_gpu_needs_no_words() -> None:
    one = Samples(FOUR.devices[:1])
    assert worked_on(one, on(0)) == (one, ())


@pytest.mark.parametrize(("used", "said"), [(71_000_000_000, False), (75_000_000_000, True)])
def test_memory_that_is_almost_used_up(used: int, said: bool) -> None:
    samples = tuple(replace(SEEN, used=most) for most in (1_000_000, used, None))
    device = DeviceSamples("Fake H200", 80_000_000_000, samples)
    notes = nearly_full(Samples((device,)))
    assert len(notes) == said
    assert not said or notes[0].startswith("94% of the memory of Fake H200"), notes
    assert nearly_full(Samples((replace(device, samples=()),))) == ()
