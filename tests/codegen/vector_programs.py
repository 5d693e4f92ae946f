"""Random loops over vectors of a few numbers, with helper functions that take and give them.

Not sensible programs: divisors may be zero, arrays may get other names, functions may change what
they are given. The original says what is right.
"""

from __future__ import annotations

import random


class Program:
    """One random function ``k``, what it is observed on, and what else it must do well with."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.width = self.random.choice((2, 3, 3, 4))
        self.kind = self.random.choice(("array", "array", "array", "list", "tuple"))
        self.vectors = ["u", "v"]
        self.scalars = ["s", "dt"]
        self.helpers: list[tuple[str, str]] = []
        """Name and what it gives: "vector", "number" or "pair"; all take a vector and a number."""
        lines = ["import math", "", "import numpy as np", "", ""]
        for number in range(self.random.randint(0, 3)):
            lines += self._helper(number)
        lines += self._main()
        self.text = "\n".join(lines) + "\n"
        values = ", ".join(
            repr(self.random.choice((0.5, 1.0, -2.0, 0.25))) for _ in range(self.width)
        )
        self.seen = self._arguments(values, "0.5", "6")
        self.others = (
            self._arguments(values, "0.0", "4"),
            self._arguments(", ".join(["0.0"] * self.width), "-1.5", "3"),
            self._arguments(
                ", ".join(["-0.0", "float('nan')", "1e200", "3.0"][: self.width]), "2.0", "3"
            ),
            self._arguments(values, "0.5", "0"),
            self._arguments(values + ", 1.5", "0.5", "3"),
            self._arguments(values, "2", "3"),
        )

    def _arguments(self, values: str, dt: str, n: str) -> str:
        shape = f"[{values}]"
        if self.kind == "tuple":
            made = f"tuple({shape})"
        else:
            made = shape if self.kind == "list" else f"np.array({shape})"
        rows = f"np.outer(np.arange(1.0, 9.0), {shape})"
        if self.kind != "array":
            rows += ".tolist()"
        return f"({made}, {made}, {rows}, {dt}, {n})"

    # ------------------------------------------------------------ expressions
    def _number(self, depth: int = 1) -> str:
        pick, chance = self.random.choice, self.random.random()
        if depth <= 0 or chance < 0.3:
            return pick(
                (*self.scalars, "0.5", "2", "1.5", f"{pick(self.vectors)}[{self._place()}]")
            )
        if chance < 0.7:
            return f"({self._number(depth - 1)} {pick('+-*+-*/')} {self._number(depth - 1)})"
        if chance < 0.8:
            return f"{pick(('math.sin', 'abs', 'math.sqrt', 'math.exp'))}({self._number(0)})"
        numbers = [name for name, gives in self.helpers if gives == "number"]
        if chance < 0.9 and numbers:
            return f"{pick(numbers)}({self._vector(0)}, {self._number(0)})"
        if chance < 0.95 and self.kind == "array":
            return f"{self._vector(0)}.sum()"
        return f"len({pick(self.vectors)})"

    def _place(self) -> int:
        return self.random.randint(-self.width, self.width - 1)

    def _vector(self, depth: int = 2) -> str:
        """An expression that gives a vector."""
        pick, chance = self.random.choice, self.random.random()
        named = pick(self.vectors)
        if depth <= 0 or chance < 0.15:
            return named
        givers = [name for name, gives in self.helpers if gives == "vector"]
        if chance < 0.35 and givers:
            return f"{pick(givers)}({self._vector(depth - 1)}, {self._number(0)})"
        if self.kind == "array":
            return self._array(depth, chance)
        parts = [self._number() for _ in range(self.width)]
        if self.kind == "tuple":
            return f"({', '.join(parts)})"
        if chance < 0.6:
            return f"[{', '.join(parts)}]"
        pair = f"{self._vector(depth - 1)}, {self._vector(depth - 1)}"
        return f"[a + {self._number(0)} * b for a, b in zip({pair})]"

    def _array(self, depth: int, chance: float) -> str:
        pick = self.random.choice
        if chance < 0.5:
            parts = [self._number() for _ in range(self.width)]
            return f"np.array([{', '.join(parts)}])"
        if chance < 0.8:
            return f"({self._vector(depth - 1)} {pick('+-*+/')} {self._vector(depth - 1)})"
        if chance < 0.92:
            return f"({self._number(0)} * {self._vector(depth - 1)})"
        return pick((
            f"-{self._vector(depth - 1)}", f"{self._vector(0)} ** 2", f"np.sqrt({self._vector(0)})",
            f"{self._vector(0)}.copy()", f"np.zeros({self.width})", f"np.abs({self._vector(0)})",
        ))  # fmt: skip

    def _test(self) -> str:
        return f"{self._number(1)} {self.random.choice('<>')} {self._number(0)}"

    # ------------------------------------------------------------- statements
    def _statement(self, indent: str, depth: int) -> list[str]:
        pick, chance = self.random.choice, self.random.random()
        name = pick(self.vectors)
        if chance < 0.4:
            return [f"{indent}{name} = {self._vector()}"]
        if chance < 0.5:
            return [f"{indent}s = {self._number(2)}"]
        if chance < 0.58 and self.kind == "array":
            return [f"{indent}{name} {pick(('+=', '-=', '*='))} {self._vector(1)}"]
        if chance < 0.63 and self.kind != "tuple":
            return [f"{indent}{name}[{self._place()}] = {self._number()}"]
        if chance < 0.7:
            return [f"{indent}kept.append({self._number()})"]
        if chance < 0.76 and self.kind == "array":
            return [f"{indent}rows[i % 8] = {self._vector(1)}"]
        pairs = [one for one, gives in self.helpers if gives == "pair"]
        if chance < 0.82 and pairs:
            return [f"{indent}u, v = {pick(pairs)}({self._vector(1)}, {self._number(0)})"]
        if depth <= 0 or chance < 0.86:
            return [f"{indent}s += {self._number(1)}"]
        lines = [f"{indent}if {self._test()}:", *self._statement(indent + "    ", depth - 1)]
        if pick((True, False)):
            lines += [f"{indent}else:", *self._statement(indent + "    ", depth - 1)]
        return lines

    def _helper(self, number: int) -> list[str]:
        gives = self.random.choice(("vector", "vector", "number", "pair"))
        kept = self.vectors, self.scalars
        self.vectors, self.scalars = ["w"], ["h"]
        lines = [f"def help{number}(w, h):"]
        for _ in range(self.random.randint(0, 2)):
            chance = self.random.random()
            if chance < 0.5:
                lines.append(f"    x = {self._vector(1)}")
                self.vectors = ["w", "x"]
            elif chance < 0.7:
                names = ", ".join("abcd"[: self.width])
                lines.append(f"    {names} = {self._vector(0)}")
                self.scalars = ["h", *"abcd"[: self.width]]
            elif chance < 0.8:
                lines += [f"    if {self._test()}:", f"        h = {self._number()}"]
            else:
                lines.append(f"    h = {self._number()}")
        result = {
            "vector": self._vector, "number": self._number,
            "pair": lambda: f"{self._vector()}, {self._vector()}",
        }[gives]()  # fmt: skip
        lines += [f"    return {result}", "", ""]
        self.vectors, self.scalars = kept
        self.helpers.append((f"help{number}", gives))
        return lines

    def _main(self) -> list[str]:
        lines = ["def k(u, v, rows, dt, n):", "    s = 1.0", "    kept = []"]
        head = self.random.choice(("for i in range(n):", "for i in range(n):", "while i < n:"))
        if head.startswith("while"):
            lines.append("    i = 0")
        lines.append(f"    {head}")
        if self.random.random() < 0.3:
            lines.append("        r = rows[i]")
            self.vectors = ["u", "v", "r"]
        for _ in range(self.random.randint(2, 4)):
            lines += self._statement("        ", 1)
        if head.startswith("while"):
            lines.append("        i += 1")
        back = self.random.choice(("u, v, s, kept", "u, s, kept", "s, kept", "u, v, rows, kept"))
        return [*lines, f"    return {back}"]
