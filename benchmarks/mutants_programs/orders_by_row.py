"""Rows of a table, one after the other: a sum with a condition, and a column made by a function."""

import numpy as np
import pandas as pd


def revenue(orders):
    total = 0.0
    for _, row in orders.iterrows():
        if row["count"] > 3:
            total += row["price"] * row["count"] * 0.95
        else:
            total += row["price"] * row["count"]
    return total


def margin(row):
    if row["price"] > 50.0:
        return (row["price"] - row["cost"]) * row["count"]
    return row["price"] * row["count"] - 1.5 * row["cost"]


rng = np.random.default_rng(3)
orders = pd.DataFrame(
    {
        "price": rng.random(12_000) * 100.0,
        "cost": rng.random(12_000) * 40.0,
        "count": rng.integers(1, 9, 12_000).astype(float),
    }
)
print(revenue(orders))
orders["margin"] = orders.apply(margin, axis=1)
print(orders["margin"].sum(), orders["margin"].iloc[17])
