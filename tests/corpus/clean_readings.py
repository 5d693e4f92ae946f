"""Clean a sensor log: parse, drop outliers, per-station stats, write csv."""

import csv
import io
import random
import statistics
import sys


def make_rows(n, seed):
    rnd = random.Random(seed)
    rows = ["station,ts,temp,hum"]
    for i in range(n):
        st = rnd.choice("ABCDEFGH")
        temp = rnd.gauss(20, 5)
        if rnd.random() < 0.01:
            s = "NaN"
        elif rnd.random() < 0.005:
            s = ""
        else:
            s = "%.3f" % temp
        rows.append(f"{st},{i * 60},{s},{rnd.uniform(0, 100):.1f}")
    return "\n".join(rows)


def clean(text):
    good = {}
    bad = 0
    for row in csv.DictReader(io.StringIO(text)):
        try:
            t = float(row["temp"])
            h = float(row["hum"])
        except ValueError:
            bad += 1
            continue
        if t != t:
            bad += 1
            continue
        if t < -10 or t > 45:
            bad += 1
            continue
        good.setdefault(row["station"], []).append((int(row["ts"]), t, h))
    return good, bad


def smooth(points, w):
    out = []
    for i in range(len(points)):
        lo = max(0, i - w)
        hi = min(len(points), i + w + 1)
        s = 0.0
        for j in range(lo, hi):
            s += points[j][1]
        out.append(s / (hi - lo))
    return out


n = int(sys.argv[1]) if len(sys.argv) > 1 else 300000
good, bad = clean(make_rows(n, 42))
with open("clean.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["station", "n", "mean", "sd", "smooth_max"])
    for st in sorted(good):
        ts = [p[1] for p in good[st]]
        sm = smooth(good[st], 40)
        w.writerow(
            [
                st,
                len(ts),
                round(sum(ts) / len(ts), 6),
                round(statistics.pstdev(ts[:500]), 6),
                repr(max(sm)),
            ]
        )
print("bad rows:", bad, "stations:", len(good))
