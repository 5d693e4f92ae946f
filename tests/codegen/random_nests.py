"""Random nests of counting loops over matrices: sums, sweeps and recurrences in every order.

Most of them may not be reordered, or not all of their loops; the original says what is right.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

SIZE = 11
"""Rows and columns of the matrices."""
SCALARS = ("s", "t")


class RandomNest:
    """The text of a function ``f(a, b, c, x, y, n, m, p)`` that one seed stands for."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tame = self.random.random() < 0.75
        """Only ``c`` and ``y`` are written, at the subscripts of one pair of loops each."""
        self.places = self.random.choice((("i", "j"), ("i", "j"), ("j", "i"), ("k", "j")))
        self.sums = self.tame or self.random.random() < 0.5
        lines = ["def f(a, b, c, x, y, n, m, p):", "    s = 0.25", "    t = 0.5"]
        lines += self._loop("ijk", [], 1)
        if self.random.random() < 0.15:
            lines.append(f"    y[0] = {self.random.choice(('s', 't', 'float(n)'))}")
        self.text = "\n".join(lines) + "\n"

    def _loop(self, indices: str, around: list[str], level: int) -> list[str]:
        pick, index, pad = self.random.choice, indices[0], "    " * level
        stop = pick(("n", "m", "p", "n", "m", *(f"{i} + 1" for i in around), *around))
        start = pick(
            ("", "", "", "1, ", *(f"{i}, " for i in around), *(f"{i} + 1, " for i in around))
        )
        if start.rstrip(", ") == stop or start == "":
            start = ""
        header = f"{pad}for {index} in range({start}{stop}):"
        if self.random.random() < 0.08:
            header = f"{pad}for {index} in range({pick('nmp')} - 1, -1, -1):"
        known = [*around, index]
        body: list[str] = []
        for _ in range(self.random.choice((0, 1, 1, 2))):
            body.append(f"{pad}    {self._statement(known)}")
        if len(indices) > 1:
            for _ in range(1 if self.random.random() < 0.8 else 2):
                body += self._loop(indices[1:], known, level + 1)
                if self.random.random() < 0.4:
                    body.append(f"{pad}    {self._statement(known)}")
        elif not body:
            body.append(f"{pad}    {self._statement(known)}")
        return [header, *body]

    def _element(self, known: list[str], *, written: bool = False) -> str:
        pick = self.random.choice
        if self.tame:
            if not written:
                pair = self.random.sample(known, min(2, len(known)))
                return f"{pick('ab')}[{', '.join(pair)}]" if len(pair) == 2 else f"x[{pair[0]}]"
            return (
                f"c[{', '.join(self.places)}]" if {*self.places} <= {*known} else f"y[{known[-1]}]"
            )
        offsets = ("", "", "", "", "", " - 1") if not written else ("",)
        if len(known) == 1 or self.random.random() < 0.25:
            return f"{pick('xy')}[{pick(known)}{pick(offsets)}]"
        matrix = "c" if written and self.random.random() < 0.7 else pick("abc")
        return f"{matrix}[{pick(known)}{pick(offsets)}, {pick(known)}]"

    def _value(self, known: list[str]) -> str:
        pick = self.random.choice
        first, second = self._element(known), self._element(known)
        return pick(
            (
                f"{first} * {second}",
                f"{first} * {second}",
                f"{first} - {second}",
                f"{pick(SCALARS)} * {first}",
                f"{first} + {pick(SCALARS)}",
                first,
                f"0.5 * {first} * {second}",
            )
        )

    def _statement(self, known: list[str]) -> str:
        pick, value = self.random.choice, self._value(known)
        kind = self.random.random()
        if kind < 0.35 if self.sums else kind < 0.2:
            return f"{self._element(known, written=True)} {pick(('+=', '+=', '-='))} {value}"
        if kind < 0.55:
            return f"{pick(SCALARS)} {pick(('+=', '-=', '*='))} {value}"
        if kind < 0.75:
            return f"{pick(SCALARS)} = {pick(('0.0', '1.5', value))}"
        return f"{self._element(known, written=True)} = {value}"


def arguments(seed: int, n: int, m: int, p: int) -> tuple[Any, ...]:
    """Matrices, vectors and sizes."""
    rng = np.random.default_rng(seed)
    matrices = [np.ascontiguousarray(rng.uniform(-1, 1, (SIZE, SIZE))) for _ in range(3)]
    return (*matrices, rng.uniform(-1, 1, SIZE), rng.uniform(-1, 1, SIZE), n, m, p)
