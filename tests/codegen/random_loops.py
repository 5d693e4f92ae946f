"""Random loops over arrays and lists, and arguments on which a careless rewrite goes wrong.

Not meant to be sensible programs: divisors may be zero, subscripts may leave the array, values may
be read and never used, types may depend on the path. The original says what is right.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

LENGTH = 40
"""Elements of the observed arguments."""
_FAMILIES = (
    ("f",), ("f",), ("lf",), ("li",), ("i", "u8", "b"),
    ("f", "f", "F", "i", "u8", "b", "lf", "lf", "li"),
)  # fmt: skip
_HELPERS = """\
def bend(x):
    if x > 0.5:
        return x * 2
    return x - 1


def shift(x, y=2):
    return x * y + x
"""
_CALLS = (
    "math.sqrt", "math.sin", "math.floor", "np.sqrt", "np.floor", "math.exp", "np.abs",
    "math.fabs", "bool", "np.exp", "math.log", "bend", "shift",
)  # fmt: skip


class Loop:
    """One random function ``k`` and the kinds of its parameters."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.family = pick(_FAMILIES)
        self.arrays = {f"a{j}": pick(self.family) for j in range(self.random.randint(2, 4))}
        self.first = "a0"
        self.sources = list(self.arrays)
        self.targets = [f"r{j}" for j in range(self.random.randint(0, 2))]
        self.arrays |= dict.fromkeys(self.targets, self.arrays["a0"])
        if self.random.random() < 0.3:
            self.arrays["at"] = pick(("at", "lat"))
        self.scalars = {f"s{j}": pick(("float", "int")) for j in range(self.random.randint(0, 2))}
        self.known: list[str] = []
        """Scalars assigned so far."""
        self.text = self._program()

    # ------------------------------------------------------------ expressions
    def _index(self) -> str:
        if self.random.random() < 0.8:
            return "i"
        return self.random.choice((
            "i + 1", "i - 1", "n - 1 - i", "(i + 2) % n", "max(i - 1, 0)", "0", "-1", "i // 2",
            "at[i]" if "at" in self.arrays else "i",
        ))  # fmt: skip

    def _atom(self) -> str:
        chance = self.random.random()
        if chance < 0.5:
            return f"{self.random.choice(self.sources)}[{self._index()}]"
        if chance < 0.6 and self.known:
            return self.random.choice(self.known)
        if chance < 0.7 and self.scalars:
            return self.random.choice(list(self.scalars))
        if chance < 0.8:
            return "i"
        if set(self.family) <= {"f", "lf"}:
            return self.random.choice(("2.0", "0.5", "1.0", "0.0", "-1.0", "1e200"))
        return self.random.choice(("2", "1", "0", "3", "-1", "255", "0.5"))

    def _expr(self, depth: int = 2) -> str:
        chance = self.random.random()
        if depth <= 0 or chance < 0.2:
            return self._atom()
        left, right = self._expr(depth - 1), self._expr(depth - 1)
        if chance < 0.65:
            return f"({left} {self.random.choice('+-*+-*/%')} {right})"
        if chance < 0.72:
            return f"abs({left})"
        if chance < 0.8:
            return f"{self.random.choice(('min', 'max'))}({left}, {right})"
        if chance < 0.87:
            return f"({left} if {self._test(depth - 1)} else {right})"
        if chance < 0.91:
            return f"{self.random.choice(('int', 'float'))}({left})"
        if chance < 0.95:
            return f"{self.random.choice(_CALLS)}({left})"
        return self.random.choice((f"-{self._atom()}", f"({self._atom()} ** 2)", f"({left} // 3)"))

    def _test(self, depth: int = 1) -> str:
        chance = self.random.random()
        if chance < 0.7:
            sign = self.random.choice(("<", ">", "<=", ">=", "==", "!="))
            return f"{self._expr(depth)} {sign} {self._expr(0)}"
        if chance < 0.9:
            word = self.random.choice(("and", "or"))
            return f"({self._test(0)} {word} {self._test(0)})"
        return f"not {self._test(0)}" if chance < 0.95 else self._atom()

    # ------------------------------------------------------------- statements
    def _statements(self, depth: int, indent: str, count: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            found += self._statement(depth, indent)
        return found

    def _statement(self, depth: int, indent: str) -> list[str]:
        chance, pick = self.random.random(), self.random.choice
        if chance < 0.4:
            target = pick(self.targets or self.sources)
            index = pick(("i", "i", "i", "i", "i + 1", "n - 1 - i"))
            return [f"{indent}{target}[{index}] {pick(('=', '=', '+=', '*='))} {self._expr()}"]
        if chance < 0.6:
            name = pick(("t", "u"))
            line = f"{indent}{name} = {self._expr()}"
            self.known.append(name)
            return [line]
        if chance < 0.7:
            return [f"{indent}acc {pick(('+=', '-='))} {self._expr(1)}"]
        if chance < 0.78:
            value = self._expr(1)
            return [
                f"{indent}if {value} > best:",
                f"{indent}    best = {value}",
                f"{indent}    where = i",
            ]
        if depth == 0:
            return [f"{indent}count += 1"]
        lines = [f"{indent}if {self._test()}:"]
        lines += self._statements(depth - 1, indent + "    ", self.random.randint(1, 2))
        if self.random.random() < 0.1:
            lines.append(f"{indent}    continue")
        if self.random.random() < 0.5:
            lines.append(f"{indent}else:")
            lines += self._statements(depth - 1, indent + "    ", self.random.randint(1, 2))
        return lines

    def _head(self) -> list[str]:
        pick = self.random.choice
        last = pick(("n", "n", f"len({self.first})", "n - 1", "n - 2"))
        bounds = f"{pick(('', '', '1, ', '2, '))}{last}"
        self.known += ["e"]
        return pick((
            [f"    for i in range({bounds}):"],
            [f"    for i in range({bounds}):"],
            [f"    for i, e in enumerate({self.first}):"],
            [f"    for i, (e, t) in enumerate(zip({self.first}, {self.sources[-1]})):"],
            [f"    for i in reversed(range({bounds})):"],
            [f"    for i in range({bounds}):", f"        e = {self.first}[i]"],
        ))  # fmt: skip

    def _program(self) -> str:
        pick = self.random.choice
        parameters = ", ".join((*self.arrays, *self.scalars, "n"))
        lines = [f"    acc = {pick(('0', '0.0'))}", f"    best = {pick(('0', '-1e9'))}"]
        lines += ["    where = -1", "    count = 0", f"    t = u = e = {pick(('0.0', '0.0', '0'))}"]
        made = pick(("", "np.zeros(n)", "[0.0] * n"))
        if made:
            lines.append(f"    out = {made}")
        lines += self._head()
        lines += self._statements(2, " " * 8, self.random.randint(1, 4))
        lines += [f"        out[i] = {self._expr()}"] if made else []
        result = "acc, best, where, count" + (", out" if made else "")
        lines.append(f"    return {result}")
        head = f"import math\nimport numpy as np\n\n\n{_HELPERS}\n\ndef k({parameters}):\n"
        return head + "\n".join(lines) + "\n"

    # -------------------------------------------------------------- arguments
    def arguments(self, n: int, style: str, seed: int, share: float = 1.0) -> tuple[Any, ...]:
        """Values for all parameters; ``share`` of them are in the style, the others harmless."""
        chosen = random.Random(seed)
        rng = np.random.default_rng(seed)
        values: list[Any] = []
        for kind in (*self.arrays.values(), *self.scalars.values()):
            values.append(_values(kind, rng, n, style if chosen.random() < share else "plain"))
        return (*values, n)

    def inputs(self, seed: int) -> list[Callable[[], tuple[Any, ...]]]:
        """Makers of arguments, the observed ones first."""
        found: list[tuple[Any, ...]] = [self.arguments(LENGTH, "plain", seed)]
        for n in (0, 1, 2, 3, 5, LENGTH):
            for style in ("plain", "odd", "big", "zero"):
                found.append(self.arguments(n, style, seed + n, 0.5))
        plain = found[0]
        found += [(*plain[:-1], n) for n in (LENGTH + 2, LENGTH - 7, -2)]
        makers = [lambda args=args: copy.deepcopy(args) for args in found]
        kinds = list(self.arrays.values())
        for a in range(len(kinds)):
            for b in range(a):
                if kinds[a] == kinds[b]:
                    makers.append(lambda a=a, b=b: _shared(plain, a, b))
                    if not kinds[a].startswith("l"):
                        makers.append(lambda a=a, b=b: _overlapping(plain, a, b))
        return makers


def _values(kind: str, rng: np.random.Generator, n: int, style: str) -> Any:
    if kind == "float":
        return {"plain": 1.5, "odd": math.nan, "big": 1e200, "zero": 0.0}[style]
    if kind == "int":
        return {"plain": 3, "odd": -7, "big": 2**63 + 5, "zero": 0}[style]
    if kind.startswith("l"):
        return _values(kind[1:], rng, n, style).tolist()
    if kind in ("f", "F"):
        floats = rng.random(n) * 4 - 1
        if style == "big":
            floats = (rng.random(n) - 0.5) * (1e300 if kind == "f" else 1e38)
        if style == "odd":
            for start, value in enumerate((np.nan, -0.0, np.inf, 0.0, -np.inf)):
                floats[start :: 5 + 2 * start] = value
        return (floats * (style != "zero")).astype(np.float64 if kind == "f" else np.float32)
    if kind == "at":
        places = rng.integers(0, n, n) if n else np.zeros(0, np.int64)
        if style == "big" and n:
            places[n // 2] = 3 * n
        return places - (n // 2 if style == "odd" else 0)
    if kind == "u8":
        return rng.integers(0, 90 if style == "plain" else 256, n).astype(np.uint8)
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    low, high = (-(2**62), 2**62) if style == "big" else (-3, 9)
    return rng.integers(low, high, n) * (style != "zero")


def _shared(plain: tuple[Any, ...], a: int, b: int) -> tuple[Any, ...]:
    values = list(copy.deepcopy(plain))
    values[a] = values[b]
    return tuple(values)


def _overlapping(plain: tuple[Any, ...], a: int, b: int) -> tuple[Any, ...]:
    values = list(copy.deepcopy(plain))
    both = np.concatenate((values[a], values[b]))
    values[a], values[b] = both[:LENGTH], both[1 : LENGTH + 1]
    return tuple(values)
