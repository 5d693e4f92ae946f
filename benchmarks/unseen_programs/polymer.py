"""Ideal polymer chains: end-to-end distance and radius of gyration, NumPy generator."""

import argparse

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("chains", type=int, nargs="?", default=7800)
parser.add_argument("--beads", type=int, default=200)
parser.add_argument("--seed", type=int, default=9)
args = parser.parse_args()

rng = np.random.default_rng(args.seed)
end_to_end = np.zeros(args.chains)
gyration = np.zeros(args.chains)

for c in range(args.chains):
    x, y = np.zeros(args.beads), np.zeros(args.beads)
    for b in range(1, args.beads):
        angle = rng.uniform(0.0, 2.0 * np.pi)
        x[b] = x[b - 1] + np.cos(angle)
        y[b] = y[b - 1] + np.sin(angle)
    end_to_end[c] = x[-1] ** 2 + y[-1] ** 2
    cx, cy = x.mean(), y.mean()
    spread = 0.0
    for b in range(args.beads):
        spread += (x[b] - cx) ** 2 + (y[b] - cy) ** 2
    gyration[c] = spread / args.beads

print("mean square end-to-end distance %.5f (expected %d)" % (end_to_end.mean(), args.beads - 1))
print("mean square radius of gyration  %.5f" % gyration.mean())
print("ratio %.5f" % (end_to_end.mean() / gyration.mean()))
