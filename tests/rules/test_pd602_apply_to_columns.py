"""``df.apply(f, axis=1)``: functions that are called with columns, on frames of many kinds."""

from __future__ import annotations

import pytest
from frame_programs import (
    FRAMES,
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

pytest.importorskip("pandas")
RULE = rule_of("pd602_apply_to_columns")
HEAD = "import math\n\nimport numpy as np\nimport pandas as pd\n\n\n"


def program(function: str, before: str = "", statement: str = "return {}") -> str:
    call = statement.format(f"frame.apply({function}, axis=1)")
    return f"{HEAD}{before}def work(frame, limit=0.5):\n    {call}\n"


PRICE = """\
def price(row, k=3):
    \"\"\"Of one row.\"\"\"
    if row["b"] > 0.5:
        return k * row["a"]
    value = -row["b"]
    value += 1
    return abs(value)


"""

APPLIED = {
    "numbers": program('lambda row: row["a"] * 2 + row["b"]'),
    "attributes": program("lambda r: r.a if r.b < limit else -r.b"),
    "truth": program('lambda row: row["a"] > 1 and row["b"] < 0.5'),
    "text": program("""lambda row: f"{row['a']:.1f} of {row['b']}" """),
    "whole numbers": program('lambda r: int(r["a"] * 10)'),
    "mixed": program('lambda r: "none" if r["b"] < 0.3 else r["a"]'),
    "nothing": program('lambda r: None if r["b"] < 0.3 else r["a"]'),
    "a library": program('lambda r: math.floor(r["b"]) + np.sqrt(abs(r["a"]))'),
    "one column": program('lambda r: r["b"] ** 2'),
    "a function": program("price", PRICE),
    "stored": program('lambda r: r["b"] / 3', statement='frame["c"] = {}; ').replace(
        "; ", "\n    return frame"
    ),
    "within a sum": program('lambda r: r["b"] - r["a"]', statement="return 1 + {}.sum()"),
}


@pytest.mark.filterwarnings("ignore")  # frames of other kinds make pandas warn, on both sides
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", APPLIED)
def test_columns_give_what_rows_gave(name: str, frame: str) -> None:
    text = APPLIED[name]
    after = rewritten(RULE, text, frame)
    assert "pd.Series(" in after
    assert_same_on_frames(text, after, frame)


def test_attributes_of_the_frame_go_with_the_result() -> None:
    text = APPLIED["numbers"]
    after = rewritten(RULE, text, REALS)
    named = made(REALS)
    named.attrs["source"] = "meter 7"
    old, new = (run(version, "work", (named,)) for version in (text, after))
    assert old.result.attrs == new.result.attrs == {"source": "meter 7"}


LEFT_ALONE = {
    "a list": (program('lambda r: [r["a"], 1]'), "list in the function"),
    "words": (program('lambda r: str(r["a"]).split()'), "calls str(r['a']).split"),
    "a series": (program("lambda r: r * 2"), "more of r is used"),
    "effects": (program('lambda r: print(r["a"])'), "calls print"),
    "a label": (program("lambda r: r.name"), "r.name is read"),
    "arguments": (program("price, args=(2,)", PRICE), "arguments of its own"),
    "an unknown function": (program("str"), "what str does is not known"),
    "another function by then": (program("price", PRICE + "price = price\n"), "another function"),
    "one that sorts": (program('lambda r: sorted(r["a"])'), "calls sorted"),
    "handed on": (program("lambda r: price(r)", PRICE), "calls price"),
    "no such column": (program('lambda r: r["z"] if r["a"] > 9 else 0'), "'z' is no column"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    text, reason = LEFT_ALONE[name]
    assert reason in reason_against(RULE, text, REALS)


@pytest.mark.parametrize("cells", ["[[1], [2]]", "[pd.Series([1]), pd.Series([2])]"])
def test_cells_that_hold_more_than_a_number(cells: str) -> None:
    """A function that gives a Series makes apply give a frame."""
    frame = f'pd.DataFrame({{"a": {cells}, "n": [1, 2]}})'
    text = program('lambda r: r["a"] * r["n"]')
    assert_same_on(text, rewritten(RULE, text, frame), made(frame))


def test_columns_by_name_as_the_axis_and_other_axes() -> None:
    text = program('lambda r: r["a"]').replace("axis=1", 'axis="columns"')
    assert "pd.Series(" in rewritten(RULE, text, NUMBERS)
    with pytest.raises(LookupError):  # by columns: no call for every row
        answered(RULE, text.replace('"columns"', "0"), NUMBERS)
