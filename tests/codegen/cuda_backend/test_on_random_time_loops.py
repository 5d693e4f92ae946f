"""Random time loops whose arrays change hands, run in the simulator."""

from __future__ import annotations

import random

import numpy as np
from harness import region_for
from test_in_simulator import resident_or_reason, simulated

from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

SEEDS = (*range(14), 73, 139, 678)


class TimeLoop:
    """The text of ``f(u, v, k, c, steps)`` that one seed stands for."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.made: set[str] = set()
        pad = " " * 8
        body = [f"{pad}u = step(u, c)"] if self.pick.random() < 0.4 else []
        for _ in range(self.pick.choice([2, 3, 3, 4, 5])):
            body += [pad + line for line in self._operation()]
        step = ["def step(a, c):", "    m = len(a)", "    out = np.zeros(m)"]
        step += ["    " + line for line in self._nest("out", ["a"], "m", "c")]
        loop = ["def f(u, v, k, c, steps):", "    n = len(u)", "    frames = []"]
        loop += ["    for t in range(steps):", *body, "    return u, v, k, frames"]
        self.text = "\n".join(
            ["import numpy as np", "", *step, "    return out", "", *loop, ""],
        )

    def _operation(self) -> list[str]:
        choice, names = self.pick.choice, ["u", "v", *sorted(self.made)]
        match self.pick.randrange(10):
            case 0 | 1 | 2 | 3:
                return self._nest(choice(names), names, "n", "k")
            case 4:
                return ["u, v = v, u"]
            case 5:
                self.made.add("w")
                return [f"w = {choice('uv')}.copy()"]
            case 6:
                self.made.add("new")
                return [f"new = np.zeros_like({choice('uv')})", *self._nest("new", names, "n", "k")]
            case 7 if self.made:
                return [f"{choice('uv')} = {choice(sorted(self.made))}"]
            case 8:
                return [f"frames.append({choice(names)}{choice(['', '.copy()'])})"]
        return [choice(["k = k * 0.5", "print(t)"])]

    def _nest(self, to: str, sources: list[str], n: str, k: str) -> list[str]:
        choice = self.pick.choice
        low, high = choice([("0", n), ("1", n), ("0", f"{n} - 1")])
        at = choice(["i", "i - 1" if low == "1" else "i", "i + 1" if high != n else "i"])
        one, two = choice(sources), choice(sources)
        value = choice([f"{one}[{at}] + {k} * {two}[i]", f"0.5 * {one}[{at}] - {two}[i]"])
        head = [f"for i in range({low}, {high}):"]
        if self.pick.random() < 0.3:
            return [*head, f"    if {two}[i] > 0.4:", f"        {to}[i] = {value}"]
        return [*head, f"    {to}[i] {choice(['=', '=', '+='])} {value}"]


def test_equal() -> None:
    numbers = np.random.default_rng(4).random((3, 9))
    shared = numbers[2].copy()
    args = tuple((numbers[0], numbers[1], 0.3, 0.2, steps) for steps in (3, 1, 0, 4))
    args = (*args, (shared, shared, 0.3, 0.2, 2))
    made = []
    for seed in SEEDS:
        text = TimeLoop(seed).text
        region = region_for(text, "f", args[0])
        answer = resident_or_reason(region)
        if isinstance(answer, Match):
            made.append((text, apply_edits(region.source, answer.edits).decode()))
    assert len(made) >= 4
    outcomes = simulated([(text, new, "f", args, ("",)) for text, new in made])
    for (_, new), outcome in zip(made, outcomes, strict=True):
        assert [why for why, _ in outcome] == [None] * len(args), new
    assert sum(launches for outcome in outcomes for _, launches in outcome) > 20
