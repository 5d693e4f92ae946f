"""Inputs aimed at what the new text tests."""

from __future__ import annotations

import numpy as np
import pytest

from gpuadvise.verify.perturb import apply, plan
from gpuadvise.verify.perturb_aims import aims, asked_anew
from gpuadvise.verify.perturb_sizes import Scheme
from gpuadvise.verify.perturb_slots import inputs_of
from gpuadvise.verify.perturbation import Perturbation
from gpuadvise.verify.states_api import HeldCall

OLD = b"""
def step(u, out, rows, n, rate):
    for i in range(n):
        out[i] = u[i, 0] * rate + rows[0][0]
    if rate > 3.0:
        return out
"""
NEW = b"""
import numpy as np
def step(u, out, rows, n, rate):
    small = u.min() >= 0 and u.max() <= 31
    if all(type(a) is np.ndarray and a.ndim == 2 for a in (u, out)) and not (
        np.shares_memory(u, out)
    ) and n <= u.shape[0] and type(rate) is float:
        out[:n] = u[:n, 0] * rate
    else:
        for i in range(n):
            out[i] = u[i, 0] * rate + rows[0][0]
    if rate > 3.0:
        return out
"""


def inputs():
    space: dict = {"__name__": __name__}
    exec(compile(OLD, "program.py", "exec"), space)
    args = (np.arange(12).reshape(4, 3), np.zeros(4), [[1.0, 2.0], [3.0, 4.0]], 4, 0.5)
    path = "program.py"
    state = HeldCall("s", path, path, "step", 1, "first", space["step"], args, {}, space)
    found = inputs_of(state, OLD, [__name__])
    assert not isinstance(found, str)
    return found


def aimed(test):
    """Kind, change and names of what is aimed at a test."""
    found = inputs()
    names = [slot.name for slot in found.slots]
    return [
        (kind, change, *(names[k] for k in slots)) for kind, change, slots in aims(found, [test])
    ]


def test_only_what_is_asked_anew():
    tests = asked_anew({"p": OLD}, {"p": NEW})
    assert "type(u) is np.ndarray and u.ndim == 2" in tests
    assert {"u.min() >= 0", "u.max() <= 31", "n <= u.shape[0]", "type(rate) is float"} <= {*tests}
    assert "np.shares_memory(u, out)" in tests
    assert not any("3.0" in test for test in tests)


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("u.shape[0] > 0", [("axis", "0 0", "u"), ("axis", "1 0", "u"), ("axis", "0 -1", "u")]),
        ("u.max() <= 31", [("at", "31", "u"), ("at", "32", "u"), ("at", "30", "u")]),
        ("u.min() >= -(2**40)", [("at", str(-(2**40) - 1), "u")]),
        ("u.dtype.kind in 'iu'", [("form", "float64", "u"), ("form", "bool", "u")]),
        ("type(u) is np.ndarray", [("form", "subclass", "u")]),
        ("u.ndim == 2", [("form", "other axis", "u"), ("form", "fewer axes", "u")]),
        ("u.flags.carray", [("form", "fortran", "u"), ("form", "read-only", "u")]),
        ("np.shares_memory(u, out)", [("share", "same", "u", "out")]),
        ("n > 0", [("at", "0", "n"), ("at", "1", "n"), ("at", "-1", "n")]),
        ("n <= u.shape[0]", [("step", "+1", "n"), ("axis", "0 -1", "u"), ("axis", "0 -2", "u")]),
        ("type(rate) is float", [("form", "int", "rate"), ("form", "np.float64", "rate")]),
        ("_is_matrix(rows, float)", [("form", "tuple row", "rows"), ("form", "short row", "rows")]),
        ("len(rows[0]) > 0", [("form", "no columns", "rows"), ("form", "empty", "rows")]),
    ],
)
def test_what_violates_a_test(test, wanted):
    assert {*wanted} <= {*aimed(test)}, aimed(test)


def test_every_test_has_its_turn():
    """Also of a long list, each is violated once before any is violated twice."""
    first = list(aims(inputs(), ["u.ndim == 2", "type(rate) is float", "n > 0"]))[:3]
    assert len({slots for _, _, slots in first}) == 3


def test_two_aimed_ones_for_each_other():
    found = inputs()
    made = list(plan(found, Scheme(found), Perturbation(""), ["u.max() <= 31", "n > 0"]))
    kinds = [what.kind for what in made[:9]]
    assert kinds[0:2] == kinds[3:5] == kinds[6:8] == ["at", "at"]
    assert "at" not in kinds[2::3]
    keys = [
        (what.kind, what.change, what.slots, what.filled, what.then, *what.sizes.items())
        for what in made
    ]
    keys = [(*key, what.numbers) for key, what in zip(keys, made, strict=True)]
    assert len({*keys}) == len(keys)


@pytest.mark.parametrize(
    ("kind", "change", "position", "expected"),
    [
        ("axis", "0 0", 0, (0, 3)),
        ("axis", "1 -2", 0, (4, 1)),
        ("axis", "1 +1", 0, (4, 4)),
        ("at", "32", 0, 32),
        ("at", "-1", 0, -1),
        ("at", "7", 2, 7.0),
        ("at", "9", 3, 9),
        ("step", "+2", 3, 6),
    ],
)
def test_changes(kind, change, position, expected):
    found = inputs()
    slot = found.slots[position]
    before = np.array(slot.get())
    assert apply(found, Scheme(found), Perturbation("", kind, change, (position,)))
    value = slot.get()
    if kind == "axis":
        assert value.shape == expected
    elif isinstance(value, np.ndarray | list):
        assert np.count_nonzero(np.array(value) != before) == 1 and expected in np.array(value)
    else:
        assert value == expected and type(value) is int


@pytest.mark.parametrize("number", [0.5, 2**70])
def test_numbers_that_the_type_does_not_have(number):
    found = inputs()
    assert not apply(found, Scheme(found), Perturbation("", "at", repr(number), (0,)))


GUARDED = """
import numpy as np

def small(z, n):
    total = 0
    for i in range(n):
        total += z[i] * 8
    return total

def arguments():
    return (np.arange(30) % 3, 30), {}
"""
LOOP = "    total = 0\n    for i in range(n):\n        total += z[i] * 8\n    return total"
FAST = """
    total = 0
    if type(z) is np.ndarray and z.ndim == 1 and z.dtype == np.int64 and n <= len(z) and (
        type(n) is int and 0 < n and z.min() >= 0 and z.max() <= 31
    ):
        return np.int64((z[:n].astype(np.uint8) * np.uint8(8)).sum(dtype=np.int64))
    for i in range(n):
        total += z[i] * 8
    return total
"""


def test_one_off_in_a_range(bench):
    state = bench.hold(GUARDED, "call", "small")
    assert bench.trial(state, LOOP, FAST, perturb=20.0).perturbed.mismatch is None
    wrong = FAST.replace("z.max() <= 31", "z.max() <= 32")
    found = bench.trial(state, LOOP, wrong, perturb=20.0).perturbed
    assert found.mismatch is not None and "z: 32 among its values" in found.mismatch
