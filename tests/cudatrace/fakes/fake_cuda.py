"""A library that "launches kernels": records as CUPTI would write them, where it records."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import time
import types

import numpy as np

_IDS = itertools.count(1)
_NAMES: dict[str, ctypes.Array[ctypes.c_char]] = {}


def launch(name: str = "kernel_a", *, timed: bool = True) -> None:
    """One call and one kernel of 100 ns; ``timed``: its times are known."""
    profiler = sys.modules.get("torch.profiler")
    if profiler is not None and getattr(profiler, "RUNNING", None):
        number, now = next(_IDS), time.time_ns()
        half = threading.get_ident() & 0xFFFFFFFF
        profiler.add("cuda_runtime", "cudaLaunchKernel", now, 1000, half, number)
        profiler.add("kernel", name, now + 2000, 100, 7, number)
    cupti = sys.modules.get("cupti.cupti")
    if cupti is None or not cupti.LIBRARY.enabled:
        return
    text = _NAMES.setdefault(name, ctypes.create_string_buffer(name.encode()))
    call = np.zeros(1, dtype=cupti.activity_api_dtype)
    call["kind"], call["cbid"] = cupti.ActivityKind.RUNTIME, 2
    call["thread_id"], call["correlation_id"] = threading.get_native_id(), next(_IDS)
    for called in cupti.CALLED:
        data = types.SimpleNamespace(
            callback_site=cupti.ApiCallbackSite.API_ENTER,
            correlation_id=int(call["correlation_id"][0]),
        )
        called(None, cupti.CallbackDomain.RUNTIME_API, 2, data)
    call["start"] = time.monotonic_ns()
    call["end"] = time.monotonic_ns()
    kernel = np.zeros(1, dtype=cupti.activity_kernel10_dtype)
    kernel["kind"], kernel["name"] = cupti.ActivityKind.CONCURRENT_KERNEL, ctypes.addressof(text)
    kernel["correlation_id"] = call["correlation_id"]
    if timed:
        kernel["start"], kernel["end"] = call["end"], call["end"] + 100
    cupti.LIBRARY.put(call)
    cupti.LIBRARY.put(kernel)


def unload() -> None:
    """A module goes, and its kernels' names with it."""
    cupti = sys.modules.get("cupti.cupti")
    if cupti is None or not cupti.LIBRARY.enabled:
        return
    call = np.zeros(1, dtype=cupti.activity_api_dtype)
    call["kind"], call["cbid"] = cupti.ActivityKind.DRIVER, 2
    call["thread_id"], call["correlation_id"] = threading.get_native_id(), next(_IDS)
    call["start"], call["end"] = time.monotonic_ns(), time.monotonic_ns()
    cupti.LIBRARY.put(call)


def profile() -> None:
    """Another profiler takes CUPTI over."""
    cupti = sys.modules.get("cupti.cupti")
    if cupti is not None:
        cupti.LIBRARY.stolen = True
