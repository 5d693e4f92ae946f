"""What the recorder uses of cupti-python, without a GPU: an API, and a library that fills buffers.

``fake_cuda`` makes the "CUDA calls". Times are those of ``time.monotonic_ns``.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import threading
import time

import numpy as np

from gpuadvise.cudatrace import buffers

if os.environ.get("FAKE_CUPTI_PROBLEM") == "import":
    raise ImportError("libcupti.so.13: cannot open shared object file")


class ActivityKind(enum.IntEnum):
    MEMCPY = 1
    MEMSET = 2
    DRIVER = 4
    RUNTIME = 5
    DEVICE = 8
    CONCURRENT_KERNEL = 10
    MEMCPY2 = 22
    SYNCHRONIZATION = 38
    MEMORY2 = 49


class ActivityThreadIdType(enum.IntEnum):
    SYSTEM = 1


class runtime_api_trace_cbid(enum.IntEnum):  # noqa: N801
    cudaGetDevice_v3020 = 1  # noqa: N815
    cudaLaunchKernel_v7000 = 2  # noqa: N815


class driver_api_trace_cbid(enum.IntEnum):  # noqa: N801
    cuLaunchKernel = 1  # noqa: N815
    cuModuleUnload = 2  # noqa: N815


def _layout(*fields: tuple[str, ...], size: int) -> np.dtype:
    plain = np.dtype([("kind", "i4"), *fields])
    return np.dtype({**_of(plain), "itemsize": size})


def _of(plain: np.dtype) -> dict[str, object]:
    names = plain.names
    return {
        "names": list(names),
        "formats": [plain.fields[n][0] for n in names],
        "offsets": [plain.fields[n][1] for n in names],
    }


_SPAN = (("start", "u8"), ("end", "u8"), ("correlation_id", "u4"))
_ON = (*_SPAN, ("device_id", "u4"), ("stream_id", "u4"))
_AXES = tuple((f"{what}_{axis}", "i4") for what in ("grid", "block") for axis in "xyz")
activity_api_dtype = _layout(*_SPAN, ("cbid", "u4"), ("thread_id", "u4"), size=40)
activity_kernel10_dtype = _layout(
    *_ON,
    *_AXES,
    ("registers_per_thread", "u2"),
    ("static_shared_memory", "i4"),
    ("dynamic_shared_memory", "i4"),
    ("name", "i8"),
    size=96,
)
_COPY = (*_ON, ("bytes", "u8"), ("copy_kind", "u1"), ("src_kind", "u1"), ("dst_kind", "u1"))
activity_memcpy6_dtype = _layout(*_COPY, size=64)
activity_memcpy_pto_p4_dtype = _layout(*_COPY, size=64)
activity_memset4_dtype = _layout(*_ON, ("bytes", "u8"), size=48)
activity_synchronization2_dtype = _layout(*_SPAN, ("type", "u1"), size=32)
activity_memory4_dtype = _layout(
    ("timestamp", "u8"),
    ("correlation_id", "u4"),
    ("bytes", "u8"),
    ("memory_operation_type", "i4"),
    ("memory_kind", "i4"),
    size=40,
)
activity_device5_dtype = _layout(
    ("id", "u4"), ("uuid", "u1", (16,)), ("is_mig_enabled", "u1"), size=40
)


class ActivityAPI: ...


class ActivityKernel10: ...


class ActivityMemcpy6: ...


class ActivityMemcpyPtoP4: ...


class ActivityMemset4: ...


class ActivitySynchronization2: ...


class ActivityMemory4: ...


class ActivityDevice5: ...


SIZES = {
    ActivityKind.RUNTIME: activity_api_dtype.itemsize,
    ActivityKind.DRIVER: activity_api_dtype.itemsize,
    ActivityKind.CONCURRENT_KERNEL: activity_kernel10_dtype.itemsize,
    ActivityKind.DEVICE: activity_device5_dtype.itemsize,
}
_REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


class Library:
    """CUPTI's own functions. One buffer at a time, handed over when it is full or flushed."""

    def __init__(self) -> None:
        self.enabled = False
        self.lock = threading.RLock()
        self.dropped = 0
        self.buffer = self.size = self.filled = 0
        number = ctypes.POINTER(ctypes.c_uint64)
        self.cuptiGetTimestamp = ctypes.CFUNCTYPE(ctypes.c_int32, number)(self._timestamp)
        pointer = ctypes.POINTER(ctypes.c_void_p)
        self.cuptiActivityGetNextRecord = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, pointer
        )(self._next)

    def _timestamp(self, found: object) -> int:
        found[0] = time.monotonic_ns()
        return 0

    def _next(self, buffer: int, valid: int, record: object) -> int:
        here = record[0]
        if here is None:
            here = buffer
        else:
            here += SIZES[ctypes.c_int32.from_address(here).value]
        if here >= buffer + valid or ctypes.c_int32.from_address(here).value not in SIZES:
            return 1
        record[0] = here
        return 0

    def cuptiActivityRegisterCallbacks(self, requested: object, completed: object) -> int:  # noqa: N802
        if os.environ.get("FAKE_CUPTI_PROBLEM") == "taken":
            return 39
        self.requested, self.completed = _REQUESTED(requested.value), _COMPLETED(completed.value)
        return 0

    def cuptiActivityGetNumDroppedRecords(self, context: object, stream: int, lost: object) -> int:  # noqa: N802
        lost._obj.value, self.dropped = self.dropped, 0
        return 0

    def put(self, record: np.ndarray) -> None:
        with self.lock:
            self._put(record.tobytes())

    def _put(self, data: bytes) -> None:
        if self.buffer and self.filled + len(data) > self.size:
            self.flush()
        if not self.buffer:
            buffer, size, most = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
            self.requested(ctypes.byref(buffer), ctypes.byref(size), ctypes.byref(most))
            self.buffer, self.size, self.filled = buffer.value or 0, size.value, 0
        if not self.buffer:
            self.dropped += 1
            return
        ctypes.memmove(self.buffer + self.filled, data, len(data))
        self.filled += len(data)

    def flush(self) -> None:
        with self.lock:
            if self.buffer and not self.stolen:
                self.completed(None, 0, self.buffer, self.size, self.filled)
            self.buffer = 0

    stolen = False
    """Another client's callbacks are called from now on."""


LIBRARY = Library()
buffers.load = lambda: LIBRARY
if room := os.environ.get("FAKE_CUPTI_ROOM"):
    buffers.Buffers = functools.partial(buffers.Buffers, count=int(room))


class CuptiError(Exception):
    """The bindings' own exception."""


def get_timestamp() -> int:
    if os.environ.get("FAKE_CUPTI_PROBLEM") == "driver":
        raise RuntimeError(
            "CUDA driver is not found (libcuda.so.1: cannot open shared object file)"
        )
    if os.environ.get("FAKE_CUPTI_PROBLEM") == "old":
        raise RuntimeError("only CUDA 13.0 or later driver is supported")
    return time.monotonic_ns()


def set_thread_id_type(kind: int) -> None: ...


def activity_enable(kind: int) -> None:
    LIBRARY.enabled = True


def activity_disable(kind: int) -> None:
    LIBRARY.enabled = False


def activity_enable_runtime_api(call: int, enable: int) -> None: ...


def activity_enable_driver_api(call: int, enable: int) -> None: ...


def activity_flush_all(flag: int) -> None:
    LIBRARY.flush()


# ------------------------------------------------------------------ callbacks
class ApiCallbackSite(enum.IntEnum):
    API_ENTER = 0


class CallbackDomain(enum.IntEnum):
    DRIVER_API = 1
    RUNTIME_API = 2


CALLED = []
"""The subscriber's function, which every call enters."""


def subscribe(function: object, userdata: object) -> int:
    CALLED.append(function)
    return 1


def unsubscribe(subscriber: int) -> None:
    CALLED.clear()


def enable_callback(enable: int, subscriber: int, domain: int, call: int) -> None: ...
