"""Numbers that may be problem sizes: found, named, replaced, and told from the others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.crossover.parameters import Argument, Parameter, find, joined, rank
from gpuadvise.model import Refusal, Region, Site, SiteObservation, Source, Target, ValueInfo
from gpuadvise.patch import apply_edits

FILE = Path("/work/p.py")


def found(text: str, *args: str) -> tuple[Parameter, ...]:
    return find({FILE: Source(FILE, text.encode())}, Target(FILE, args))


def names(text: str, *args: str) -> dict[str, int]:
    return {parameter.name: parameter.value for parameter in found(text, *args)}


def region(text: str, **values: ValueInfo) -> Region:
    source = Source(FILE, text.encode())
    loop = next(n for n in ast.walk(source.tree) if isinstance(n, ast.For))
    seen = SiteObservation(1, 1, values)
    site = Site(FILE, loop.lineno, "<module>")
    return Region(site, source, loop, None, None, 0.9, 0, seen, Refusal("not lowered"))


def array(*shape: int) -> ValueInfo:
    return ValueInfo("ndarray", "numpy.ndarray", "float64", len(shape), shape, shape, shape)


def number(value: int) -> ValueInfo:
    return ValueInfo("int", "builtins.int", minimum=value, maximum=value, constant=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N = 200\n", {"N": 200}),
        ("N: int = 1_000\n", {"N": 1000}),
        ("N = 10**6\nM = 1 << 20\nK = int(1e5)\n", {"N": 10**6, "M": 1 << 20, "K": 10**5}),
        ("rows, cols = 200, 200\n", {"rows+cols": 200}),
        ("rows, cols = 200, 300\n", {"rows": 200, "cols": 300}),
        ("import sys\nn = int(sys.argv[1]) if len(sys.argv) > 1 else 150\n", {"n": 150}),
        ("import os\nn = int(os.environ.get('N', 150))\n", {"n": 150}),
        ("n = given or 150\n", {"n": 150}),
        ("p.add_argument('-c', '--cells', type=int, default=90)\n", {"cells": 90}),
        ("p.add_argument('cells', nargs='?', default=90)\n", {"cells": 90}),
        ("def main(n=300, *, m=40): pass\n", {"n": 300, "m": 40}),
        ("def run(n, steps): pass\nrun(80, steps=70)\n", {"n": 80, "steps": 70}),
        ("class G:\n    def go(self, n): pass\nG().go(80)\n", {"n": 80}),
        ("a = np.zeros((64, 64))\n", {"extent in line 1": 64}),
        ("a = rng.normal(size=(64, 8))\n", {"extent in line 1": 8}),
        ("class C:\n    def __init__(self):\n        self.n = 77\n", {"n": 77}),
        ("x = 3\ny = 2.5\nz = 'abc'\nw = True\n", {}),
    ],
)
def test_literals(text: str, expected: dict[str, int]) -> None:
    known = names(text)
    assert expected.items() <= known.items()
    assert expected or not known


def test_setting_a_literal_leaves_all_else() -> None:
    text = "rows, cols = 200, 200  # both\nprint(200)\n"
    (both,) = (p for p in found(text) if p.name == "rows+cols")
    new = apply_edits(Source(FILE, text.encode()), both.edits(17)[FILE])
    assert new == b"rows, cols = 17, 17  # both\nprint(200)\n"


@pytest.mark.parametrize(
    ("args", "name", "changed"),
    [
        (("200", "5"), "size", ("8", "5")),
        (("x", "200"), "argument 2", ("x", "8")),
        (("--cells", "200"), "cells", ("--cells", "8")),
        (("--cells=200", "x"), "cells", ("--cells=8", "x")),
    ],
)
def test_arguments(args: tuple[str, ...], name: str, changed: tuple[str, ...]) -> None:
    text = "import sys\nsize = int(sys.argv[1]) if len(sys.argv) > 1 else 150\n"
    first = found(text, *args)[0]
    assert (first.name, first.value) == (name, 200)
    assert isinstance(first.places[0], Argument) and not first.edits(8)
    assert first.arguments(args, 8) == changed


LOOPS = """\
STEPS = 200
SEED = 2024
N = 200
M = 50
for i in range(N):
    pass
"""


def test_the_extent_of_the_arrays_is_the_size() -> None:
    likely = rank(found(LOOPS), [region(LOOPS, grid=array(200, 200), k=number(50))])
    assert [p.name for p in likely] == ["N", "M", "STEPS"]


def test_padded_flat_and_one_less() -> None:
    for shape in ((202, 202), (201,), (199, 7), (200 * 200,)):
        likely = rank(
            found("N = 200\nM = 33\nfor i in a: pass\n"), [region(LOOPS, a=array(*shape))]
        )
        assert [p.name for p in likely] == ["N"], shape


def test_what_no_hot_loop_knows_is_no_size() -> None:
    assert rank(found(LOOPS), [region(LOOPS, grid=array(31, 31))]) == ()


def test_equal_numbers_side_by_side_are_one_size() -> None:
    text = "ROWS = 90\nCOLS = 90\nSTEPS = 90\n\n\n\n\n\nOTHER = 90\n"
    likely = rank(found(text), [region(LOOPS, grid=array(90, 90))])
    both = joined(likely[0], likely)
    assert both.name == "ROWS+COLS" and len(both.places) == 2
