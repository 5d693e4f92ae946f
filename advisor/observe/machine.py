"""What the program runs on, for the report and for ``gpuadvise doctor``."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..model import Machine
from .landlock import abi

REPORTED = ("numpy", "numba", "scipy", "cupy", "torch", "scalene", "line_profiler")
REQUIRED = ("scalene", "line_profiler", "numpy", "numba", "rich", "typer")
CUPY_NAMES = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")
"""CuPy is published under a name for each CUDA version."""

PROBE_LIMIT = 30.0
"""Seconds a package may take to import and answer; CuPy takes some 3 s from a cold disk."""

State = Literal["ok", "missing", "broken", "optional"]
"""``optional``: not there, and nothing that works now needs it."""


@dataclass(frozen=True)
class Check:
    """One line of ``gpuadvise doctor``."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    """What to type or change; empty where nothing is wrong."""


@dataclass(frozen=True)
class Probe:
    """An optional package: code that uses it in a process of its own, and how to get it."""

    name: str
    code: str
    """Prints one line; any exception means that the package is broken."""
    purpose: str
    remedy: str
    distributions: tuple[str, ...]
    gpu: bool = True


_EXTRA = "pip install 'gpuadvise[cuda12]', or [cuda13] with a driver for CUDA 13"
PROBES = (
    Probe(
        "scipy",
        "import scipy; from scipy import signal; print(scipy.__version__)",
        "more library calls to choose from",
        "pip install scipy",
        ("scipy",),
        gpu=False,
    ),
    Probe(
        "islpy",
        "import islpy; islpy.Set('{[i]: 0 <= i < 4}'); print(islpy.version.VERSION_TEXT)",
        "dependence analysis of coupled subscripts",
        "pip install islpy",
        ("islpy",),
        gpu=False,
    ),
    Probe(
        "cupy",
        "import cupy; x = cupy.arange(8).sum(); assert int(x) == 28; print(cupy.__version__)",
        "array rewrites on the GPU",
        _EXTRA,
        CUPY_NAMES,
    ),
    Probe(
        "numba-cuda",
        "from numba import cuda; assert cuda.is_available(), 'no CUDA device or driver';"
        " print(cuda.runtime.get_version())",
        "kernel rewrites on the GPU",
        _EXTRA,
        ("numba-cuda",),
    ),
    Probe(
        "torch",
        "import torch; print(torch.__version__, 'with' if torch.cuda.is_available() else 'without',"
        " 'CUDA')",
        "advice on training scripts",
        "see the install selector of pytorch.org",
        ("torch",),
    ),
    Probe(
        "nvidia-ml-py",
        "import pynvml; pynvml.nvmlInit(); print(pynvml.nvmlDeviceGetCount(), 'devices')",
        "utilisation and memory of the GPU",
        "pip install nvidia-ml-py",
        ("nvidia-ml-py",),
    ),
    Probe(
        "cupti-python",
        "import cupti; print('importable')",
        "CUDA activity by source line",
        "pip install 'gpuadvise[cuda13]'",
        ("cupti-python",),
    ),
)


# ------------------------------------------------------------ machine
def describe() -> Machine:
    """The machine as the report names it. Takes no longer than `nvidia-smi -L`; starts no CUDA."""
    return Machine(
        node=platform.node(),
        system=f"{platform.system()} {platform.release()}",
        cpu=cpu_model(),
        cores=available_cores(),
        memory=physical_memory(),
        python=platform.python_version(),
        packages=packages(),
        gpus=gpus(),
    )


def cpu_model() -> str:
    """The processor's name, or its architecture where the system does not tell."""
    if sys.platform == "darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    known = (fields.get(name) for name in ("model name", "Model", "Hardware", "cpu model"))
    return next((name for name in known if name), platform.machine())


def available_cores() -> int:
    """Cores this process may use: affinity, and the quota of its control group (rounded up)."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        allowed = -(-int(quota) // int(period))
    except (OSError, ValueError):
        return count  # no control group, or "max"
    return max(1, min(count, allowed))


def physical_memory() -> int:
    """Bytes of memory, 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def packages() -> Mapping[str, str]:
    """Versions of the packages that matter, of those that are installed."""
    found: dict[str, str] = {}
    for name in REPORTED:
        version = _version(CUPY_NAMES if name == "cupy" else (name,))
        if version:
            found[name] = version
    return found


def _version(distributions: tuple[str, ...]) -> str | None:
    for name in distributions:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


_NVML = """
import json, pynvml
pynvml.nvmlInit()
names = []
for index in range(pynvml.nvmlDeviceGetCount()):
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    name = pynvml.nvmlDeviceGetName(handle)
    name = name.decode() if isinstance(name, bytes) else name
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
    names.append(f"{name}, {memory / 2**30:.0f} GiB")
print(json.dumps(names))
"""


def gpus() -> tuple[str, ...]:
    """Names of the NVIDIA GPUs, through NVML or else ``nvidia-smi -L``. Changes no setting."""
    if _version(("nvidia-ml-py",)):
        ended = _probe(_NVML, 10.0)
        if ended.returncode == 0:
            return tuple(json.loads(ended.stdout))
    if shutil.which("nvidia-smi"):
        listing = _output(["nvidia-smi", "-L"])
        lines = [line for line in listing.splitlines() if line.startswith("GPU ")]
        return tuple(line.partition(": ")[2].partition(" (UUID")[0] for line in lines)
    return ()


# ------------------------------------------------------------ doctor
def checks() -> tuple[Check, ...]:
    """Everything the tool needs or could use, each tried. Takes seconds: packages are imported."""
    plain: tuple[Callable[[], Check], ...] = (_python, _cpu, _memory, _temporary, _fork, _writes)
    found = [check() for check in plain]
    found += [_required(name) for name in REQUIRED]
    found.append(_driver())
    found += [_optional(probe) for probe in PROBES]
    return tuple(found)


def _python() -> Check:
    version = platform.python_version()
    detail = f"{version} at {sys.executable}"
    return Check("Python", "ok", detail)


def _cpu() -> Check:
    return Check("CPU", "ok", f"{cpu_model()}, {available_cores()} cores available")


def _memory() -> Check:
    memory = physical_memory()
    return Check("Memory", "ok", f"{memory / 2**30:.1f} GiB" if memory else "unknown size")


def _temporary() -> Check:
    remedy = "point TMPDIR at a folder you can write, with some 1 GiB free"
    name = "Temporary folder"
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile(prefix="gpuadvise-") as file:
            file.write(b"x")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name, "broken", str(error), remedy)
    detail = f"{folder}, {free / 2**30:.1f} GiB free"
    return Check(name, "ok", detail) if free > 256 << 20 else Check(name, "broken", detail, remedy)


def _fork() -> Check:
    if hasattr(os, "fork"):
        return Check("Process copies", "ok", "fork is available: hot calls are tried in place")
    return Check(
        "Process copies",
        "optional",
        "no fork on this system: rewrites are tried by whole-script runs only",
    )


def _writes() -> Check:
    version = abi()
    if version:
        words = f"Landlock {version}: trial runs and what they start write in scratch folders only"
        return Check("Isolation", "ok", words)
    return Check(
        "Isolation",
        "optional",
        "no Landlock on this system: writes of other programs and C libraries are not held back",
    )


def _required(name: str) -> Check:
    version = _version((name,))
    remedy = f"pip install {name}"
    if version is None:
        return Check(name, "missing", "not installed", remedy)
    ended = _probe(f"import {name}", PROBE_LIMIT)
    if ended.returncode != 0:
        return Check(name, "broken", f"{version}: {_reason(ended)}", f"{remedy} --force-reinstall")
    return Check(name, "ok", version)


def _optional(probe: Probe) -> Check:
    version = _version(probe.distributions)
    if version is None:
        return Check(probe.name, "optional", f"not installed ({probe.purpose})", probe.remedy)
    ended = _probe(probe.code, PROBE_LIMIT)
    if ended.returncode != 0 and probe.gpu and not shutil.which("nvidia-smi"):
        return Check(probe.name, "optional", f"{version}, idle without an NVIDIA driver")
    if ended.returncode != 0:
        remedy = f"{probe.remedy}; until then it is not used"
        return Check(probe.name, "broken", f"{version}: {_reason(ended)}", remedy)
    said = ended.stdout.strip().splitlines()
    more = f" ({said[-1]})" if said and said[-1] != version else ""
    return Check(probe.name, "ok", version + more)


def _driver() -> Check:
    name = "GPU driver"
    if not shutil.which("nvidia-smi"):
        remedy = "CPU rewrites need none; for GPU rewrites install an NVIDIA driver"
        return Check(name, "optional", "no NVIDIA driver found", remedy)
    query = "--query-gpu=name,driver_version,memory.total"
    text = _output(["nvidia-smi", query, "--format=csv,noheader"])
    if not text:
        detail = "nvidia-smi is there but reports no GPU"
        return Check(name, "broken", detail, "see what nvidia-smi itself says")
    banner = _output(["nvidia-smi"])
    cuda = banner.partition("CUDA Version:")[2].split()
    suffix = f"; CUDA up to {cuda[0]}" if cuda else ""
    return Check(name, "ok", "; ".join(text.splitlines()) + suffix)


# ------------------------------------------------------------ child processes
def _probe(code: str, limit: float) -> subprocess.CompletedProcess[str]:
    """Run code in a Python of its own: what is broken may crash or hang there."""
    command = [sys.executable, "-P", "-c", code]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {limit:.0f} s")


def _reason(ended: subprocess.CompletedProcess[str]) -> str:
    if ended.returncode < 0:
        return f"killed by signal {-ended.returncode}"
    lines = ended.stderr.strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {ended.returncode}"


def _output(command: list[str]) -> str:
    """Standard output of a system tool, empty if it fails."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""
