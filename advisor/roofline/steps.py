"""A time loop on the GPU with its arrays there: what all of its steps take.

The loop itself is no nest; the nests in it, and in the functions that make its steps, were seen as
often as they ran. Their arrays cross the bus once, and each of them is launched in every step.
"""

from __future__ import annotations

import ast

from ..crossover.versions import Kind
from ..loopnest.ir import Nest
from ..model import Refusal, Region
from .ceilings import Roof
from .predict import ARRAY, ENTRY, FILLED, LAUNCH, Prediction, launches_of, one_thread, predict
from .work import Work, work_of


def predict_steps(region: Region, kind: Kind, roof: Roof) -> Prediction | Refusal:
    """The floor of one entry of a time loop, and an estimate; or why there is none."""
    assert region.observation is not None
    entries = max(1, region.observation.entries)
    copies = launches = floor = waiting = 0.0
    arrays: set[str] = set()
    limits: list[tuple[float, str]] = []
    for inner, nest in _nests(region):
        work = work_of(nest)
        if not isinstance(work, Work) or inner.observation is None:
            return work if isinstance(work, Refusal) else Refusal("a nest was not seen")
        times = inner.observation.entries / entries
        one = predict(nest, work, kind, roof)
        copies = max(copies, one.copies)
        launches += times * launches_of(nest) * LAUNCH[kind]
        floor += times * one.work
        waiting += times * max(one.work / FILLED, one_thread(nest, work))
        arrays |= {name.rpartition(".")[2] for name in nest.arrays}
        limits.append((times * one.work, one.limit))
    if not limits:
        return Refusal("no loop nest in the loop was observed", region.loop.lineno)
    expected = launches + copies + ENTRY + ARRAY * len(arrays) + waiting
    return Prediction(kind, roof, floor, launches, copies, max(limits)[1], expected)


def _nests(region: Region) -> list[tuple[Region, Nest]]:
    """The outermost nests in the loop and in the functions that it calls."""
    known = [(inner, inner.nest) for inner in region.inside if isinstance(inner.nest, Nest)]
    below = {node for inner, _ in known for node in ast.walk(inner.loop) if node is not inner.loop}
    return [(inner, nest) for inner, nest in known if inner.loop not in below]
