"""The PolyBench array kernels for a GPU: what the rules write beside CuPy by hand.

Both take arrays of the host and give arrays of the host, so that all copies count; a first call
compiles, then the median of three is compared. By hand are the NumPy forms of
``benchmarks/kernels_by_hand`` with CuPy's name in the place of NumPy's, the arrays taken to the
device at the start and back at the end. The rules' text is CP321's and CP322's products and NC410's
kernels, and for loops that have neither what NP202, NP201 or the compiled rules write. The fastest
CPU form stands beside them.

Usage: python benchmarks/gpu/kernels_beside_cupy.py [--size N] [NAME ..]
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import cupy as cp
import kernels_quick
from kernels_by_hand import CHANGED, numpy_grids, numpy_products
from kernels_measure import error
from kernels_quick import Written, load, preferred

from gpuadvise.model import Candidate
from gpuadvise.patch import PatchError, combine
from gpuadvise.targets.kernels import Kernel, kernels

GPU = ("CP322", "CP321", "NC410")
REST = ("NP202", "NP201", "NB402", "NB403", "NB401")
CPU = (("NP202", "NP201"), ("NB403", "NB401"), ("NB402", "NB403", "NB401"))
SIZE = 1000
SIZES = {"heat_3d": 200, "doitgen": 150, "jacobi_1d": 1_000_000, "gramschmidt": 600}
"""Where ``SIZE`` is too much, or too little."""
OBSERVED, USUAL = 80, kernels_quick.OBSERVED
PRODUCTS = (
    "gemm",
    "two_mm",
    "three_mm",
    "symm",
    "syrk",
    "syr2k",
    "trmm",
    "correlation",
    "covariance",
)
"""Kernels that are observed at the first of these sizes: small products are left to the CPU."""
TOLERATED = 1e-6
LIMIT = 20.0
"""Seconds of a first call after which a form is not called again."""
Call = Callable[..., Any]


def over_cupy(module: ModuleType) -> ModuleType:
    """The module by hand with CuPy for NumPy."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    text = text.replace("import numpy as np", "import cupy as np")
    text = text.replace("from numpy.lib.", "from cupy.lib.")
    made = ModuleType(f"{module.__name__}_cupy")
    exec(compile(text, str(module.__file__), "exec"), made.__dict__)
    return made


def by_hand(name: str) -> Call:
    """A kernel in CuPy, from host to host."""
    module = numpy_grids if hasattr(numpy_grids, name) else numpy_products
    form = getattr(over_cupy(module), name)

    def call(*args: Any) -> Any:
        given = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        result = form(*given)
        for position in CHANGED.get(name, ()):
            given[position].get(out=args[position])
        parts = result if isinstance(result, tuple) else (result,)
        # what was changed in place has come back already
        known = {id(given[p]): args[p] for p in CHANGED.get(name, ())}
        back = tuple(known.get(id(part)) for part in parts)
        found = tuple(
            there.get() if here is None else here for there, here in zip(parts, back, strict=True)
        )
        return found if isinstance(result, tuple) else found[0]

    return call


def text_of(written: Written, rules: Sequence[str]) -> bytes | None:
    """The rewrites of several rules together, the first one's where they exclude each other."""
    groups = [written.candidates[rule] for rule in rules if rule in written.candidates]
    chosen: list[Candidate] = preferred(groups)
    while chosen:
        try:
            source = chosen[0].region.source
            return combine(source, [c.match.edits for c in chosen])
        except PatchError:
            chosen = chosen[:-1]
    return None


def forms(kernel: Kernel, folder: Path) -> dict[str, Call]:
    """All forms that are called; those for the GPU are ``"rules"``."""
    kernels_quick.OBSERVED = OBSERVED if kernel.function in PRODUCTS else USUAL
    written = kernels_quick.write(kernel, folder, safe_only=True)
    found: dict[str, Call] = {}
    if not any(rule in written.candidates for rule in GPU):
        return found
    texts = {"rules": (*GPU, *REST)} | {" or ".join(rules): rules for rules in CPU}
    for name, rules in texts.items():
        text = text_of(written, rules)
        if text is not None:
            path = folder / f"{kernel.function}_{len(found)}.py"
            path.write_bytes(text)
            found[name] = getattr(load(path, path.stem), kernel.function)
    found["by hand"] = by_hand(kernel.function)
    return found


def timed(call: Call, make: Callable[[], Any]) -> tuple[float, Any]:
    """Median seconds of three calls after a first one, and what that one returned."""
    began = time.perf_counter()
    result = call(*make())
    taken = [time.perf_counter() - began]
    for _ in range(3 if taken[0] < LIMIT else 0):
        given = make()
        began = time.perf_counter()
        call(*given)
        taken.append(time.perf_counter() - began)
    return median(taken[1:] or taken), result


def row(kernel: Kernel, size: int, folder: Path) -> tuple[str, float | None]:
    """One line of the table, and by hand over ours."""
    make = load(kernel.path, "program").data
    cells, seconds, results = [], {}, {}
    for name, call in forms(kernel, folder).items():
        try:
            seconds[name], results[name] = timed(call, lambda: make(size))
        except Exception as problem:  # one form that fails is a result too
            cells.append(f"{name}: {type(problem).__name__}: {str(problem)[:60]}")
    if "rules" not in seconds or "by hand" not in seconds:
        return f"| {kernel.function} | {size} | {'; '.join(cells) or 'no kernel'} | | | | |", None
    off = error(results["by hand"], results["rules"])
    ratio = seconds["by hand"] / seconds["rules"]
    rest = {name: s for name, s in seconds.items() if name not in ("rules", "by hand")}
    best = min(rest, key=lambda name: rest[name], default="")
    other = f"{1e3 * rest[best]:.2f} ({best})" if best else "-"
    said = f"{off:.0e}" if off <= TOLERATED else f"WRONG {off:.0e}"
    return (
        f"| {kernel.function} | {size} | {1e3 * seconds['rules']:.2f} "
        f"| {1e3 * seconds['by hand']:.2f} | {ratio:.2f} | {other} | {said} |"
    ), ratio


def main() -> None:
    """Print the table and the geometric mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", type=int, default=0, help=f"instead of {SIZE}")
    options = parser.parse_args()
    print(
        "| kernel | n | rules, ms | CuPy by hand, ms | by hand / rules | best CPU form, ms | off |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    ratios = []
    for kernel in kernels():
        if kernel.kind != "arrays" or (options.names and kernel.function not in options.names):
            continue
        size = options.size or SIZES.get(kernel.function, SIZE)
        with tempfile.TemporaryDirectory() as folder:
            line, ratio = row(kernel, size, Path(folder))
        print(line, flush=True)
        if ratio is not None:
            ratios.append(ratio)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{len(ratios)} kernels, geometric mean of by hand / rules: {mean:.2f}")


if __name__ == "__main__":
    main()
