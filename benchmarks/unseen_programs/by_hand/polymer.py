"""Blocks of chains: one draw, one cumsum along the chain."""

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
BLOCK = 500

for start in range(0, args.chains, BLOCK):
    stop = min(start + BLOCK, args.chains)
    angle = rng.uniform(0.0, 2.0 * np.pi, (stop - start, args.beads - 1))
    x = np.zeros((stop - start, args.beads))
    y = np.zeros((stop - start, args.beads))
    np.cumsum(np.cos(angle), axis=1, out=x[:, 1:])
    np.cumsum(np.sin(angle), axis=1, out=y[:, 1:])
    end_to_end[start:stop] = x[:, -1] ** 2 + y[:, -1] ** 2
    x -= x.mean(axis=1, keepdims=True)
    y -= y.mean(axis=1, keepdims=True)
    gyration[start:stop] = (x * x + y * y).sum(axis=1) / args.beads

print("mean square end-to-end distance %.5f (expected %d)" % (end_to_end.mean(), args.beads - 1))
print("mean square radius of gyration  %.5f" % gyration.mean())
print("ratio %.5f" % (end_to_end.mean() / gyration.mean()))
