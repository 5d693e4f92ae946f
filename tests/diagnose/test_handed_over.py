"""Functions that are handed to others count as called where that happens."""

from __future__ import annotations

from pathlib import Path

from gpuadvise.diagnose.program import Program
from gpuadvise.model import Source

TEXT = """\
class Point:
    pass

def slope(t, y):
    return -y

def step(f, t, y, h):
    return y + h * f(t, y)

def solve(n):
    y = 1.0
    for k in range(n):
        y = step(slope, 0.1 * k, y, 0.1)
    return y

def shadowed(step):
    slope = 3
    return max(slope, 2), isinstance(slope, Point)

def sorted_by(points):
    return sorted(points, key=slope)
"""


def test_a_function_handed_over_counts_as_called_there() -> None:
    source = Source(Path("p.py"), TEXT.encode())
    program = Program({source.path: source})

    def called(name: str) -> set[str]:
        scope = program.scope(source.path, name)
        assert scope is not None
        return {callee.qualname for callee in program.called_in(scope, 1, 99)}

    assert called("solve") == {"step", "slope"}
    assert called("sorted_by") == {"slope"}
    assert called("shadowed") == set(), "a local name of its own, and a class that is asked about"
