"""Do points lie on the roof? The polynomial of the bundled target, held against the ceilings.

    python benchmarks/gpu/roofline_polynomial.py [points]

Measures the ceilings as ``gpuadvise roofline`` does, then the target's kernel for a range of terms,
with CUDA events: median of nine launches. Prints a Markdown table.
"""

from __future__ import annotations

import statistics
import sys

import cupy as cp

from gpuadvise.roofline.ceilings import roof_of, run_worker
from gpuadvise.targets.cuda.cupy_polynomial import evaluate

TERMS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
REPEATS = 9


def seconds(x: cp.ndarray, y: cp.ndarray, terms: int) -> list[float]:
    found = []
    for _ in range(REPEATS + 1):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        evaluate(x, y, terms)
        end.record()
        end.synchronize()
        found.append(cp.cuda.get_elapsed_time(start, end) * 1e-3)
    return found[1:]


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
    found = run_worker(["gpuadvise.roofline.gpu"], {})
    if "missing" in found:
        raise SystemExit(found["missing"])
    roof = roof_of(str(found["name"]), found)
    print(
        f"{roof.device}: copy {roof.bandwidth / 1e9:.0f} GB/s, "
        f"float32 {roof.peak['float32'] / 1e12:.1f} TFLOP/s, "
        f"float64 {roof.peak['float64'] / 1e12:.1f} TFLOP/s, "
        f"ridge {roof.ridge('float32'):.1f} and {roof.ridge('float64'):.1f} FLOP/byte\n"
    )
    x = cp.linspace(-0.9, 0.9, size, dtype=cp.float32)
    y = cp.empty_like(x)
    print("| terms | FLOP/byte | GFLOP/s | GB/s | range | of the roof |")
    print("|---|---|---|---|---|---|")
    for terms in TERMS:
        times = seconds(x, y, terms)
        middle = statistics.median(times)
        rate, intensity = 2.0 * terms * size / middle, terms / 4.0
        spread = (max(times) - min(times)) / middle
        share = rate / roof.roof(intensity, "float32")
        print(
            f"| {terms} | {intensity:g} | {rate / 1e9:.0f} | {8.0 * size / middle / 1e9:.0f} | "
            f"{spread:.0%} | {share:.0%} |"
        )


if __name__ == "__main__":
    main()
