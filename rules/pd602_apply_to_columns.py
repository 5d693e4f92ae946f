"""Call a function with the values of columns, and not with every row of a frame as a Series.

Why it is slow: ``df.apply(f, axis=1)`` makes a Series of every row, and ``row["price"]`` looks the
label up each time: some 10 microseconds a row. A column gives its values one by one in a hundredth
of that.
Why it may differ: a row has one type for all its values, so the columns are taken from the same
array that rows are made of. A function that gives lists or a Series makes a frame, and one that has
effects may count its calls: such ones are left alone.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.frames.apply import columns_for_apply, find_applied
from gpuadvise.codegen.frames.rows import refusal
from gpuadvise.codegen.frames.stop import Stop

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import pandas as pd


def with_tax(orders):
    orders["gross"] = orders.apply(
        lambda row: row["net"] * 1.19 if row["country"] == "DE" else row["net"], axis=1
    )
    return orders
""",
        inputs="""\
countries = rng.choice(["DE", "FR"], 30)
args = (pd.DataFrame({"net": rng.random(30), "items": range(30), "country": countries}),)
""",
        function="with_tax",
        contains=("for net, country in zip(", "index=orders.index"),
    ),
    Rewrites(
        before="""\
import math

import pandas as pd


def distance(place):
    dx = place["x"] - 0.5
    dy = place["y"] - 0.5
    return math.sqrt(dx * dx + dy * dy)


def distances(places):
    return places.apply(distance, axis=1)
""",
        inputs='args = (pd.DataFrame({"x": rng.random(30), "y": rng.random(30)}),)',
        function="distances",
        contains=('distance({"x": x, "y": y})',),
    ),
    Ignores(
        before="""\
import pandas as pd


def both(frame):
    return frame.apply(lambda row: [row["a"], row["b"]], axis=1)
""",
        inputs='args = (pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),)',
        function="both",
        because="what gives lists may make a frame",
        reason="list in the function",
    ),
    Ignores(
        before="""\
import pandas as pd

seen = []


def note(row):
    seen.append(row["a"])
    return len(seen)


def noted(frame):
    return frame.apply(note, axis=1)
""",
        inputs='args = (pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),)',
        function="noted",
        because="the function has an effect, which an error half way would leave",
        reason="the function calls seen.append",
    ),
)


@rule(cases=CASES, row_calls=True)
def apply_to_columns(region: Region) -> Match | Refusal | None:
    """Read what the function takes of a row, and call it with that."""
    try:
        applied = find_applied(region)
        return None if applied is None else columns_for_apply(region, applied)
    except Stop as stop:
        return refusal(region, stop)
