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
    Rewrites(
        before="""\
def energy(x, y):
    gap = x - y
    return gap * gap + 0.5 * abs(gap)


def energies(values, centre):
    return [energy(x, centre) for x in values]
""",
        inputs="args = (rng.random(500).tolist(), 0.25)",
        function="energies",
        contains=("items.extend(items_new.tolist())", "return items"),
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
def positive_energies(values):
    return [x * x for x in values if x > 0.5]
""",
        inputs="args = (rng.random(500).tolist(),)",
        function="positive_energies",
        because="how many elements there are is known only behind the comprehension",
    ),
    Rewrites(
        before="""\
def lighter(image, gain):
    result = []
    for row in image:
        line = []
        for value in row:
            line.append(value * gain)
        result.append(line)
    return result
""",
        inputs="args = (rng.random((30, 40)).tolist(), 1.5)",
        function="lighter",
        contains=("result.extend(result_new.tolist())",),
    ),
    Ignores(
        before="""\
def printed(table):
    lines = []
    for row in table:
        line = []
        for value in row:
            line.append(f"{value:.3f}")
        lines.append(line)
    return lines
""",
        inputs="args = (rng.random((30, 40)).tolist(),)",
        function="printed",
        because="rows of text are no array of numbers",
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


@rule(needs={"numpy"}, cases=CASES, comprehensions=True)
def restated_loops_to_numpy(region: Region) -> Match | Refusal | None:
    """Restate the loop, then hand it to the NumPy back end."""
    return emit_restated_arrays(region)
