"""Results that a rewrite remembers from an earlier call show, whatever it remembers them by."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest

from gpuadvise.verify import warmup
from gpuadvise.verify.compare import Different
from gpuadvise.verify.warmup import Snapshot, fingerprint, shuffle, warm_up

PROGRAM = """
def words(text, n):
    found = []
    for word in text.split():
        found.append(word * n)
    return found


def arguments():
    return ("one two three two", 2), {}
"""
LOOP = PROGRAM.partition("\n\n\n")[0]
KEPT = """
_kept = {}


def words(text, n):
    if KEY not in _kept:
        _kept[KEY] = [word * n for word in text.split()]
    return _kept[KEY]
"""


@pytest.mark.parametrize(
    "key", ["0", "type(text)", "len(text)", "id(text)", "text", "(text, n)", "(id(text), id(n))"]
)
def test_remembered_results(bench, key):
    state = bench.hold(PROGRAM, "call", "words")
    result = bench.trial(state, LOOP, KEPT.replace("KEY", key), repeats=1)
    assert isinstance(result.comparison, Different), result


NEAREST = """
def nearest(values, wanted):
    best = 0
    for k in range(len(values)):
        if abs(values[k] - wanted) < abs(values[best] - wanted):
            best = k
    return best


def arguments():
    return ([float(k * 7 % 31) for k in range(31)], 12), {}
"""


@pytest.mark.parametrize("key", ["id(values)", "(id(values), id(wanted))", "wanted", "len(values)"])
def test_plain_numbers_that_are_remembered(bench, key):
    """By the list itself, which may hold something else the next time; by the number alone."""
    state = bench.hold(NEAREST, "call", "nearest")
    old = NEAREST.partition("\n\n\n")[0].strip()
    body = old.replace("def nearest", "def _nearest")
    new = f"""_kept = {{}}


{body}


def nearest(values, wanted):
    key = {key}
    if key not in _kept:
        _kept[key] = _nearest(values, wanted)
    return _kept[key]
"""
    result = bench.trial(state, old, new, repeats=1)
    assert isinstance(result.comparison, Different), result


def test_a_new_list_in_every_call(bench):
    state = bench.hold(PROGRAM, "call", "words")
    new = KEPT.replace("KEY", "text").replace("return _kept[text]", "return list(_kept[text])")
    assert bench.trial(state, LOOP, new, repeats=1).same


def test_originals_that_remember(bench):
    memo = PROGRAM.replace(LOOP, KEPT.replace("KEY", "text"))
    state = bench.hold(memo, "call", "words")
    result = bench.trial(state, "if text not in _kept:", "if not text in _kept:", repeats=1)
    assert result.same, result


class Body:
    mass = 1.0

    def __init__(self, x):
        self.x = x
        self.trail = [x, x + 1.0]
        self.near = None

    def move(self):
        self.x += self.mass
        self.trail.append(self.x)
        self.near, self.mass = self, 2.0
        self.seen = True


def has_dict(thing):
    return any(type(held) is dict for held in gc.get_referents(thing))


def test_objects_are_as_quick_after_a_warm_up_as_before():
    """Their attributes stay in the object: no ``__dict__`` is made of them."""
    bodies = [Body(0.5), Body(1.5)]
    before = fingerprint({"bodies": bodies})
    done = warm_up(
        lambda: {"bodies": bodies}, (), [bodies], lambda: [setattr(b, "x", 9.0) for b in bodies]
    )
    assert isinstance(done, Snapshot), done
    assert [body.x for body in bodies] == [0.5, 1.5]
    assert bodies[0].trail == [0.5, 1.5] and not any(map(has_dict, bodies))
    assert fingerprint({"bodies": bodies}) == before
    bodies[0].near = bodies[1]
    assert fingerprint({"bodies": bodies}) != before


def test_attributes_that_the_first_call_made_are_gone():
    bodies = [Body(0.5), Body(1.5)]
    snapshot = Snapshot({"bodies": bodies})
    for body in bodies:
        body.move()
        del body.trail
    snapshot.restore()
    for body, x in zip(bodies, (0.5, 1.5), strict=True):
        assert sorted(vars(body)) == ["near", "trail", "x"] and body.mass == 1.0
        assert (body.x, body.near, body.trail) == (x, None, [x, x + 1.0])


class Guarded:
    """A property that keeps its value under its own name."""

    def __init__(self, level):
        self.__dict__["level"] = level

    @property
    def level(self):
        return self.__dict__["level"]

    @level.setter
    def level(self, value):
        raise AttributeError("read only")


def test_properties_are_not_asked():
    thing = Guarded(3)
    snapshot = Snapshot({"thing": thing})
    thing.__dict__["level"] = 4
    snapshot.restore()
    assert thing.level == 3


def test_numbers_in_objects_are_moved_on():
    body = Body(0.5)
    shuffle([body])
    assert body.trail == [1.5, 0.5] and not has_dict(body) and math.isfinite(body.x)


@pytest.mark.parametrize(
    ("data", "one", "called"),
    [
        ([[1.0, 2.0]], False, ["other", "same"]),
        ([[1.0, 2.0]], True, ["same"]),
        ([np.arange(3)], True, ["same"]),
        ([{"grid": [[1, 2], [3, 4]]}], True, ["same"]),
        ([7, "text"], True, ["other", "same"]),
        # Nothing is another than before: what is remembered by the data would not show.
        ([[0.0, 0.0], np.ones(3)], True, ["other", "same"]),
    ],
)
def test_one_call_where_calls_take_long(data, one, called):
    """Other numbers may be what a guard leaves to the original loop, which takes long."""
    calls = []
    done = warm_up(
        lambda: {"data": data},
        (),
        data,
        lambda: calls.append("same"),
        lambda: calls.append("other"),
        one=one,
    )
    assert isinstance(done, Snapshot) and calls == called


def test_tuples_of_numbers_are_not_counted(monkeypatch):
    monkeypatch.setattr(warmup, "NODE_LIMIT", 100)
    held = [[0.5], {}]
    seen = Snapshot({"rows": [(k, 0.5) for k in range(1000)], "held": held}).seen
    assert id(held[0]) in seen and len(seen) == 4
    mixed = Snapshot({"rows": [(k, held[0]) for k in range(10)]}).seen
    assert id(held[0]) in mixed
