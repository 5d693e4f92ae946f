"""Walk along the columns of a frame that a loop reads, and not along its rows.

Why it is slow: ``iterrows`` makes a Series of every row, of all its columns, and ``row["price"]``
looks the label up each time: some 20 microseconds a row. A column gives its values one by one in
a thousandth of that.
Why it may differ: a row has one type for all its values, and an integer beside floats is a float
in it. So the columns are taken from the same array that rows are made of; rows that a Series would
convert, and loops that use more of a row than columns by name, are left alone.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.frames.columns import columns_for_rows
from gpuadvise.codegen.frames.rows import find_rows, refusal
from gpuadvise.codegen.frames.stop import Stop

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import pandas as pd


def revenue(orders):
    total = 0.0
    amounts = []
    for _, row in orders.iterrows():
        amount = row["quantity"] * row["price"]
        if row["region"] == "north":
            amount *= 0.9
        amounts.append(amount)
        total += amount
    return total, amounts
""",
        inputs="""\
orders = pd.DataFrame({
    "quantity": rng.integers(1, 9, 40),
    "price": rng.random(40),
    "region": rng.choice(["north", "south"], 40),
})
args = (orders,)
""",
        function="revenue",
        contains=("for quantity, price, region in zip(",),
    ),
    Rewrites(
        before="""\
import pandas as pd


def grade(students):
    for i, student in students.iterrows():
        points = student["points"]
        bonus = student["bonus"]
        students.at[i, "score"] = points + 2.0 * bonus
        students.at[i, "grade"] = "pass" if points > 0.5 else "fail"
    return students
""",
        inputs='args = (pd.DataFrame({"points": rng.random(30), "bonus": rng.random(30)}),)',
        function="grade",
        contains=("for points, bonus in zip(", 'students["score"] = score_column'),
    ),
    Rewrites(
        before="""\
import pandas as pd


def path_length(track):
    length = 0.0
    for point in track.itertuples(index=False):
        length += (point.dx**2 + point.dy**2) ** 0.5
    return length
""",
        inputs='args = (pd.DataFrame({"dx": rng.random(30), "dy": rng.random(30)}),)',
        function="path_length",
        contains=('for dx, dy in zip(track["dx"], track["dy"]):',),
    ),
    Ignores(
        before="""\
import pandas as pd


def shown(frame):
    lines = []
    for _, row in frame.iterrows():
        lines.append(row.to_dict())
    return lines
""",
        inputs='args = (pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),)',
        function="shown",
        because="the whole row is used",
        reason="row.to_dict is no column of frame",
    ),
    Ignores(
        before="""\
import pandas as pd


def running(frame):
    prices = frame["price"]
    for i, row in frame.iterrows():
        prices[i] = row["price"] + row["tax"]
    return frame
""",
        inputs='args = (pd.DataFrame({"price": [1.0, 2.0], "tax": [0.5, 1.5]}),)',
        function="running",
        because="prices may be a view of the frame whose rows are read",
        reason="may change while the loop walks along it",
    ),
    Ignores(
        before="""\
import pandas as pd


def last(frame):
    for _, row in frame.iterrows():
        if row["a"] > 1:
            break
    return row
""",
        inputs='args = (pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}),)',
        function="last",
        because="the row is used after the loop",
        reason="after the loop",
    ),
    Ignores(
        before="""\
import pandas as pd


def some(frame):
    for i, row in frame.iterrows():
        if row["a"] > 1:
            frame.at[i, "b"] = 0.0
    return frame
""",
        inputs='args = (pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}),)',
        function="some",
        because="not every row is written: a rewrite would have to know the others' values",
        reason="not every iteration writes",
    ),
)


@rule(cases=CASES)
def iterrows_to_columns(region: Region) -> Match | Refusal | None:
    """Read what the loop takes of a row, and write it over columns."""
    try:
        rows = find_rows(region)
        return None if rows is None else columns_for_rows(region, rows)
    except Stop as stop:
        return refusal(region, stop)
