"""Measures the ceilings of the GPU, in a process of its own: ``python -m gpuadvise.roofline.gpu``.

Uses CuPy. Copy bandwidth is that of a copy within device memory, 2 n bytes for n bytes copied. The
peak is that of a kernel with eight chains of fused multiply-adds a thread, 2 operations each, with
enough threads to hide the latency. Times come from CUDA events. No device setting is touched.
Prints JSON as the CPU's does, with ``"name"``; without a device ``{"missing": why}``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

REPEATS = 7
COPIED = 1 << 30
BLOCK, BLOCKS_EACH = 256, 32
"""Threads of a block, and blocks for each multiprocessor."""
CHAINS = 8
STEPS = {"float32": 8192, "float64": 4096}
C_NAMES = {"float32": "float", "float64": "double"}


def kernel_text(dtype: str) -> str:
    """CUDA C of the chains; the sum is stored so that no compiler drops them."""
    kind = C_NAMES[dtype]
    names = [f"s{k}" for k in range(CHAINS)]
    made = "\n".join(f"    {kind} {name} = b * {k};" for k, name in enumerate(names))
    steps = "\n".join(f"        {name} = fma({name}, a, b);" for name in names)
    return f"""
extern "C" __global__ void chains({kind}* out, {kind} a, {kind} b, int steps) {{
{made}
    for (int i = 0; i < steps; ++i) {{
{steps}
    }}
    out[blockIdx.x * blockDim.x + threadIdx.x] = {" + ".join(names)};
}}
"""


def measure() -> dict[str, Any]:
    """All ceilings of the current device. Raises what CuPy raises without one."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    free, _ = cupy.cuda.runtime.memGetInfo()
    copied = min(COPIED, free // 8)
    source = cupy.ones(copied // 8)
    target = cupy.zeros_like(source)

    def rates(work: float, run: Callable[[], Any]) -> list[float]:
        run()
        found = []
        for _ in range(REPEATS):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            run()
            end.record()
            end.synchronize()
            found.append(work / (cupy.cuda.get_elapsed_time(start, end) * 1e-3))
        return found

    found: dict[str, Any] = {
        "name": properties["name"].decode(),
        "bandwidth": {"copy": rates(2 * source.nbytes, lambda: cupy.copyto(target, source))},
    }
    blocks = BLOCKS_EACH * properties["multiProcessorCount"]
    for dtype, steps in STEPS.items():
        kernel = cupy.RawKernel(kernel_text(dtype), "chains")
        out = cupy.empty(blocks * BLOCK, dtype)
        a, b = (cupy.dtype(dtype).type(value) for value in (0.5, 1.0))
        arguments = (out, a, b, cupy.int32(steps))
        work = 2.0 * CHAINS * steps * out.size
        run = _launcher(kernel, blocks, arguments)
        found[dtype] = {"multiply-adds": rates(work, run)}
    return found


def _launcher(kernel: Any, blocks: int, arguments: tuple[Any, ...]) -> Callable[[], None]:
    def run() -> None:
        kernel((blocks,), (BLOCK,), arguments)

    return run


def main() -> None:
    """One line of JSON on standard output."""
    try:
        found = measure()
    except ImportError:
        found = {"missing": "CuPy is not installed"}
    except Exception as problem:  # CuPy's own classes cannot be named without it
        found = {"missing": str(problem).splitlines()[0][:200] if str(problem) else "no device"}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
