"""CUPTI's activity records, in the script's process: which are wanted, and what they say.

NVIDIA's Python bindings switch recording on and give the layouts of the records, as NumPy dtypes
that fit the library they were made for; the records themselves come as bytes (`buffers`) and are
decoded after the run.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import records
from .buffers import Buffers
from .records import Table

LIMIT = 1_500_000
"""Records of one run; then recording stops."""

WANTED = re.compile(
    r"(cu|cuda)(64)?("
    r"Launch|GraphLaunch|Memcpy|Memset|Malloc|Free|Mem(Alloc|Free|HostAlloc)|HostAlloc"
    r"|\w*Synchronize|EventQuery|StreamQuery|StreamWaitEvent)"
)
"""Calls that are recorded. CuPy asks for the current device some 200 times a step."""
_VERSION = re.compile(r"(_ptsz|_ptds)?_v\d{4,}$")


class CuptiProblem(Exception):
    """CUPTI cannot be used here; the text says why."""


class Cupti:
    """One subscription of this process. CUPTI admits one client at a time."""

    def __init__(self, full: Any) -> None:
        """``full``: called once, with the reason, when there is no room for more records."""
        self.full = full
        self.raw: dict[str, list[Table]] = {}
        self.texts: dict[int, str] = {}
        self.count = 0
        self._stopped = False
        try:
            self.api = importlib.import_module("cupti.cupti")
        except (ImportError, OSError, RuntimeError) as problem:
            raise CuptiProblem(f"cupti-python does not load ({_short(problem)})") from None
        self._find_layouts()
        try:
            self.clock()  # the bindings load CUPTI's library at their first call
            self.buffers = Buffers(self._completed)
        except (OSError, RuntimeError) as problem:
            raise CuptiProblem(str(problem)) from None

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
            raise CuptiProblem(_explain(problem)) from None
        self.names = {
            "RUNTIME": _keep_wanted(api.runtime_api_trace_cbid, api.activity_enable_runtime_api),
            "DRIVER": _keep_wanted(api.driver_api_trace_cbid, api.activity_enable_driver_api),
        }

    def stop(self) -> None:
        """Collect what is still in CUPTI's buffers, and disable recording."""
        if self._stopped:
            return
        self._stopped = True
        api = self.api
        with contextlib.suppress(Exception):  # see ``start``; what was collected so far is kept
            api.activity_flush_all(1)
            for name in _STRUCTURES:
                api.activity_disable(getattr(api.ActivityKind, name))
            api.activity_flush_all(1)

    @property
    def dropped(self) -> int:
        """Records that CUPTI had no room for."""
        return self.buffers.dropped

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

    def _completed(self, data: bytes, offsets: list[int]) -> None:
        """A buffer is full, or flushed: sort its records by kind, and read the kernels' names."""
        where = np.array(offsets, dtype=np.int64)
        whole = np.frombuffer(data, dtype=np.uint8)
        numbers = np.frombuffer(data[: len(data) // 4 * 4], dtype=np.int32)[where // 4]
        for number in np.unique(numbers).tolist():
            table = self._kinds.get(number)
            if table is None:
                continue
            layout = self.layouts[table]
            rows = whole[where[numbers == number][:, None] + np.arange(layout.itemsize)]
            records_ = np.ascontiguousarray(rows).view(layout).reshape(-1)
            self.raw.setdefault(table, []).append(records_)
            if table == "kernels":
                self._read_names(records_)
        self.count += len(offsets)
        if self.count > LIMIT:
            self.count = -(1 << 62)
            self.full(f"{LIMIT} CUDA records were collected")

    def _read_names(self, kernels: Table) -> None:
        for address in np.unique(kernels["name"]).tolist():
            if address not in self.texts:
                self.texts[address] = _text_at(address & (2**64 - 1))

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

    def _rows(self, kind: str) -> Table:
        parts = self.raw.get(kind, [])
        return np.concatenate(parts) if parts else np.zeros(0, dtype=self.layouts[kind])

    def _plain(self, kind: str, dtype: np.dtype[Any], renamed: Mapping[str, str]) -> Table:
        rows = self._rows(kind)
        table = np.zeros(len(rows), dtype=dtype)
        for name in dtype.names or ():
            table[name] = rows[renamed.get(name, _SAME.get(name, name))]
        return table

    def _calls(self, names: dict[str, int]) -> Table:
        rows = self._rows("calls")
        table = np.zeros(len(rows), dtype=records.CALLS)
        for name, field in (
            ("start", "start"),
            ("end", "end"),
            ("thread", "thread_id"),
            ("correlation", "correlation_id"),
        ):
            table[name] = rows[field]
        kinds = {self.api.ActivityKind[k].value: k for k in ("RUNTIME", "DRIVER")}
        pairs = rows[["kind", "cbid"]].tolist()
        index = {
            pair: names.setdefault(self.names[kinds[pair[0]]].get(pair[1], "?"), len(names))
            for pair in dict.fromkeys(pairs)
        }
        table["name"] = [index[pair] for pair in pairs]
        return table

    def _kernels(self, names: dict[str, int]) -> Table:
        rows = self._rows("kernels")
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
        addresses = rows["name"].tolist()
        index = {
            a: names.setdefault(readable(self.texts.get(a, "?")), len(names))
            for a in dict.fromkeys(addresses)
        }
        table["name"] = [index[a] for a in addresses]
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


def _text_at(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace") if address else "?"


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


def _explain(problem: Exception) -> str:
    text = _short(problem)
    if "MULTIPLE_SUBSCRIBERS" in text or "ALREADY" in text:
        return "another profiler already uses CUPTI in this process"
    if "NOT_COMPATIBLE" in text or "INSUFFICIENT" in text or "VIRTUALIZED" in text:
        return f"CUPTI does not work with this driver ({text})"
    return f"CUPTI refused ({text})"


def _short(problem: BaseException) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
