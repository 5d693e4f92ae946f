"""Pandas frames in which one thing is not as it was: labels, dtypes, rows, the class itself."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np


def is_frame(value: object) -> bool:
    """Told without importing pandas."""
    return hasattr(value, "iterrows") and hasattr(value, "columns")


def parts_of(value: Any) -> dict[str, Any]:
    """All that can be told of a frame or series, as plain values."""
    if not is_frame(value):
        return {"name": value.name, "dtype": str(value.dtype), "items": list(value.items())}
    return {
        "columns": list(value.columns),
        "dtypes": [str(dtype) for dtype in value.dtypes],
        "index": list(value.index),
        "index type": type(value.index).__name__,
        "rows": [value.iloc[:, place].tolist() for place in range(value.shape[1])],
    }


def others_of_frame(frame: Any) -> Iterator[tuple[str, Any]]:
    """Frames like this one, each with a label."""
    import pandas as pd

    class Own(pd.DataFrame):
        """Its rows are doubled."""

        @property
        def _constructor(self) -> Any:
            return Own

        def iterrows(self) -> Any:
            return (pair for pair in super().iterrows() for _ in range(2))

        def itertuples(self, *args: Any, **named: Any) -> Any:
            return (row for row in super().itertuples(*args, **named) for _ in range(2))

    yield "a class of its own", Own(frame)
    yield "no rows", frame.iloc[:0]
    yield "one row", frame.iloc[:1]
    yield "longer", pd.concat([frame, frame], ignore_index=True)
    yield "labels twice", frame.set_index(np.arange(len(frame)) // 2)
    yield "text labels", frame.set_index(pd.Index([f"r{n}" for n in range(len(frame))]))
    yield "other labels", frame.set_index(pd.Index(range(3, len(frame) * 2 + 3, 2)))
    yield "other columns", pd.concat([frame, frame.add_prefix("other_")], axis=1)
    yield "columns twice", pd.concat([frame, frame], axis=1)
    yield "text beside", frame.assign(beside=["x", *[None] * (len(frame) - 1)])
    yield "numbers beside", frame.assign(beside=range(len(frame)))
    day = datetime.datetime(2024, 2, 29)
    yield "dates beside", frame.assign(beside=pd.Series([day] * len(frame), dtype=object).values)
    described = frame.copy()
    described.attrs["source"] = "elsewhere"
    yield "attributes", described
    yield "flags", frame.set_flags(allows_duplicate_labels=False)
    for filled in (0.0, 0, "none"):
        yield f"{filled!r} in score", frame.assign(score=filled)
        yield f"{filled!r} in grade", frame.assign(grade=filled)
    yield "whole numbers", pd.DataFrame({c: range(len(frame)) for c in frame.columns})
    for place, label in enumerate(frame.columns):
        yield f"without {label}", frame.drop(columns=[label])
        for kind, values in _columns(frame.iloc[:, place]):
            yield f"{label} {kind}", frame.assign(**{label: values})


def _columns(column: Any) -> Iterator[tuple[str, Any]]:
    """Other values for one column."""
    import pandas as pd

    size = len(column)
    if pd.api.types.is_numeric_dtype(column):
        for dtype in ("float64", "float32", "int64", "int8", "bool", "object", "Int64"):
            yield dtype, column.astype("float64").round().astype(dtype)
        yield "nan", np.full(size, np.nan)
        yield "large", np.full(size, 2**62 + 1)
    yield "none", pd.Series([None] * size, dtype=object).values
    yield "some text", pd.Series(["a", *range(size - 1)], dtype=object).values
    yield "categories", pd.Categorical(["x", "y"] * (size // 2) + ["x"] * (size % 2))
    yield "dates", pd.date_range("2024-02-28", periods=size)
