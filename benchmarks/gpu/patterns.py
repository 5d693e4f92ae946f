"""What the pattern of each GPU rule costs: the mistake against its remedy, on real sizes.

    python benchmarks/gpu/patterns.py [--only CP PT513] [--output FILE]

Both sides do the same work in one process and end with a synchronisation; the median of five
timed calls each, in turn, after one call that compiles. Needs an NVIDIA GPU, CuPy, numba-cuda and
PyTorch. The spread is the half range of the five ratios.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from trace_overhead import header

Work = Callable[[], object]
CALLS = 5


@dataclass(frozen=True)
class Pattern:
    """One mistake and its remedy."""

    rule: str
    what: str
    bad: Work
    good: Work


# ------------------------------------------------------------------------- CuPy
def cupy_patterns() -> Iterator[Pattern]:
    """CP3xx."""
    import cupy as cp
    import cupyx
    import numpy as np

    grid = cp.ones((2000, 2000))
    host = np.ones((512, 512), np.float32)
    frames = [np.full((512, 512), k, np.float32) for k in range(50)]
    large = np.ones((50, 1_000_000), np.float32)
    pinned = cupyx.empty_pinned((1_000_000,), np.float32)
    target = cp.empty(1_000_000, np.float32)
    field = cp.linspace(0.0, 1.0, 1_000_000)
    small = cp.linspace(0.0, 1.0, 10_000)
    pool = cp.get_default_memory_pool()
    code = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    x32 = cp.ones(32, np.float32)

    def number(fetch: bool) -> Work:
        return lambda: [float(grid.get().sum() if fetch else grid.sum()) for _ in range(20)]

    yield Pattern("CP301", "32 MB copied to the host for its sum", number(True), number(False))

    def invariant(each: bool) -> Work:
        kept = cp.asarray(host)
        return lambda: [
            (cp.asarray(f) * (cp.asarray(host) if each else kept)).sum() for f in frames
        ]

    yield Pattern("CP302", "1 MB operand copied again each step", invariant(True), invariant(False))

    def scalars(each: bool) -> Work:
        def work() -> object:
            found = [small.sum() for _ in range(200)] if not each else None
            if found is not None:
                return cp.stack(found).tolist()
            return [float(small.sum()) for _ in range(200)]

        return work

    yield Pattern("CP303", "float() each step, 10 000 elements", scalars(True), scalars(False))

    def halved(x: cp.ndarray, every: int) -> Work:
        def work() -> None:
            for step in range(200):
                y = cp.sqrt(x) * 0.5
                if step % every == 0:
                    float(cp.abs(y - x).max())

        return work

    what = "convergence tested each step or every tenth, 10 000 elements"
    yield Pattern("CP303", what, halved(small, 1), halved(small, 10))

    def scaled(x: cp.ndarray, anew: bool) -> Work:
        def work() -> None:
            y = x + 0.0
            for _ in range(200):
                if anew:
                    y = y * 0.99
                else:
                    y *= 0.99

        return work

    for x, size in ((small, "10 000"), (cp.ones(20_000_000), "20 million")):
        what = f"a new array each step or the old one's memory, {size} elements"
        yield Pattern("CP305", what, scaled(x, True), scaled(x, False))

    def stepped(start: cp.ndarray, swap: bool) -> Work:
        def work() -> None:
            u, new = start.copy(), cp.empty_like(start)
            for _ in range(100):
                if swap:
                    cp.multiply(u, 0.99, out=new)
                    u, new = new, u
                else:
                    u = cp.multiply(u, 0.99)

        return work

    for x, size in ((small, "10 000"), (cp.ones(20_000_000), "20 million")):
        what = f"a new array each step or two that change places, {size} elements"
        yield Pattern("CP305", what, stepped(x, False), stepped(x, True))

    def chain(y: cp.ndarray) -> cp.ndarray:
        return cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25 - cp.sin(y) * 0.1

    fused = cp.fuse(chain)
    yield Pattern(
        "CP304",
        "chain of 10 element-wise operations, 1e6",
        lambda: [chain(field) for _ in range(50)],
        lambda: [fused(field) for _ in range(50)],
    )
    yield Pattern(
        "CP307",
        "Python loop over 2000 elements",
        lambda: sum(float(small[k]) for k in range(2000)),
        lambda: sum(small[:2000].tolist()),
    )

    def filled(free: bool) -> Work:
        def work() -> None:
            for _ in range(50):
                cp.sqrt(field)
                if free:
                    pool.free_all_blocks()

        return work

    yield Pattern("CP308", "free_all_blocks() each step", filled(True), filled(False))

    def made(again: bool) -> Work:
        kept = cp.RawKernel(code, "twice")
        return lambda: [
            (cp.RawKernel(code, "twice") if again else kept)((1,), (32,), (x32,))
            for _ in range(100)
        ]

    yield Pattern("CP309", "RawKernel made each step", made(True), made(False))

    def grown() -> object:
        out = cp.empty(0)
        for _ in range(200):
            out = cp.concatenate([out, small])
        return out

    yield Pattern(
        "CP310",
        "array grown by concatenate, 200 x 10 000",
        grown,
        lambda: cp.concatenate([small for _ in range(200)]),
    )

    def launches(graph: bool) -> Work:
        stream = cp.cuda.Stream(non_blocking=True)
        a = cp.ones(10_000)
        with stream:
            for _ in range(2):
                cp.add(a, 1.0, out=a)
            stream.begin_capture()
            for _ in range(100):
                cp.add(a, 1.0, out=a)
            captured = stream.end_capture()

        def work() -> None:
            if graph:
                captured.launch(stream)
            else:
                with stream:
                    for _ in range(100):
                        cp.add(a, 1.0, out=a)
            stream.synchronize()

        return work

    yield Pattern(
        "CP312", "100 short kernels, launched or as a graph", launches(False), launches(True)
    )

    def pageable() -> None:
        for row in large:
            target.set(row)

    def through() -> None:
        for row in large:
            pinned[...] = row
            target.set(pinned)

    def kept_pinned() -> None:
        for _ in range(len(large)):
            target.set(pinned)

    yield Pattern(
        "CP313", "4 MB copies, pageable or filled in pinned memory", pageable, kept_pinned
    )
    yield Pattern("CP313", "the same with a copy into the pinned buffer", pageable, through)
    yield Pattern(
        "CP314",
        "40 KB fetched each step, or together",
        lambda: [(small * k).get() for k in range(100)],
        lambda: cp.stack([small * k for k in range(100)]).get(),
    )
    mask = field > 0.5
    other = cp.sin(field)

    def gathered() -> None:
        for _ in range(50):
            field[mask] = other[mask]

    def chosen() -> None:
        for _ in range(50):
            cp.copyto(field, other, where=mask)

    yield Pattern("CP315", "x[mask] = y[mask], 1e6 elements", gathered, chosen)


# ------------------------------------------------------------------ numba.cuda
def numba_patterns() -> Iterator[Pattern]:
    """NC4xx."""
    import numpy as np
    from numba import cuda

    @cuda.jit
    def double(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < x.size:
            y[i] = 2.0 * x[i]

    @cuda.jit
    def by_row(x, y):  # type: ignore[no-untyped-def]
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = 2.0 * x[i, j]

    @cuda.jit
    def by_column(x, y):  # type: ignore[no-untyped-def]
        j, i = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = 2.0 * x[i, j]

    host, out = np.ones(131_072), np.empty(131_072)
    x, y = cuda.to_device(host), cuda.to_device(out)
    square = cuda.to_device(np.ones((4096, 4096)))
    result = cuda.device_array_like(square)
    blocks = 131_072 // 256

    def each(arrays: tuple[object, object], wait: bool = False) -> Work:
        def work() -> None:
            for _ in range(50):
                double[blocks, 256](*arrays)
                if wait:
                    cuda.synchronize()
            cuda.synchronize()

        return work

    yield Pattern("NC401", "kernel on host arrays, 1 MB each", each((host, out)), each((x, y)))

    def allocated(again: bool) -> Work:
        def work() -> None:
            kept = cuda.device_array(131_072)
            for _ in range(50):
                if again:
                    kept = cuda.device_array(131_072)
                double[blocks, 256](x, kept)
            cuda.synchronize()

        return work

    yield Pattern("NC402", "device_array in the loop", allocated(True), allocated(False))
    yield Pattern("NC403", "synchronize() after each launch", each((x, y), True), each((x, y)))

    def sized(threads: int) -> Work:
        def work() -> None:
            for _ in range(20):
                double[131_072 // threads, threads](x, y)
            cuda.synchronize()

        return work

    yield Pattern("NC404", "1 thread in a block, against 256", sized(1), sized(256))
    yield Pattern("NC404", "8 threads in a block, against 256", sized(8), sized(256))

    def ordered(kernel: object) -> Work:
        def work() -> None:
            for _ in range(20):
                kernel[(256, 256), (16, 16)](square, result)  # type: ignore[index]
            cuda.synchronize()

        return work

    yield Pattern("NC405", "threads along rows, 4096 x 4096", ordered(by_row), ordered(by_column))


# --------------------------------------------------------------------- PyTorch
def torch_patterns() -> Iterator[Pattern]:
    """PT5xx."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    device = torch.device("cuda")
    x = torch.randn(256, 64, device=device)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1)).to(device)
    deep = nn.Sequential(*(nn.Linear(64, 64) for _ in range(20))).to(device)

    def waits(call: str) -> Work:
        def work() -> None:
            total = torch.zeros((), device=device)
            for _ in range(100):
                loss = model(x).mean()
                if call == "item":
                    loss.item()
                elif call == "synchronize":
                    torch.cuda.synchronize()
                elif call == "print":
                    str(loss)
                else:
                    total += loss.detach()
            torch.cuda.synchronize()

        return work

    yield Pattern("PT501", ".item() each step", waits("item"), waits("sum"))
    yield Pattern("PT502", "synchronize() each step", waits("synchronize"), waits("sum"))
    yield Pattern("PT509", "a tensor shown each step", waits("print"), waits("sum"))
    yield Pattern(
        "PT503",
        "zeros of 4 MB made on the CPU and moved",
        lambda: [torch.zeros(1_000_000).to(device) for _ in range(50)],
        lambda: [torch.zeros(1_000_000, device=device) for _ in range(50)],
    )
    data = TensorDataset(torch.randn(20_000, 64), torch.randn(20_000, 1))
    batches = [torch.randn(8_000_000 // 4) for _ in range(8)]
    pinned = [b.pin_memory() for b in batches]

    def copied(given: list[torch.Tensor]) -> Work:
        return lambda: [b.to(device, non_blocking=True) for b in given]

    yield Pattern("PT504", "8 MB batches, pageable or pinned", copied(batches), copied(pinned))

    def recorded(record: bool) -> Work:
        def work() -> None:
            with torch.set_grad_enabled(record):
                for _ in range(100):
                    deep(x)

        return work

    yield Pattern("PT505", "gradients recorded, not used", recorded(True), recorded(False))

    def stepped(**options: bool) -> Work:
        none = options.pop("set_to_none", True)
        optimizer = torch.optim.Adam(deep.parameters(), lr=1e-4, **options)

        def work() -> None:
            for _ in range(20):
                optimizer.zero_grad(set_to_none=none)
                deep(x).mean().backward()
                optimizer.step()

        return work

    yield Pattern(
        "PT506",
        "Adam, 40 tensors: foreach=False or fused",
        stepped(foreach=False),
        stepped(fused=True),
    )
    yield Pattern(
        "PT507",
        "gradients set to zero instead of None",
        stepped(fused=True, set_to_none=False),
        stepped(fused=True),
    )
    samples = torch.randn(512, 64, device=device)

    def inferred(size: int) -> Work:
        def work() -> None:
            with torch.inference_mode():
                for start in range(0, 512, size):
                    model(samples[start : start + size])

        return work

    yield Pattern("PT508", "512 samples one by one, or 256 at a time", inferred(1), inferred(256))
    loader = DataLoader(data, batch_size=256)
    xs, ys = data.tensors

    def sliced() -> object:
        rows = [list(range(k, min(k + 256, 20_000))) for k in range(0, 20_000, 256)]
        index = [torch.tensor(part) for part in rows]
        return [(xs.index_select(0, part), ys.index_select(0, part)) for part in index]

    yield Pattern("PT510", "rows collated one by one, 20 000 x 64", lambda: list(loader), sliced)

    left, right = torch.randn(2, 256, 64, 64, device=device)

    def in_turn() -> None:
        out = torch.empty(256, 64, 64, device=device)
        for i in range(256):
            out[i] = left[i] @ right[i]

    yield Pattern(
        "PT512", "256 products of 64 x 64 in turn", in_turn, lambda: torch.bmm(left, right)
    )
    small = torch.zeros(10_000, device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            small.add_(1.0)

    def launched() -> None:
        for _ in range(100):
            small.add_(1.0)

    yield Pattern("PT513", "100 short kernels, launched or as a graph", launched, graph.replay)
    square = torch.randn(4096, 4096, device=device)

    def multiplied(precision: str) -> Work:
        def work() -> None:
            torch.set_float32_matmul_precision(precision)
            for _ in range(10):
                square @ square
            torch.set_float32_matmul_precision("highest")

        return work

    yield Pattern(
        "PT514", "float32 products of 4096 x 4096, TF32", multiplied("highest"), multiplied("high")
    )
    q, k, v = torch.randn(3, 8, 8, 1024, 64, device=device)

    def by_hand() -> None:
        for _ in range(10):
            torch.softmax(q @ k.transpose(-2, -1) / 8.0, dim=-1) @ v

    def built_in() -> None:
        for _ in range(10):
            torch.nn.functional.scaled_dot_product_attention(q, k, v)

    yield Pattern("PT515", "attention by hand, 64 heads x 1024 x 64, float32", by_hand, built_in)
    yield from trained_patterns()


def trained_patterns() -> Iterator[Pattern]:
    """Whole training steps: of a small network, a wide one, and one of convolutions."""
    import torch
    from torch import nn

    device = torch.device("cuda")

    def step(model: nn.Module, x: torch.Tensor, half: bool = False) -> Work:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

        def work() -> None:
            for _ in range(20):
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
                    loss = model(x).square().mean()
                loss.backward()
                optimizer.step()

        return work

    def small() -> nn.Module:
        layers = (nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)) for _ in range(12))
        return nn.Sequential(*layers).to(device)

    compiled = small()
    compiled.compile(mode="reduce-overhead")
    x = torch.randn(64, 64, device=device)
    what = "training steps of a small network, compiled with CUDA graphs"
    yield Pattern("PT513", what, step(small(), x), step(compiled, x))
    wide = nn.Sequential(nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 4096)).to(device)
    x = torch.randn(4096, 4096, device=device)
    what = "training steps of 4096 x 4096 layers, autocast to bfloat16"
    yield Pattern("PT516", what, step(wide, x), step(wide, x, half=True))

    def convolutions() -> nn.Module:
        sizes = (3, 64, 128, 128)
        layers = [
            nn.Sequential(nn.Conv2d(one, two, 3, padding=1), nn.ReLU())
            for one, two in itertools.pairwise(sizes)
        ]
        return nn.Sequential(*layers).to(device)

    images = torch.randn(64, 3, 64, 64, device=device)
    last = convolutions().to(memory_format=torch.channels_last)
    what = "training steps of convolutions, 64 images of 64 x 64, channels last"
    yield Pattern("PT517", what, step(convolutions(), images), step(last, images))


# ------------------------------------------------------------------- measuring
def timed(work: Work, wait: Work) -> float:
    """Seconds of one call, with the work on the device."""
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


def row(pattern: Pattern, wait: Work) -> str:
    """One line of the table."""
    pattern.bad(), pattern.good()
    pairs = [(timed(pattern.bad, wait), timed(pattern.good, wait)) for _ in range(CALLS)]
    bad, good = (median(side) for side in zip(*pairs, strict=True))
    ratios = sorted(one / two for one, two in pairs)
    spread = (ratios[-1] - ratios[0]) / 2
    return (
        f"| {pattern.rule} | {pattern.what} | {bad * 1e3:.2f} | {good * 1e3:.2f} "
        f"| {bad / good:.1f} ± {spread:.1f} |"
    )


def main() -> None:
    """Measure all patterns and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=["CP", "NC", "PT"], help="families, rules")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| rule | pattern | mistake ms | remedy ms | ratio |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    families = {"CP": cupy_patterns, "NC": numba_patterns, "PT": torch_patterns}
    for family in dict.fromkeys(name[:2] for name in options.only):
        wait = synchronise(family)
        try:
            for pattern in families[family]():
                if not pattern.rule.startswith(tuple(options.only)):
                    continue
                lines.append(row(pattern, wait))
                print(lines[-1], flush=True)
        except Exception as error:  # one library's trouble leaves the others' figures
            print(f"{family}: {type(error).__name__}: {error}", flush=True)
    if options.output:
        options.output.write_text(f"{header()}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def synchronise(family: str) -> Work:
    """The library's own wait for all work."""
    if family == "CP":
        import cupy

        return lambda: cupy.cuda.Device().synchronize()
    if family == "NC":
        from numba import cuda

        return lambda: cuda.synchronize()
    import torch

    return lambda: torch.cuda.synchronize()


if __name__ == "__main__":
    main()
