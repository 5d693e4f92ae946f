"""CUPTI's activity records, in the script's process: which are wanted, and what they say.

NVIDIA's Python bindings switch recording on and give the layouts of the records, as NumPy dtypes
that fit the library they were made for; the records themselves come as bytes (`buffers`) and are
read and decoded after the run.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import records
from .records import Table

WANTED = re.compile(
    r"(cu|cuda)(64)?("
    r"Launch|GraphLaunch|Memcpy|Memset|Malloc|Free|Mem(Alloc|Free|HostAlloc)|HostAlloc"
    r"|\w*Synchronize|EventQuery|StreamQuery|StreamWaitEvent|ModuleUnload|LibraryUnload)"
)
"""Calls that are recorded. CuPy asks for the current device some 200 times a step."""
MISSING = "cupti-python is not installed (pip install 'gpuadvise[cuda13]')"
LONGEST_NAME = 1 << 16
"""Bytes of a kernel's name that are read: those of templates have thousands."""
_VERSION = re.compile(r"(_ptsz|_ptds)?_v\d{4,}$")


class CuptiProblem(Exception):
    """CUPTI cannot be used here; the text says why."""

    def __init__(self, text: str, *, other_way: bool = False) -> None:
        super().__init__(text)
        self.other_way = other_way
        """Whether a CUPTI that another library brings may work all the same."""


class Cupti:
    """One subscription of this process. CUPTI admits one client at a time."""

    def __init__(self) -> None:
        """Raises CuptiProblem where the bindings, the library or the driver are missing."""
        self.raw: dict[str, list[Table]] = {}
        self.texts: dict[int, str] = {}
        self.count = 0
        """Records that were read."""
        self.dropped = 0
        """Records that CUPTI had no room for."""
        self.took_over = False
        """Whether another client took CUPTI over while this one recorded."""
        self._recording = False
        self._read = False
        try:
            self.api = importlib.import_module("cupti.cupti")
        except (ImportError, OSError, RuntimeError) as problem:
            absent = isinstance(problem, ModuleNotFoundError) and problem.name == "cupti"
            text = MISSING if absent else f"cupti-python does not load ({_short(problem)})"
            raise CuptiProblem(text, other_way=True) from None
        self._find_layouts()
        try:
            self.clock()  # the bindings load CUPTI's library at their first call
            # Imported here: without it a program whose Python has no llvmlite still runs.
            buffers = importlib.import_module("gpuadvise.cudatrace.buffers")
            self.buffers = buffers.Buffers()
        except Exception as problem:  # the bindings have their own, undocumented, exceptions
            raise explain(problem) from None

    def clock(self) -> int:
        """CUPTI's clock, nanoseconds."""
        return int(self.api.get_timestamp())

    # ------------------------------------------------------------------ records
    def start(self) -> None:
        """Enable recording. Raises CuptiProblem, with the other client named if there is one."""
        api = self.api
        try:
            api.set_thread_id_type(api.ActivityThreadIdType.SYSTEM)
            self.buffers.register()
            for name in _STRUCTURES:
                api.activity_enable(getattr(api.ActivityKind, name))
        except Exception as problem:  # the bindings have their own, undocumented, exceptions
            raise explain(problem) from None
        self._recording = True
        self.names = {
            "RUNTIME": _keep_wanted(api.runtime_api_trace_cbid, api.activity_enable_runtime_api),
            "DRIVER": _keep_wanted(api.driver_api_trace_cbid, api.activity_enable_driver_api),
        }

    def pause(self) -> None:
        """Disable recording; what was recorded stays in CUPTI's buffers."""
        if not self._recording:
            return
        self._recording = False
        api = self.api
        with contextlib.suppress(Exception):  # see ``start``; what was collected so far is kept
            for name in _STRUCTURES:
                api.activity_disable(getattr(api.ActivityKind, name))

    def stop(self) -> None:
        """Disable recording and read all records, once."""
        if self._read:
            return
        self._read = True
        for flush_first in (True, False):
            with contextlib.suppress(Exception):
                self.api.activity_flush_all(1)  # 1: also buffers that are not full
            if flush_first:
                self.pause()
        self.took_over = self.buffers.missing > 0
        self.dropped = self.buffers.lost()
        for data, offsets in self.buffers.records():
            self._sort(data, offsets)

    def _find_layouts(self) -> None:
        """Layout of each kind of record, and which kind of record a number stands for."""
        kinds = self.api.ActivityKind
        self.layouts: dict[str, np.dtype[Any]] = {}
        self._kinds: dict[int, str] = {}
        for name, (prefix, table) in _STRUCTURES.items():
            if table not in self.layouts:
                structure = self._newest(prefix)
                layout = getattr(self.api, _underscored(structure), None)
                if layout is None:
                    raise CuptiProblem(
                        f"this version of cupti-python gives no layout of {structure}"
                    )
                self.layouts[table] = np.dtype(layout)
            self._kinds[int(getattr(kinds, name).value)] = table

    def _newest(self, prefix: str) -> str:
        """The newest version of a structure that the bindings have: what CUPTI fills in."""
        versions = [found for n in dir(self.api) if (found := re.fullmatch(rf"{prefix}(\d*)", n))]
        if not versions:
            raise CuptiProblem(f"this version of cupti-python has no {prefix} records")
        return max(versions, key=lambda found: int(found[1] or 0))[0]

    def _sort(self, data: Table, offsets: Table) -> None:
        """Put the records of a buffer into the table of their kind; read the kernels' names."""
        numbers = data[: len(data) // 4 * 4].view(np.int32)[offsets // 4]
        for number in np.unique(numbers).tolist():
            table = self._kinds.get(number)
            if table is None:
                continue
            layout = self.layouts[table]
            where = offsets[numbers == number]
            where = where[where + layout.itemsize <= len(data)]
            rows = data[where[:, None] + np.arange(layout.itemsize)]
            self.raw.setdefault(table, []).append(rows)
            if table == "kernels":
                self._read_names(rows.view(layout).reshape(-1))
        self.count += len(offsets)

    def _timed(self, rows: Table) -> Table:
        """The rows with both times. CUPTI writes 0 for one that it could not take, and a record
        that another client interrupted has no end yet."""
        timed = (rows["start"] > 0) & (rows["end"] >= rows["start"])
        return rows if timed.all() else rows[timed]

    def _read_names(self, kernels: Table) -> None:
        for address in np.unique(kernels["name"]).tolist():
            if address not in self.texts:
                self.texts[address] = text_at(address & (2**64 - 1))

    # ------------------------------------------------------------------ tables
    def tables(self) -> tuple[dict[str, Table], list[str]]:
        """The columns of `records`, and the names they point to."""
        names: dict[str, int] = {}
        found = {
            "calls": self._calls(names),
            "kernels": self._kernels(names),
            "copies": self._copies(),
            "memsets": self._plain("memsets", records.MEMSETS, _DEVICE),
            "syncs": self._plain("syncs", records.SYNCS, {"kind": "type"}),
            "memory": self._memory(),
        }
        order = {
            name: table[np.argsort(table[table.dtype.names[0]], kind="stable")]  # type: ignore[index]
            for name, table in found.items()
        }
        return order, list(names)

    @property
    def unloaded(self) -> bool:
        """Whether code was unloaded from the device, with its kernels' names."""
        calls = self._rows("calls")
        driver = calls[calls["kind"] == self.api.ActivityKind.DRIVER.value]
        made = {self.names["DRIVER"].get(call, "") for call in np.unique(driver["cbid"]).tolist()}
        return any(name.endswith("Unload") for name in made)

    @property
    def used(self) -> bool:
        """Whether the program has used CUDA so far."""
        return bool(self.buffers.taken)

    @property
    def room(self) -> tuple[str, int] | None:
        """Why there was no room for further records, and since when; None as long as there is."""
        full: tuple[str, int] | None = self.buffers.full
        return full

    def devices(self) -> dict[str, dict[str, Any]]:
        """Number of each device that the program could use -> how the driver names it."""
        found = {}
        for row in self._rows("devices"):
            identity = uuid.UUID(bytes=bytes(row["uuid"].tolist()))
            found[str(int(row["id"]))] = {
                "uuid": f"GPU-{identity}",
                "mig": bool(row["is_mig_enabled"]),
            }
        return found

    def _rows(self, kind: str) -> Table:
        parts, layout = self.raw.get(kind, []), self.layouts[kind]
        if not parts:
            return np.zeros(0, dtype=layout)
        return np.concatenate(parts).view(layout).reshape(-1)  # as bytes: NumPy copies them faster

    def _plain(self, kind: str, dtype: np.dtype[Any], renamed: Mapping[str, str]) -> Table:
        rows = self._timed(self._rows(kind))
        table = np.zeros(len(rows), dtype=dtype)
        for name in dtype.names or ():
            table[name] = rows[renamed.get(name, _SAME.get(name, name))]
        return table

    def _calls(self, names: dict[str, int]) -> Table:
        rows = self._timed(self._rows("calls"))
        table = np.zeros(len(rows), dtype=records.CALLS)
        for name, field in (
            ("start", "start"),
            ("end", "end"),
            ("thread", "thread_id"),
            ("correlation", "correlation_id"),
        ):
            table[name] = rows[field]
        kinds = {self.api.ActivityKind[k].value: k for k in ("RUNTIME", "DRIVER")}
        # One number for both, which sorts faster than pairs.
        pairs = rows["kind"].astype(np.int64) << 32 | rows["cbid"]
        found, where = np.unique(pairs, return_inverse=True)
        calls = [self.names[kinds[n >> 32]].get(n & 0xFFFFFFFF, "?") for n in found.tolist()]
        numbers = [names.setdefault(name, len(names)) for name in calls]
        table["name"] = np.array(numbers, dtype=np.int32)[where]
        return table

    def _kernels(self, names: dict[str, int]) -> Table:
        rows = self._timed(self._rows("kernels"))
        table = np.zeros(len(rows), dtype=records.KERNELS)
        for name in ("start", "end"):
            table[name] = rows[name]
        for name, field in _DEVICE.items():
            table[name] = rows[field]
        for position, axis in enumerate("xyz"):
            table["grid"][:, position] = rows[f"grid_{axis}"]
            table["block"][:, position] = rows[f"block_{axis}"]
        table["registers"] = rows["registers_per_thread"]
        table["shared"] = rows["static_shared_memory"] + rows["dynamic_shared_memory"]
        addresses, where = np.unique(rows["name"], return_inverse=True)
        texts = [readable(self.texts.get(address, "?")) for address in addresses.tolist()]
        numbers = [names.setdefault(text, len(names)) for text in texts]
        table["name"] = np.array(numbers, dtype=np.int32)[where]
        return table

    def _copies(self) -> Table:
        one = {**_DEVICE, "kind": "copy_kind", "source": "src_kind", "target": "dst_kind"}
        near = self._plain("copies", records.COPIES, one)
        far = self._plain("peer copies", records.COPIES, one)
        return np.concatenate([near, far])

    def _memory(self) -> Table:
        rows = self._rows("memory")
        table = np.zeros(len(rows), dtype=records.MEMORY)
        table["time"] = rows["timestamp"]
        table["correlation"] = rows["correlation_id"]
        table["bytes"] = rows["bytes"]
        table["release"] = rows["memory_operation_type"] == 2
        table["kind"] = rows["memory_kind"]
        return table


_STRUCTURES: Mapping[str, tuple[str, str]] = {
    "RUNTIME": ("ActivityAPI", "calls"),
    "DRIVER": ("ActivityAPI", "calls"),
    "CONCURRENT_KERNEL": ("ActivityKernel", "kernels"),
    "MEMCPY": ("ActivityMemcpy", "copies"),
    "MEMCPY2": ("ActivityMemcpyPtoP", "peer copies"),
    "MEMSET": ("ActivityMemset", "memsets"),
    "SYNCHRONIZATION": ("ActivitySynchronization", "syncs"),
    "MEMORY2": ("ActivityMemory", "memory"),
    "DEVICE": ("ActivityDevice", "devices"),
}
"""Kind of record -> structure that CUPTI writes, table it belongs to."""
_SAME = {"correlation": "correlation_id"}
_DEVICE = {"device": "device_id", "stream": "stream_id", "correlation": "correlation_id"}


def _underscored(name: str) -> str:
    """The bindings' own spelling: ``ActivityMemcpyPtoP4`` -> ``activity_memcpy_pto_p4_dtype``."""
    return f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', name).lower()}_dtype"


def _keep_wanted(calls: Any, enable: Any) -> dict[int, str]:
    """Switch records of all other calls off; id -> name of those that stay on."""
    kept: dict[int, str] = {}
    for call in calls:
        name = str(call.name)
        if WANTED.match(name):
            kept[int(call.value)] = _VERSION.sub("", name)
            continue
        try:
            enable(int(call.value), 0)
        except Exception:  # ids that this driver does not know: nothing to switch off
            continue
    return kept


def text_at(address: int) -> str:
    """The C string at an address of this process; ``"?"`` where no memory is.

    Records hold pointers to names that CUPTI keeps; reading them as a file cannot crash.
    """
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return "?"
    found = b""
    with contextlib.suppress(OSError, OverflowError):  # the memory ends there
        while address and b"\0" not in found and len(found) < LONGEST_NAME:
            found += os.pread(memory, 256, address + len(found))
    os.close(memory)
    text = found.partition(b"\0")[0].decode("utf-8", "replace")
    return text if text.isprintable() and text else "?"


def readable(symbol: str) -> str:
    """A kernel's name without its mangling, as far as that takes no compiler.

    ``_ZN2at6native6reduceE...`` -> ``at::native::reduce``. Templates lose their arguments.
    """
    if not symbol.startswith("_Z"):
        return symbol
    rest, parts = symbol[2:].lstrip("NKVL"), []
    while rest and rest[0].isdigit():
        digits = re.match(r"\d+", rest)
        assert digits is not None
        size = int(digits[0])
        part = rest[digits.end() : digits.end() + size]
        rest = rest[digits.end() + size :]
        if "_GLOBAL__N" not in part:
            parts.append(part)
    return "::".join(parts) or symbol


def explain(problem: Exception) -> CuptiProblem:
    """One line on why CUPTI does not record here."""
    text = _short(problem)
    if "libcuda" in text:
        return CuptiProblem("there is no NVIDIA driver on this machine (libcuda.so.1 is missing)")
    for words, meaning in _REFUSALS.items():
        if any(word in text for word in words):
            return CuptiProblem(meaning)
    if any(word in text for word in _DRIVERS):
        meaning = f"the NVIDIA driver is too old for this CUPTI ({text})"
        return CuptiProblem(meaning, other_way=True)
    if "llvmlite" in text or "libcupti" in text:
        return CuptiProblem(f"a library is missing ({text})", other_way=True)
    return CuptiProblem(f"CUPTI refused ({text})")


_REFUSALS: Mapping[tuple[str, ...], str] = {
    ("MULTIPLE_SUBSCRIBERS", "status 39"): (
        "another profiler (nsys, ncu, a debugger) already uses CUPTI for this process"
    ),
    ("INSUFFICIENT_PRIVILEGES", "status 35"): (
        "this user may not record GPU activity (the driver restricts profiling to administrators)"
    ),
    ("VIRTUALIZED", "status 37"): "CUPTI does not work on this virtual GPU",
}
"""Words of the bindings' exception, or CUPTI's status -> what that means."""
_DRIVERS = ("NOT_COMPATIBLE", "driver is supported", "CUPTI_ERROR_OLD", "status 36")


def _short(problem: BaseException) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
