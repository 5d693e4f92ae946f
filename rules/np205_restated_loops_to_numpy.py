"""Write a loop in a plainer form as whole-array NumPy statements.

Why it is slow: every iteration runs Python bytecode; and windows, records and lists that grow are
new objects each time.
Why it may differ: it does not. Windows become positions, records columns, and a list that every
iteration appends to an array; what was only observed is tested first, with the original loop as
the other branch.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def highest(prices, width):
    found = []
    for i in range(width, len(prices) + 1):
        found.append(max(prices[i - width : i]))
    return found
""",
        inputs="args = (rng.random(500).tolist(), 9)",
        function="highest",
        contains=("found.extend(found_new.tolist())",),
    ),
    Rewrites(
        before="""\
class Body:
    def __init__(self, x, mass):
        self.x = x
        self.mass = mass


def pulls(bodies, width):
    found = []
    for one in bodies:
        pull = 0.0
        for other in bodies:
            gap = abs(one.x - other.x)
            if gap < width:
                pull += other.mass * gap
        found.append(pull)
    return found
""",
        inputs="args = ([Body(x, 1.0 + x) for x in rng.random(80).tolist()], 0.25)",
        function="pulls",
        contains=("bodies_x = [body.x for body in bodies]", "found.extend(found_new.tolist())"),
    ),
    Ignores(
        before="""\
def smoothed(values, weight):
    found = []
    last = 0.0
    for value in values:
        last = last + weight * (value - last)
        found.append(last)
    return found
""",
        inputs="args = (rng.random(500).tolist(), 0.25)",
        function="smoothed",
        because="each element needs the one before",
    ),
    Ignores(
        before="""\
def positive(values):
    found = []
    for value in values:
        if value > 0.5:
            found.append(value)
    return found
""",
        inputs="args = (rng.random(500).tolist(),)",
        function="positive",
        because="how many elements there are is known only behind the loop",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def restated_loops_to_numpy(region: Region) -> Match | Refusal | None:
    """Restate the loop, then hand it to the NumPy back end."""
    return emit_restated_arrays(region)
