"""Results that take the memory of the array they replace: what may, and what must not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reading import mistakes

from gpuadvise.model import Source
from gpuadvise.patch import apply_edits

HEAD = "import cupy as cp\n\n\ndef run(steps):\n"
WRITTEN = {
    "three operations": """\
    wave = cp.ones((30, 20))
    for k in range(steps):
        wave = wave * 0.5 + 1.25 - k
    return wave
""",
    "single precision": """\
    y = cp.ones(50, dtype=cp.float32)
    for _ in range(steps):
        y = y / 3
        y = cp.sqrt(y)
    return y.get() if hasattr(y, "get") else y
""",
    "a shift of itself": """\
    total = 0.0
    u = cp.zeros(40) + 2.0
    for step in range(steps):
        u = u * 0.75
        total += float((cp.roll(u, 1) - u).sum()) + u.shape[0]
    return u, total
""",
    "another array each time": """\
    state = cp.ones(12)
    while steps:
        state = cp.exp(state)
        state = 1.0 / state
        state = state * 0.5
        steps -= 1
    return state
""",
}
EXCHANGED = {
    "a stop before the exchange": """\
    u = cp.zeros(40)
    u[7] = 4.0
    for _ in range(steps):
        v = 0.5 * u + 0.25 * (cp.roll(u, 1) + cp.roll(u, -1))
        if float(cp.abs(v - u).max()) < 0.3:
            break
        u = v
    return u
""",
    "no step at all": """\
    field = cp.ones((6, 5), dtype=cp.float32)
    for _ in range(steps - 7):
        nxt = cp.sqrt(field * 2 + 1)
        field = nxt
    return field
""",
    "the inside of a copy": """\
    plate = cp.zeros((9, 8))
    plate[0] = 3.0
    total = 0.0
    while steps:
        after = plate.copy()
        after[1:-1, 1:-1] = 0.5 * (plate[2:, 1:-1] + plate[:-2, 1:-1])
        total += float(after.sum())
        plate = after
        steps -= 1
    return plate, total
""",
    "filled anew": """\
    host = np.linspace(0.0, 1.0, 20)
    u = cp.array(host)
    for _ in range(steps):
        w = cp.zeros_like(u)
        w[1:-1] = (u[2:] - u[:-2]) / 2
        u = w
    return u
""",
}
SEEN = {
    "kept": "kept.append(v)\n        u = v",
    "two names": "last = v\n        u = v",
    "used behind": "u = v\n        v = v * 2.0",
    "a view": "edge = v[0:2]\n        u = v\n        u[2:4] = edge",
    "another type": "u = v.astype(cp.float32)",
    "a name behind it": "u = v\n    x = v",
}
KEPT = {
    "integers": "x = cp.zeros(9, dtype=int)\n    for _ in range(steps):\n        x = x / 2",
    "unknown type": "x = cp.arange(9)\n    for _ in range(steps):\n        x = x * 0.5",
    "other array": "x = cp.ones(9)\n    y = cp.ones((3, 9))\n    for _ in range(steps):\n"
    "        x = x * y",
    "a name for it": "x = cp.ones(9)\n    first = x\n    for _ in range(steps):\n        x = x * 2",
    "a view of it": "x = cp.ones(9)\n    t = x[1:]\n    for _ in range(steps):\n        x = x * 2",
    "in a list": "x = cp.ones(9)\n    kept = [x]\n    for _ in range(steps):\n        x = x * 2.0",
    "handed on": "x = cp.ones(9)\n    for _ in range(steps):\n        keep(x)\n        x = x * 2.0",
    "a function of the loop": "x = cp.ones(9)\n    late = lambda: x.sum()\n"
    "    for _ in range(steps):\n        x = x * 2.0",
    "an outer loop": "kept = []\n    x = cp.ones(9)\n    for _ in range(steps):\n"
    "        for _ in range(steps):\n            x = x * 2.0\n        kept.append(x)",
    "the right side": "x = cp.ones(9)\n    for _ in range(steps):\n        x = 2.0 - x",
    "transposed": "x = cp.ones((9, 3))\n    for _ in range(steps):\n        x = x.T * 2.0",
}


def rewritten(text: str) -> list[str]:
    """The texts that CP305 writes, one for each statement."""
    source = Source(Path("program.py").absolute(), text.encode())
    matches = [m.match for code, _, m in mistakes(source, ("CP305",))]
    return [apply_edits(source, match.edits).decode() for match in matches if match is not None]


@pytest.mark.parametrize("what", WRITTEN)
def test_the_same_results_in_the_old_memory(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", np)
    text = HEAD + WRITTEN[what]
    found = rewritten(text)
    assert found
    before = result_of(text)
    for after in found:
        assert "= " in after and after != text
        for mine, other in zip(before, result_of(after), strict=True):
            assert np.asarray(mine).dtype == np.asarray(other).dtype
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("what", EXCHANGED)
def test_two_arrays_change_places(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", np)
    text = HEAD.replace("\n", "\nimport numpy as np\n", 1) + EXCHANGED[what]
    (after,) = rewritten(text)
    assert ".empty_like(" in after and after.count(", ") > text.count(", ")
    for mine, other in zip(result_of(text), result_of(after), strict=True):
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("what", SEEN)
def test_arrays_that_something_else_holds_do_not_change_places(what: str) -> None:
    start = HEAD + "    x, kept = 0.0, []\n    u = cp.ones(9)\n    for _ in range(steps):\n"
    text = start + "        v = u * 0.5 + cp.roll(u, 1)\n        {}\n    return u, x, kept\n"
    assert rewritten(text.replace("{}", SEEN[what])) == []
    assert rewritten(text.replace("{}", "u = v"))


def result_of(text: str) -> tuple[Any, ...]:
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    result = space["run"](7)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("what", KEPT)
def test_an_array_that_something_else_may_see_stays(what: str) -> None:
    assert rewritten(f"{HEAD}    {KEPT[what]}\n    return x\n") == []
