"""Times forms of one kernel against each other: a fresh process each, in turn.

    python benchmarks/kernels_measure.py KIND FUNCTION N CALLS FORM RESULT

is one such process: it prints its times as JSON. FORM is a file with a function of that name,
``by-hand:numpy``, ``by-hand:njit`` or ``by-hand:prange``. RESULT is a file: the first process,
the loops, writes what they computed, all others compare theirs with it.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from kernels_by_hand import numpy_form, over_lists
from kernels_quick import load

from gpuadvise.targets.kernels import Kernel

ROUNDS = 2
CALLS = 7
"""Calls a process after the first, at least; the loops themselves are called once a process."""
MOST_CALLS = 60
ENOUGH = 0.5
"""More calls up to so many, and until so many seconds were spent: short ones need them."""
LIMIT = 25
"""Seconds after which a process is stopped: the loops themselves take two."""
SLOW = f"longer than {LIMIT} s"


@dataclass(frozen=True)
class Timed:
    """One form of a kernel, measured."""

    seconds: float
    """Median of the calls after the first, over all processes; of the only calls for the loops."""
    first: float
    """Median of the first calls: imports inside, compilation, cold caches."""
    error: float
    """Largest difference from the loops over the largest value of that array; 0: bit for bit."""
    trouble: str = ""


def race(
    kernel: Kernel, size: int, forms: Mapping[str, str], folder: Path, rounds: int = ROUNDS
) -> dict[str, Timed]:
    """All forms, and ``"loops"``, in turn. A form that fails once is left out afterwards."""
    result = folder / "result.pickle"
    all_forms = {"loops": str(kernel.path)} | dict(forms)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in all_forms}
    failed: dict[str, Timed] = {}
    for _ in range(rounds):
        for name, form in all_forms.items():
            if name in failed:
                continue
            calls = 0 if name == "loops" else CALLS
            command = [kernel.kind, kernel.function, str(size), str(calls), form, str(result)]
            try:
                runs[name].append(_process(command, folder))
            except subprocess.TimeoutExpired:
                failed[name] = Timed(0.0, 0.0, 0.0, SLOW)
            except RuntimeError as problem:
                failed[name] = Timed(0.0, 0.0, 0.0, str(problem))
    return {name: failed.get(name) or _timed(found) for name, found in runs.items()}


def _timed(runs: list[dict[str, Any]]) -> Timed:
    calls = [seconds for run in runs for seconds in run["calls"]]
    firsts = [run["first"] for run in runs]
    return Timed(median(calls or firsts), median(firsts), max(run["error"] for run in runs))


def _process(command: list[str], folder: Path) -> dict[str, Any]:
    """Raises RuntimeError with the last line of what went wrong."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), *command],
        cwd=folder,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its threads spin where cores are taken
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# ------------------------------------------------------------- in the process
def form_of(kernel: Kernel, form: str) -> Callable[..., Any]:
    """The function that a FORM means."""
    if not form.startswith("by-hand:"):
        function: Callable[..., Any] = getattr(load(Path(form), Path(form).stem), kernel.function)
        return function
    if form == "by-hand:numpy":
        function = numpy_form(kernel.function)
    else:
        from kernels_by_hand.numba_forms import forms  # NumPy's form must not wait for numba

        function = forms(kernel)[form.removeprefix("by-hand:")]
    return function if kernel.kind == "arrays" else over_lists(kernel.function, function)


def error(a: Any, b: Any) -> float:
    """Largest difference over the largest value; infinity where types or shapes differ."""
    if isinstance(a, tuple | list) and not _numbers(a):
        if type(a) is not type(b) or len(a) != len(b):
            return float("inf")
        return max((error(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if type(a) is not type(b):
        return float("inf")
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return float("inf")
    if np.array_equal(x, y):
        return 0.0
    return float(np.max(np.abs(x - y)) / np.max(np.abs(x)))


def _numbers(value: Any) -> bool:
    """A list of numbers, or of such lists, of one type: compared as an array."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, int | float)


def main(kind: str, function: str, size: str, calls: str, form: str, result: str) -> None:
    """One process: first call, compared; then ``calls`` more, on fresh data each."""
    title = function.replace("_", "-")
    kernel = Kernel(title, function, kind)
    make = load(kernel.path, "program").data
    call = form_of(kernel, form)
    args = make(int(size))
    begin = time.perf_counter()
    found = call(*args)
    first = time.perf_counter() - begin
    file = Path(result)
    if not int(calls):
        file.write_bytes(pickle.dumps((found, args)))
    apart = error(pickle.loads(file.read_bytes()), (found, args))
    times: list[float] = []
    until = time.perf_counter() + ENOUGH
    while len(times) < int(calls) or (
        int(calls) and len(times) < MOST_CALLS and time.perf_counter() < until
    ):
        args = make(int(size))
        begin = time.perf_counter()
        call(*args)
        times.append(time.perf_counter() - begin)
    print(json.dumps({"first": first, "calls": times, "error": apart}))


if __name__ == "__main__":
    main(*sys.argv[1:])
