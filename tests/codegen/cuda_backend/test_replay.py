"""Steps that launch the same each time, recorded as a CUDA graph and replayed."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import BURGERS, HEAT, Program, board, grid
from test_in_simulator import rewritten, simulated
from test_narrow import LIFE

from gpuadvise.codegen.cuda_backend import replay

JACOBI = """
def relax(a, b, steps):
    n, m = a.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = b[i, j]
"""
THREE = """
import numpy as np


def leapfrog(u, before, c, steps):
    n = len(u)
    for t in range(2, steps):
        after = np.empty(n)
        for i in range(n):
            left = u[i - 1] if i > 0 else u[i]
            after[i] = 2.0 * u[i] - before[i] + c * (left - u[i])
        before = u
        u = after
    return u, before
"""
FRAMES = LIFE
STEPWISE = HEAT.replace("u[i, j] + r * lap", "u[i, j] + r * step * lap")
COUNTED = HEAT.replace("return u, new", "return u, new, step")
PRINTED = HEAT.replace("        u, new = new, u", "        u, new = new, u\n        print(step)")
line = np.linspace(0.0, 1.0, 20)
REPLAYED = (
    Program(
        "two arrays in turn",
        HEAT,
        "heat",
        tuple((grid(5, 6), grid(5, 6, 1), 0.1, steps) for steps in (25, 3)),
        ("nonlocal u, new, gpu_u, gpu_new", "stream.synchronize()"),
        25,
    ),
    Program(
        "three arrays in turn",
        THREE,
        "leapfrog",
        tuple((line, line * line, 0.2, steps) for steps in (27, 20)),
        ("count = len(range(2, steps))",),
        25,
    ),
    Program(
        "a copy a step",
        BURGERS,
        "burgers",
        ((line, 25, 0.02, 0.1), (line, 0, 0.02, 0.1)),
        ("gpu_un.copy_to_device(gpu_u, stream)",),
        25,
    ),
    Program(
        "two kernels a step",
        JACOBI,
        "relax",
        ((grid(5, 6), grid(5, 6, 1), 14),),
        ("kernel_2(gpu_a, gpu_b)", "[grid, block, stream]"),
        28,
    ),
)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of six steps, from twelve steps on."""
    monkeypatch.setattr(replay, "STEPS", 6)
    monkeypatch.setattr(replay, "FEWEST", 2)


@pytest.mark.usefixtures("soon")
def test_replayed_steps_are_equal() -> None:
    texts = [rewritten(program) for program in REPLAYED]
    for program, text in zip(REPLAYED, texts, strict=True):
        for wanted in (*program.contains, "driver.cuGraphLaunch(ready, handle)"):
            assert wanted in text, text
    pairs = [
        (p.text, t, p.function, p.args, p.inputs) for p, t in zip(REPLAYED, texts, strict=True)
    ]
    for program, outcome in zip(REPLAYED, simulated(pairs), strict=True):
        assert [why for why, _ in outcome] == [None] * len(outcome), program.name
        assert outcome[0][1] == program.launches, program.name


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "failing",
    ["none", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch"],
)
def test_launched_plainly_where_graphs_fail(failing: str) -> None:
    program = REPLAYED[1]
    pair = (program.text, rewritten(program), program.function, program.args[:1], ("",))
    assert simulated([pair], failing) == [[(None, 25)]]


@pytest.mark.usefixtures("soon")
def test_a_graph_that_does_other_steps_is_seen() -> None:
    program = REPLAYED[1]
    text = rewritten(program)
    wrong = text.replace("while queued < times and", "while queued < times + 1 and")
    assert wrong != text
    pair = (program.text, wrong, program.function, program.args[:1], ("",))
    assert simulated([pair])[0][0][0] is not None


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("heat", STEPWISE, (grid(5, 6), grid(5, 6, 1), 0.1, 40)),
        ("heat", COUNTED, (grid(5, 6), grid(5, 6, 1), 0.1, 40)),
        ("heat", PRINTED, (grid(5, 6), grid(5, 6, 1), 0.1, 40)),
        ("heat", HEAT, (grid(5, 6), grid(5, 6, 1), 0.1, 11)),
        ("f", FRAMES, (board(5, 6), 40)),
    ],
    ids=["its number is used", "and afterwards", "printed", "too few", "frames are kept"],
)
def test_other_steps_are_launched(name: str, text: str, args: tuple[object, ...]) -> None:
    new = rewritten(Program(name, text, name, (args,)))
    assert "gpu_" in new and "driver" not in new and "stream" not in new


def test_long_kernels_are_launched(monkeypatch: pytest.MonkeyPatch, soon: None) -> None:
    monkeypatch.setattr(replay, "LARGEST", 11)  # 3 times 4 cells inside the border
    assert "driver" not in rewritten(REPLAYED[0])
    monkeypatch.setattr(replay, "LARGEST", 12)
    assert "driver" in rewritten(REPLAYED[0])


@pytest.mark.parametrize(
    ("exchanges", "steps"),
    [
        ((), 1),
        (((("a", "b"), ("b", "a")),), 2),
        (((("a", "b", "c"), ("b", "c", "a")),), 3),
        (((("a", "b"), ("b", "a")), (("a", "b"), ("b", "a"))), 1),
        (((("a", "b"), ("b", "a")), (("a", "c"), ("c", "a"))), 3),
        (((("a", "b", "c", "d", "e"), ("b", "a", "d", "e", "c")),), 6),
        (((tuple("abcdefg"), tuple("bcdefga")),), None),  # seven do not divide sixty
        (((("a",), ("b",)),), None),
    ],
)
def test_after_how_many_steps_arrays_are_back(exchanges: object, steps: int | None) -> None:
    assert replay.turns(exchanges) == steps  # type: ignore[arg-type]
