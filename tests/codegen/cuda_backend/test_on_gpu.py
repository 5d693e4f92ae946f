"""Rewrites run on a GPU: equal to the loops, bit for bit but for library functions."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import pytest
from cuda_programs import PROGRAMS, Program
from harness import assert_same, run
from object_programs import OBJECTS
from path_programs import PATHS
from test_in_simulator import rewritten
from test_replay import REPLAYED, soon  # noqa: F401  (a fixture)

cuda = pytest.importorskip("numba.cuda", exc_type=ImportError)
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.mark.parametrize("program", (*PROGRAMS, *OBJECTS, *PATHS), ids=lambda p: p.name)
def test_equal(program: Program, tmp_path: Path) -> None:
    compared(program, rewritten(program), tmp_path)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("program", REPLAYED, ids=lambda p: p.name)
def test_replayed_steps_are_equal(program: Program, tmp_path: Path) -> None:
    text = rewritten(program)
    assert "driver.cuGraphLaunch(ready, handle)" in text
    compared(program, text, tmp_path)


def compared(program: Program, text: str, tmp_path: Path) -> None:
    """Both run on all arguments, and leave the same."""
    names = frozenset({"dmul_rn", "fmul_rn"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for args, inputs in itertools.product(program.args, program.inputs):
            before = run(program.text, program.function, args, inputs=inputs, folder=tmp_path)
            after = run(text, program.function, args, inputs=inputs, folder=tmp_path)
            assert_same(
                before,
                after,
                new_names=names,
                tolerance=program.tolerance,
                scalar_names=program.function is not None,
            )
