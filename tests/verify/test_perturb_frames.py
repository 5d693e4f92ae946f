"""Frames and series of pandas: other rows, labels and columns, and first calls on moved numbers."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest

from gpuadvise.verify.compare import Different
from gpuadvise.verify.perturb import apply, plan, smaller
from gpuadvise.verify.perturb_replay import MOST
from gpuadvise.verify.perturb_sizes import Scheme
from gpuadvise.verify.perturb_slots import Inputs, inputs_of
from gpuadvise.verify.perturbation import Perturbation
from gpuadvise.verify.states_api import HeldCall
from gpuadvise.verify.verdicts import failed
from gpuadvise.verify.warmup import Snapshot, fingerprint, shuffle, warm_up

pd = pytest.importorskip("pandas")

TEXT = b"""
def total(orders, days):
    found = 0.0
    for _, row in orders.iterrows():
        if row["price"] > 50.0:
            found += row["price"] * row["count"]
    return found + days.sum()
"""


def orders(rows=40):
    return pd.DataFrame(
        {
            "name": [f"n{k}" for k in range(rows)],
            "count": [k % 7 for k in range(rows)],
            "price": [k * 2.5 for k in range(rows)],
            "when": pd.date_range("2024-02-28", periods=rows),
        }
    )


def found(frame, days):
    space: dict[str, object] = {}
    exec(TEXT, space)
    args = (frame, days)
    state = HeldCall("s", "p.py", "p.py", "total", 1, "first", space["total"], args, {}, space)
    inputs = inputs_of(state, TEXT, [])
    assert isinstance(inputs, Inputs), inputs
    return inputs


def test_a_frame_its_columns_of_numbers_and_a_series_are_inputs():
    inputs = found(orders(), pd.Series(np.arange(40.0), name="days"))
    assert [(slot.name, slot.kind, slot.shape) for slot in inputs.slots] == [
        ("orders", "frame", (40,)),
        ("orders['count']", "column", ()),
        ("orders['price']", "column", ()),
        ("days", "column", (40,)),
    ]


def test_rows_change_together_and_keep_their_columns():
    frame, days = orders(), pd.Series(np.arange(40.0), name="days")
    inputs = found(frame, days)
    assert apply(inputs, Scheme(inputs), Perturbation("", sizes={40: 7}))
    new, series = inputs.state().args
    assert len(new) == len(series) == 7 and list(new.index) == list(range(7))
    assert new.dtypes.equals(frame.dtypes) and new["price"].tolist() == frame["price"].tolist()[:7]
    assert series.name == "days" and len(frame) == 40
    assert apply(inputs, Scheme(inputs), Perturbation("", sizes={7: 12}))
    assert inputs.state().args[0]["count"].tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4]
    assert apply(inputs, Scheme(inputs), Perturbation("", sizes={12: 0}))
    assert len(inputs.state().args[0]) == 0 and list(inputs.state().args[0]) == list(frame)


def test_values_change_in_place_within_the_range_of_each_column():
    frame = orders()
    inputs = found(frame, 0.0)
    before = frame.copy()
    assert apply(inputs, Scheme(inputs), Perturbation("", "values", "within", (1, 2)))
    assert inputs.state().args[0] is frame
    for label in ("count", "price"):
        new, old = frame[label], before[label]
        assert new.dtype == old.dtype and new.tolist() != old.tolist()
        assert old.min() <= new.min() and new.max() <= old.max()
    assert frame["name"].equals(before["name"]) and frame["when"].equals(before["when"])


def test_types_of_columns_and_other_frames():
    inputs = found(orders(), 0.0)
    made = list(islice(plan(inputs, Scheme(inputs), Perturbation("")), 400))
    words = {what.words for what in made}
    assert {"orders['price'] as float32", "orders with two columns of one label"} <= words
    assert {"orders with one label for all rows", "orders as a subclass of DataFrame"} <= words
    assert any(word.startswith("all columns: NaN") for word in words)
    for what in made:
        assert Perturbation.parse(json.loads(json.dumps(what.plain()))) == what
    aimed = list(plan(inputs, Scheme(inputs), Perturbation(""), ["orders.columns.is_unique"]))
    assert "orders with two columns of one label" in [what.words for what in aimed[:2]]


@pytest.mark.parametrize("name", ["reversed", "one label", "texts moved on", "objects", "missing"])
def test_other_frames_differ_from_the_recorded_one(name):
    frame = orders()
    before = fingerprint({"frame": frame})
    inputs = found(frame, 0.0)
    slot = 2 if name == "missing" else 0
    assert apply(inputs, Scheme(inputs), Perturbation("", "form", name, (slot,)))
    assert fingerprint({"frame": inputs.state().args[0]}) != before


# ------------------------------------------------------------------- first calls
def changes(frame):
    """What a first call may do to a frame."""
    frame["score"] = 1.0
    frame.at[1, "price"] = 99.0
    frame.insert(0, "first", 3)
    frame["count"] = frame["count"] * 0.5
    del frame["name"]
    frame.index = range(100, 100 + len(frame))


def test_what_a_first_call_does_to_a_frame_is_put_back():
    frame = orders()
    series, roots = frame["price"], {"frame": frame}
    before = fingerprint(roots)
    done = warm_up(lambda: roots, (), [frame], lambda: changes(frame))
    assert isinstance(done, Snapshot), done
    assert fingerprint(roots) == before and frame["price"].tolist() == series.tolist()
    assert (frame["price"] * frame["count"]).sum() == (orders()["price"] * orders()["count"]).sum()


def test_numbers_in_columns_are_moved_on_and_their_sums_change():
    frame, series = orders(), pd.Series([1, 2, 4, 8])
    snapshot = Snapshot({"frame": frame, "series": series})
    shuffle([frame, series])
    assert frame["price"].sum() != orders()["price"].sum() and series.sum() != 15
    assert set(series) <= {1, 2, 4, 8} and frame.dtypes.equals(orders().dtypes)
    snapshot.restore()
    assert frame.equals(orders()) and series.tolist() == [1, 2, 4, 8]


# --------------------------------------------------------------- real processes
PROGRAM = """
import pandas as pd

def worth(orders):
    found = 0.0
    for _, row in orders.iterrows():
        if row["price"] > 50.0:
            found += row["price"] * row["count"]
    return found

def arguments():
    prices = [k * 37 % 101 * 0.75 for k in range(60)]
    return (pd.DataFrame({"price": prices, "count": [float(k % 5) for k in range(60)]}),), {}
"""
LOOP = PROGRAM[PROGRAM.index("    for _") : PROGRAM.index("    return found")]
GUARDS = (
    "type(orders) is pd.DataFrame",
    "orders.columns.is_unique",
    '{"price", "count"} <= set(orders.columns)',
    'set(map(str, orders.dtypes)) == {"float64"}',
)


def by_columns(guards=GUARDS, test="price > 50.0"):
    slow = LOOP.replace("\n    ", "\n        ").rstrip()
    return (
        f"    if {' and '.join(guards)}:\n"
        '        for price, count in zip(orders["price"].to_numpy(), orders["count"].to_numpy()):\n'
        f"            if {test}:\n"
        "                found += price * count\n"
        f"    else:\n    {slow}\n"
    )


def outcome(text, what):
    """Type and value of the result on one perturbed input, or the exception."""
    space: dict[str, object] = {}
    exec(text, space)
    args, _ = space["arguments"]()
    state = HeldCall("s", "p.py", "p.py", "worth", 1, "first", space["worth"], args, {}, space)
    inputs = inputs_of(state, text.encode(), [])
    scheme = Scheme(inputs)
    try:
        if not apply(inputs, scheme, what):
            return None
    except Exception:
        return None  # no such frame
    try:
        result = space["worth"](*inputs.state().args)
    except Exception as problem:
        return "raised" if what.odd else f"{type(problem).__name__}: {problem}"
    return f"{type(result).__name__}: {result!r}"


def told_by(guards, test="price > 50.0"):
    """Words of the planned inputs on which the columns do not give what the rows give."""
    new = PROGRAM.replace(LOOP, by_columns(guards, test))
    space: dict[str, object] = {}
    exec(PROGRAM, space)
    args, _ = space["arguments"]()
    state = HeldCall("s", "p.py", "p.py", "worth", 1, "first", space["worth"], args, {}, space)
    inputs = inputs_of(state, PROGRAM.encode(), [])
    scheme = Scheme(inputs)
    planned = islice(plan(inputs, scheme, next(smaller(inputs, scheme)), wide=True), MOST)
    return [what.words for what in planned if outcome(PROGRAM, what) != outcome(new, what)]


def test_columns_in_place_of_rows_stand_every_other_frame():
    assert told_by(GUARDS) == []


@pytest.mark.parametrize(
    ("guards", "test", "words"),
    [
        (GUARDS, "price >= 50.0", "numbers that stand in the code"),
        (GUARDS[1:], "price > 50.0", "as a subclass of DataFrame"),
        ((GUARDS[0], *GUARDS[2:]), "price > 50.0", "with two columns of one label"),
        (GUARDS[:3], "price > 50.0", "with a missing value"),
    ],
)
def test_what_other_frames_tell(guards, test, words):
    told = told_by(guards, test)
    assert any(words in word for word in told), told


@pytest.fixture
def held(bench):
    return bench, bench.hold(PROGRAM, "call", "worth")


def test_a_candidate_that_is_wrong_on_other_frames_fails(held):
    bench, state = held
    wrong = by_columns(test="price > 50.0 and len(orders) == 60")
    result = bench.trial(state, LOOP, wrong, repeats=1, perturb=6.0)
    assert result.same and failed(result), result.perturbed


@pytest.mark.parametrize("key", ["0", "len(orders)", "id(orders)"])
def test_a_result_that_is_kept_for_a_frame_shows(held, key):
    bench, state = held
    body = PROGRAM[PROGRAM.index("def worth") : PROGRAM.index("def arguments")].rstrip()
    slow = body.replace("def worth", "def _worth")
    kept = (
        f"_kept = {{}}\n\n{slow}\n\ndef worth(orders):\n    if {key} not in _kept:\n"
        f"        _kept[{key}] = _worth(orders)\n    return _kept[{key}]\n"
    )
    result = bench.trial(state, body, kept, repeats=1)
    assert isinstance(result.comparison, Different), result
