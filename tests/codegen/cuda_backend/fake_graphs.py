"""CUDA graphs in numba's simulator: what would be recorded is kept, and runs when replayed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from numba.cuda.simulator import api
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numba.cuda.simulator.kernel import FakeCUDAKernel

recorded: list[Callable[[], Any]] | None = None
"""What the stream was given since the recording began; None while there is none."""
FAILURE = 1


def recording(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a kernel or an array that is kept for later during a recording."""

    def kept(self: Any, *args: Any) -> Any:
        if recorded is None or getattr(self, "_device", False):
            return plain(self, *args)
        recorded.append(lambda: plain(self, *args))
        return None

    return kept


def begin(handle: Any, mode: Any) -> tuple[int]:
    global recorded
    recorded = []
    return (0,)


def end(handle: Any) -> tuple[int, Any]:
    global recorded
    graph, recorded = recorded, None
    return 0, graph


def make(graph: Any, flags: int) -> tuple[int, Any]:
    return 0, graph


def launch(ready: Any, handle: Any) -> tuple[int]:
    for call in ready:
        call()
    return (0,)


def install(failing: str) -> None:
    """Put ``cuda.bindings`` in place; a function of it fails, if one is named."""
    FakeCUDAKernel.__call__ = recording(FakeCUDAKernel.__call__)
    FakeCUDAArray.copy_to_device = recording(FakeCUDAArray.copy_to_device)
    api.stream.__int__ = lambda self: 0
    functions: dict[str, Any] = {
        "cuStreamBeginCapture": begin,
        "cuStreamEndCapture": end,
        "cuGraphInstantiate": make,
        "cuGraphLaunch": launch,
        "cuGraphExecDestroy": lambda ready: (0,),
        "cuGraphDestroy": lambda graph: (0,),
    }
    if failing:
        well = functions[failing]

        def fails(*args: Any) -> tuple[int, None]:
            if failing == "cuStreamEndCapture":
                well(*args)
            return FAILURE, None

        functions[failing] = fails
    modes = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    results = SimpleNamespace(CUDA_SUCCESS=0)
    driver = SimpleNamespace(CUstreamCaptureMode=modes, CUresult=results, **functions)
    for name in ("cuda", "cuda.bindings"):
        sys.modules[name] = ModuleType(name)
    sys.modules["cuda.bindings"].driver = driver  # type: ignore[attr-defined]
