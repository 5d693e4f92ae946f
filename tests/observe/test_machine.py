"""The machine this test runs on, and packages that misbehave."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from gpuadvise.observe import machine
from gpuadvise.observe.machine import Probe, checks, describe


def test_describe_tells_what_the_system_tells() -> None:
    found = describe()
    assert found.python == sys.version.split()[0]
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.memory > 1 << 28
    assert found.cpu.strip()
    for name in ("numpy", "numba", "scalene", "line_profiler"):
        assert found.packages[name] == importlib.metadata.version(name)
    assert "rich" not in found.packages


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is Linux's")
def test_cores_follow_the_affinity() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert machine.available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_doctor_finds_what_is_needed_here() -> None:
    found = {check.name: check for check in checks()}
    for name in ("Python", "CPU", "Memory", "Temporary folder", *machine.REQUIRED):
        assert found[name].state == "ok", found[name]
    assert {probe.name for probe in machine.PROBES} <= set(found)
    for check in found.values():
        assert check.detail
        assert check.remedy or check.state in ("ok", "optional")


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("raise ImportError('libcudart.so.12')", "libcudart.so.12"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import os; os._exit(3)", "exit code 3"),
        ("while True: pass", "no answer"),
    ],
)
def test_broken_packages_do_not_take_the_doctor_down(
    code: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PROBE_LIMIT", 1.5 if detail == "no answer" else 60.0)
    probe = Probe("broken", code, "nothing", "reinstall it", ("numpy",), gpu=False)
    check = machine._optional(probe)
    assert check.state == "broken" and detail in check.detail
    assert "reinstall it" in check.remedy


def test_absent_packages_are_optional_or_missing() -> None:
    absent = Probe("absent", "", "something", "get it", ("surely-not-installed",))
    assert machine._optional(absent).state == "optional"
    assert machine._required("surely-not-installed").state == "missing"


def test_a_file_beside_us_is_not_taken_for_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rich.py").write_text("raise RuntimeError('shadowed')")
    monkeypatch.chdir(tmp_path)
    assert machine._required("rich").state == "ok"


def test_gpus_come_from_nvidia_smi_where_nvml_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\n[ \"$1\" = -L ] && echo 'GPU 0: NVIDIA H100 PCIe (UUID: GPU-1)'\n"
        "[ \"$#\" = 0 ] && echo '| Driver Version: 550.1 CUDA Version: 12.4 |'\n"
        "case \"$1\" in --query*) echo 'NVIDIA H100 PCIe, 550.1, 81559 MiB';; esac\nexit 0\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(machine, "_NVML", "raise SystemExit(1)")
    assert machine.gpus() == ("NVIDIA H100 PCIe",)
    driver = machine._driver()
    assert driver.state == "ok" and "CUDA up to 12.4" in driver.detail
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert machine.gpus() == ()
    assert machine._driver().state == "broken"


def test_unwritable_temporary_folder_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.tempfile, "tempdir", str(tmp_path / "absent"))
    check = machine._temporary()
    assert check.state == "broken" and "TMPDIR" in check.remedy
