"""What a GPU cannot take: types it lacks, data that do not fit, kernels that fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import chain_for, region_for

from gpuadvise.codegen.answers import answer
from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.codegen.cuda_backend.resident import resident
from gpuadvise.codegen.cupy_backend import arrays_on_gpu
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

LOOP = """\
import numpy as np


def scale(a, b):
    for i in range(len(a)):
        b[i] = a[i] * 2.5
"""
ARRAYS = """\
import numpy as np


def run(a, b, steps):
    for t in range(steps):
        b[1:] = a[1:] * a[:-1]
        a[:] = b
"""
STEPS = """\
import numpy as np


def simulate(u, steps):
    for _ in range(steps):
        new = np.zeros_like(u)
        for i in range(1, len(u) - 1):
            new[i] = 0.5 * (u[i - 1] + u[i + 1])
        u = new
    return u
"""
DTYPES = (
    ("float16", "float16"),
    ("longdouble", np.dtype("longdouble").name),
    ("object", "object"),
    ("complex64", "complex64"),
    ("datetime64[s]", "datetime64[s]"),
    ("U3", "str96"),
)


@pytest.mark.parametrize("dtype, name", DTYPES)
def test_the_type_and_the_line_are_named(dtype: str, name: str) -> None:
    array = np.ones(30).astype(dtype)
    found = nest_on_gpu(region_for(LOOP, "scale", (array, array.copy())))
    assert isinstance(found, Refusal) and found.line in (5, 6)
    assert found.reason.startswith(f"a is an array of {name}")


@pytest.mark.parametrize(
    "dtype, reason",
    [
        ("float16", "a is an array of float16, which is not known on a GPU"),
        ("object", "a is an array of Python objects, which cannot go to a GPU"),
    ],
)
def test_array_statements(dtype: str, reason: str) -> None:
    array = np.ones(30_000).astype(dtype)
    found = arrays_on_gpu(region_for(ARRAYS, "run", (array, array.copy(), 3)))
    assert isinstance(found, Refusal)
    assert (found.reason, found.line) == (reason, 6)


FULL = """
import numba.cuda as cuda
context = cuda.current_context
class Full:
    def get_memory_info(self):
        return 100, 10**9
cuda.current_context = Full
cuda.to_device = None
"""


def told(text: str, call: str, folder: Path, *, full: bool) -> str:
    """What the new text prints in the simulator, on a device with 100 free bytes or enough."""
    start = "import gpuadvise.verify.simulator\n" + (FULL if full else "")
    file = folder / "case.py"
    file.write_text(start + text + call)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("full", [False, True])
def test_what_does_not_fit_is_not_copied(full: bool, tmp_path: Path) -> None:
    loop = region_for(LOOP, "scale", (np.ones(30), np.ones(30)))
    steps = chain_for(STEPS, "simulate", (np.ones(30), 4))[0]
    u = np.arange(30.0)
    for region, made, call, expected in (
        (
            loop,
            nest_on_gpu(loop),
            "a, b = np.arange(30.0), np.zeros(30)\nscale(a, b)\nprint(b.tolist())\n",
            (u * 2.5).tolist(),
        ),
        (
            steps,
            answer(resident, steps, "a form"),
            "print(simulate(np.ones(30), 1).tolist())\n",
            [0.0, *[1.0] * 28, 0.0],
        ),
    ):
        assert isinstance(made, Match)
        text = apply_edits(region.source, made.edits).decode()
        assert told(text, call, tmp_path, full=full) == f"{expected}\n"
