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


def discount(row):
    if row["member"] and row["quantity"] >= 10:
        return 0.2
    elif row["member"]:
        return 0.1
    elif row["quantity"] >= 15:
        return 0.05
    return 0.0


df["discount"] = df.apply(discount, axis=1)

totals = []
for index, row in df.iterrows():
    total = row["price"] * row["quantity"] * (1 - row["discount"])
    if row["region"] == "north":
        total += 4.5
    totals.append(total)
df["total"] = totals

big = 0
for i in range(len(df)):
    if df.iloc[i]["total"] > 500:
        big += 1

print(df.groupby("region")["total"].sum().round(4))
print("big orders:", big)
print(df["total"].describe().round(4))
