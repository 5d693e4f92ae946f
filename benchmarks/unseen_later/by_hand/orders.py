"""Columns as a whole instead of rows one by one."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(5)
n = 42000
df = pd.DataFrame(
    {
        "price": rng.uniform(1, 100, n).round(2),
        "quantity": rng.integers(1, 20, n),
        "region": rng.choice(["north", "south", "east", "west"], n),
        "member": rng.random(n) < 0.3,
    }
)
member, quantity = df["member"], df["quantity"]
df["discount"] = np.select(
    [member & (quantity >= 10), member, quantity >= 15], [0.2, 0.1, 0.05], 0.0
)
df["total"] = df["price"] * quantity * (1 - df["discount"])
df.loc[df["region"] == "north", "total"] += 4.5

print(df.groupby("region")["total"].sum().round(4))
print("big orders:", (df["total"] > 500).sum())
print(df["total"].describe().round(4))
