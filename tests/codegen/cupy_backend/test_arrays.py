"""What the CuPy back end writes, run against the loops: over NumPy, and on a GPU where one is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import fake_cupy
import numpy as np
import pytest
from array_programs import GRID, HEAD, PROGRAMS, SIZE, Program
from harness import assert_same, region_for, run, tolerance_for

from gpuadvise.codegen.cupy_backend import arrays_on_gpu
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.observe.machine import gpus
from gpuadvise.patch import apply_edits


@pytest.fixture(params=["over NumPy", pytest.param("on a GPU", marks=pytest.mark.gpu)])
def cupy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether arrays really are on a device."""
    real = request.param == "on a GPU"
    if not real:
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    elif not gpus():
        pytest.skip("there is no NVIDIA GPU on this machine")
    yield real


def rewritten(program: Program) -> tuple[str, Match]:
    rng = np.random.default_rng(1)
    function = None if program.name == "a script of its own" else "f"
    region = region_for(program.text, function, program.arguments(rng))
    answer = arrays_on_gpu(region)
    assert isinstance(answer, Match), answer
    return apply_edits(region.source, answer.edits).decode(), answer


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equal(program: Program, cupy: bool) -> None:
    text, match = rewritten(program)
    assert "cp.asarray(" in text
    for seed in (1, 2):
        arguments = program.arguments(np.random.default_rng(seed))
        # sums over the arrays are in the same order only over NumPy
        looser = cupy and not program.exact
        assert (match.exactness is Exactness.BITS) == program.exact or "max" in program.text
        _same(program.text, text, arguments, tolerance_for(SIZE) if looser else 0.0)


def _same(before: str, after: str, arguments: tuple[object, ...], tolerance: float = 0.0) -> None:
    old, new = run(before, "f", arguments), run(after, "f", arguments)
    assert_same(old, new, tolerance=tolerance, new_names=frozenset({"cp"}) | _private(new.names))


def _private(names: object) -> frozenset[str]:
    return frozenset(n for n in names if n.startswith(("_gpu", "_first", "_array", "_known")))  # type: ignore[attr-defined]


ADVECT = HEAD + (
    "def f(u, v, c, steps):\n"
    "    for n in range(steps):\n"
    "        v[1:] = u[1:] - c * (u[1:] - u[:-1])\n"
    "        u, v = v, u\n"
    "    return u, v\n"
)


def test_other_arguments_than_the_observed_ones(cupy: bool) -> None:
    program = Program("advect", ADVECT, lambda rng: (rng.random(SIZE), rng.random(SIZE), 0.4, 5))
    text, _ = rewritten(program)
    rng = np.random.default_rng(2)
    u, v = rng.random(2 * SIZE), rng.random(2 * SIZE)
    for arguments in (
        (u, v, 0.4, 0),
        (u, v, 0.4, 6),
        (u[::2], v[::2], 0.4, 3),
        (u[:SIZE], u[5 : SIZE + 5], 0.4, 3),
        (u.astype(np.float32), v.astype(np.float32), 0.4, 3),
        (u[:1], v[:1], 0.4, 3),
        (u[:0], v[:0], 0.4, 3),
        (u, v, 2, 3),
        (u[:9], v[:8], 0.4, 3),
        (u.reshape(-1, 3), v.reshape(-1, 3), 0.4, 3),
    ):
        _same(ADVECT, text, arguments)


DECAY = HEAD + (
    "class Pair:\n"
    "    def __init__(self, u, v):\n"
    "        self.u, self.v = u, v\n\n"
    "    def run(self, steps):\n"
    "        for _ in range(steps):\n"
    "            self.u += 0.5 * self.v\n"
    "            self.v *= 0.75\n\n\n"
    "def f(u, v, steps):\n"
    "    pair = Pair(u, v)\n"
    "    pair.run(steps)\n"
    "    return pair.u, pair.v\n"
)


def test_attributes_that_share_memory(cupy: bool) -> None:
    u, v = np.random.default_rng(1).random((2, SIZE))
    make = DECAY + "\n\ndef made():\n    return Pair(np.ones(21000), np.ones(21000))\n"
    names: dict[str, Any] = {}
    exec(compile(make, "decay", "exec"), names)
    region = region_for(make, "Pair.run", (names["made"](), 3))
    answer = arrays_on_gpu(region)
    assert isinstance(answer, Match), answer
    text = apply_edits(region.source, answer.edits).decode()
    _same(make, text, (u, v, 3))
    _same(make, text, (u, u, 3))
    _same(make, text, (u[1:], u[:-1], 3))


def test_names_keep_their_arrays(cupy: bool) -> None:
    """Callers see the arrays that they gave, in the places where the loop put them."""
    program = Program("advect", ADVECT, lambda rng: (rng.random(SIZE), rng.random(SIZE), 0.4, 5))
    text, _ = rewritten(program)
    names: dict[str, object] = {}
    exec(compile(text, "advect", "exec"), names)
    for steps in (0, 1, 2):
        u, v = np.ones(SIZE), np.zeros(SIZE)
        first, second = names["f"](u, v, 0.5, steps)  # type: ignore[operator]
        assert first is (v if steps % 2 else u) and second is (u if steps % 2 else v)


def test_copies_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text, _ = rewritten(PROGRAMS[1])
    for steps in (2, 9):
        fake_cupy.copies.update(there=0, back=0)
        *arguments, _ = PROGRAMS[1].arguments(np.random.default_rng(4))
        run(text, "f", (*arguments, steps))
        assert fake_cupy.copies == {"there": 2, "back": 2}


def test_without_a_device_the_loop_runs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr(fake_cupy.cuda, "is_available", lambda: False)
    text, _ = rewritten(PROGRAMS[1])
    fake_cupy.copies.update(there=0, back=0)
    _same(PROGRAMS[1].text, text, PROGRAMS[1].arguments(np.random.default_rng(4)))
    assert fake_cupy.copies == {"there": 0, "back": 0}


def test_arrays_that_do_not_fit_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr(fake_cupy.cuda.runtime, "memGetInfo", lambda: (SIZE, 10 * SIZE))
    text, _ = rewritten(PROGRAMS[1])
    fake_cupy.copies.update(there=0, back=0)
    _same(PROGRAMS[1].text, text, PROGRAMS[1].arguments(np.random.default_rng(4)))
    assert fake_cupy.copies == {"there": 0, "back": 0}


REFUSED = (
    ("a function that keeps the array", "        note(u)\n", "is kept"),
    ("elements one by one", "        u[n] = 0.0\n", "u[n]"),
    (
        "a dtype that is another before NumPy 2",
        "        u[1:] = u[1:] * np.float32(c)\n",
        "np.float32(c)",
    ),
    (
        "an array that leaves the function half-way",
        "        if n > 3:\n            return u\n",
        "return",
    ),
    ("shapes that may differ", "        u[1:] = u[1:] + u[3:].copy()\n", "shapes that may differ"),
    ("a copy that is filled later", "        u[1:] += c\n        kept.append(u)\n", "is kept"),
)


@pytest.mark.parametrize(("what", "statement", "reason"), REFUSED)
def test_refused(what: str, statement: str, reason: str) -> None:
    head = HEAD + "kept = []\n\n\ndef note(x):\n    kept.append(x)\n\n\n"
    text = head + "def f(u, c, steps):\n    for n in range(steps):\n        u[1:] = u[1:] * c\n"
    text += statement + "    return u\n"
    args = (np.ones(GRID[0] * GRID[1]), 0.5, 3)
    if reason == "shapes that may differ":
        text = text.replace("u[3:].copy()", "v[1:]").replace("f(u, c", "f(u, v, c")
        args = (np.ones(SIZE), np.ones(SIZE)[:1], 0.5, 3)  # type: ignore[assignment]
        text = text.replace("+ v[1:]", "+ v")
    answer = arrays_on_gpu(region_for(text, "f", args))
    assert isinstance(answer, Refusal) and reason in answer.reason, answer
