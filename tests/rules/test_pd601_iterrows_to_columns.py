"""Loops over the rows of frames: each form that is rewritten, on frames of many kinds."""

from __future__ import annotations

import pytest
from frame_programs import (
    FRAMES,
    NAMES,
    NUMBERS,
    REALS,
    answered,
    assert_same_on,
    assert_same_on_frames,
    made,
    reason_against,
    rewritten,
    rule_of,
)
from harness import run
from other_frames import others_of_frame

pytest.importorskip("pandas")
RULE = rule_of("pd601_iterrows_to_columns")


def program(body: str, header: str = "for i, row in frame.iterrows():", before: str = "") -> str:
    """A function around a loop over a frame, that returns what it fills."""
    lines = [
        f"import pandas as pd\n{before}\n\ndef work(frame):\n    out, total = [], 0.0",
        f"    {header}",
    ]
    lines += [f"        {line}" for line in body.splitlines()]
    return "\n".join([*lines, "    return out, total, frame\n"])


LOOPS = {
    "subscripts": (
        program('out.append(row["a"] + 2 * row["b"])\ntotal += row["b"]'),
        "for a, b in zip(",
    ),
    "attributes": (
        program("out.append((i, row.a, row.b))\nif row.a > 0:\n    continue"),
        "hasattr",
    ),
    "label": (program('out.append(row.name)\ntotal += row["b"]'), "frame.index"),
    "no label": (
        program('total += row["a"]', "for _, row in frame.iterrows():"),
        "for a in rows[:",
    ),
    "break": (program('if row["a"] > 2:\n    break\nout.append(i)'), "break"),
    "names at the head": (
        program('x = row["a"]\ny = row["b"]  # the weight\nout.append(x * y)'),
        "for x, y in zip(",
    ),
    "a helper": (
        program(
            "out.append(cost(row, 2.0))",
            before='\n\ndef cost(r, k):\n    return r["a"] * k if r["b"] > 0.5 else -r["b"]\n',
        ),
        'cost({"a": a, "b": b}, 2.0)',
    ),
    "tuples": (
        program("out.append(row.a * row.b)", "for row in frame.itertuples():"),
        'frame["a"]',
    ),
    "tuples with labels": (
        program("out.append((row.Index, row.a))", "for row in frame.itertuples():"),
        "for label, a in zip(",
    ),
    "a new column": (program('frame.at[i, "score"] = row["a"] * row["b"]'), "score_column"),
    "a new column of 0 and 1": (
        program('frame.loc[i, "score"] = 1 if row["b"] > 0.5 else 0'),
        "list(map(float",
    ),
    "two columns by cases": (
        program(
            'frame.at[i, "score"] = row["b"] - 0.5\nif row["b"] > 0.5:\n'
            '    frame.at[i, "grade"] = "good"\nelse:\n    frame.at[i, "grade"] = f"low {i}"'
        ),
        "grade_column",
    ),
    "a column by tuples": (
        program('frame.at[row.Index, "score"] = row.b / 3', "for row in frame.itertuples():"),
        "score_column",
    ),
}


@pytest.mark.filterwarnings("ignore")  # frames of other kinds make pandas warn, on both sides
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", LOOPS)
def test_columns_give_what_rows_gave(name: str, frame: str) -> None:
    text, wanted = LOOPS[name]
    after = rewritten(RULE, text, frame)
    if frame is REALS:
        assert wanted in after
    assert_same_on_frames(text, after, frame)


@pytest.mark.filterwarnings("ignore")
def test_the_column_that_is_there_is_filled_in_place() -> None:
    text = program('frame.at[i, "score"] = row["b"] * 2')
    after = rewritten(RULE, text, f"{NAMES}.assign(score=0.0)")
    assert 'frame.loc[:, "score"] = score_column' in after
    for _, other in others_of_frame(made(NAMES).assign(score=0.0)):
        assert_same_on(text, after, other)


LEFT_ALONE = {
    "whole row": (program("out.append(row)"), "more of row is used"),
    "a method": (program("total += row.sum()"), "row.sum is no column"),
    "a label from a variable": (program("for c in 'ab':\n    total += row[c]"), "more of row"),
    "row is written": (program('row["a"] = 1'), "more of row is used"),
    "no such column": (program('total += row["z"]'), "'z' is no column"),
    "kept for later": (program('out.append(lambda: row["a"])'), "code that may run at any moment"),
    "half of the cells": (
        program('if row["a"] > 0:\n    frame.at[i, "score"] = 1.0'),
        "not every iteration writes",
    ),
    "columns in another order": (
        program(
            'if row["b"] > 0.5:\n    frame.at[i, "x"] = 1.0\n    frame.at[i, "y"] = 2.0\n'
            'else:\n    frame.at[i, "y"] = 1.0\n    frame.at[i, "x"] = 2.0'
        ),
        "which column is made first",
    ),
    "cells of another row": (program('frame.at[i - 1, "score"] = row["a"]'), "worked out"),
    "cells read again": (
        program('frame.at[i, "score"] = row["a"]\ntotal += frame["score"].sum()'),
        "is called",
    ),
    "written and read": (program('frame.at[i, "a"] = row["a"] + 1'), "writes 'a' and reads it"),
    "an unknown function": (
        program(
            'frame.at[i, "score"] = other(row["a"], frame)',
            before="\n\ndef other(x, frame):\n    return x + len(frame.columns)\n",
        ),
        "other may reach it",
    ),
    "half filled after an error": (
        program('frame.at[i, "score"] = row["a"] / 3').replace(
            "    return", "    try:\n        pass\n    except ValueError:\n        pass\n    return"
        ),
        "half filled",
    ),
    "arguments": (
        program("out.append(row.a)", 'for row in frame.itertuples(name="Point"):'),
        "arguments of their own",
    ),
    "keyword tuples": (program("out.append(row[1])", "for row in frame.itertuples():"), "more of"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    text, reason = LEFT_ALONE[name]
    assert reason in reason_against(RULE, text, REALS)


def test_a_view_of_the_frame_that_is_written_to_is_seen() -> None:
    text = program('b[i] = 0.0\ntotal += row["b"]')
    text = text.replace("    for", '    b = frame["b"]\n    for')
    assert "b is written to" in reason_against(RULE, text, REALS)
    # Rows of several dtypes are a copy.
    assert "rows = frame.to_numpy()" in rewritten(RULE, text, NUMBERS)


def test_dates_beside_missing_numbers_stay_with_the_rows() -> None:
    """Rows of dates and NaN become rows of NaT."""
    dates = 'pd.DataFrame({"a": [0.5, None, 2.5], "t": pd.to_datetime(["2024-02-29"] * 3)})'
    text = program('out.append((row["a"], row["t"]))')
    assert_same_on(text, rewritten(RULE, text, dates), made(dates))
    assert str(run(text, "work", (made(dates),)).result[0][1][0]) == "NaT"


def test_another_class_or_no_pandas_in_the_file() -> None:
    text = program('total += row["a"]')
    without = text.replace("import pandas as pd\n", "")
    assert "does not import pandas" in reason_against(RULE, without, REALS)
    assert not answered(RULE, text, f"type('Own', (pd.DataFrame,), {{}})({REALS})")
