"""Frames, series and indices of pandas in held states: by content, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuadvise.observe.values import describe, merge
from gpuadvise.verify.capture import take
from gpuadvise.verify.compare import Comparison, Different, Same, compare

pd = pytest.importorskip("pandas")


def check(a: Any, b: Any) -> Comparison:
    return compare(take({"result": a}), take({"result": b}))


def frame() -> Any:
    return pd.DataFrame(
        {
            "a": [1, 2, 3],
            "b": [1.5, None, -0.0],
            "s": ["x", None, "z"],
            "t": pd.to_datetime(["2024-02-29", None, "2024-03-01"]),
            "c": pd.Categorical(["u", "v", "u"]),
            "i": pd.array([1, None, 3], dtype="Int64"),
        }
    )


def changed(change: Callable[[Any], Any]) -> Any:
    made = frame()
    returned = change(made)
    return made if returned is None else returned


def one_cell(label: str, value: object) -> Callable[[Any], None]:
    def change(made: Any) -> None:
        made.loc[0, label] = value

    return change


def attributes(made: Any) -> None:
    made.attrs["source"] = "elsewhere"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (one_cell("a", 7), "column 'a'"),
        (one_cell("b", 1.5000000000000002), "column 'b'"),
        (one_cell("b", -1.5), "column 'b'"),
        (one_cell("s", "y"), "column 's'"),
        (one_cell("t", pd.Timestamp("2024-02-28")), "column 't'"),
        (one_cell("c", "v"), "column 'c'"),
        (one_cell("i", 2), "column 'i'"),
        (lambda made: made.astype({"a": "int32"}), "dtype"),
        (lambda made: made.rename(columns={"a": "A"}), "column 'A'"),
        (lambda made: made[["b", "a", "s", "t", "c", "i"]], "column"),
        (lambda made: made.set_index(pd.Index([1, 2, 3])), "index"),
        (lambda made: made.set_index(pd.RangeIndex(1, 4)), "index"),
        (lambda made: made.rename_axis("row"), "index"),
        (lambda made: made.iloc[:2], "shape changed from [3] to [2]"),
        (attributes, "attrs"),
        (lambda made: made.set_flags(allows_duplicate_labels=False), "duplicate labels"),
        (lambda made: made["a"], "type of the result"),
    ],
)
def test_what_a_program_can_tell_is_told(change: Callable[[Any], Any], what: str) -> None:
    found = check(frame(), changed(change))
    assert isinstance(found, Different) and what in found.what, found


def test_blocks_and_look_ups_are_nobodys_business() -> None:
    cells, whole = frame(), frame()
    for label, value in zip(cells.index, [0.5, 1.5, 2.5], strict=True):
        cells.loc[label, "score"] = value
    whole["score"] = [0.5, 1.5, 2.5]
    assert whole.loc[1, "a"] == 2 and whole["a"].sum() == 6
    assert isinstance(check(cells, whole), Same)


def test_series_and_indices() -> None:
    series = frame()["a"]
    assert isinstance(check(series, frame()["a"]), Same)
    assert isinstance(check(series, series.rename("b")), Different)
    assert isinstance(check(series, series.astype(float)), Different)
    levels = frame().set_index(["a", "c"]).index
    assert isinstance(check(levels, frame().set_index(["a", "c"]).index), Same)
    assert isinstance(check(levels, levels.rename(["a", "d"])), Different)
    days = pd.date_range("2024-02-28", periods=3)
    assert isinstance(check(days, days.tz_localize("UTC")), Different)


def test_two_names_of_one_frame() -> None:
    one, other = frame(), frame()
    assert isinstance(check([one, one], [one, other]), Different)
    # Nobody can tell two equal indices from one.
    assert isinstance(check([one.index, one.index], [one.index, other.index]), Same)


def test_columns_as_they_are_observed() -> None:
    info = describe(frame())
    assert info.kind == "object" and info.type_name.endswith("DataFrame")
    assert info.columns[:2] == (("a", "int64"), ("b", "float64"))
    assert merge(info, describe(frame())).columns == info.columns
    assert merge(info, describe(frame().drop(columns=["a"]))).columns == ()
    assert describe(frame().rename(columns={"a": 1})).columns == ()
    assert describe(pd.concat([frame(), frame()], axis=1)).columns == ()
    own = type("Own", (pd.DataFrame,), {})
    assert describe(own(frame())).columns == ()
