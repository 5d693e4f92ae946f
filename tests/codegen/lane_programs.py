"""Random programs with a computation of its own in every iteration: loops, ways out, branches.

Some raise, some overflow 64 bits, some hang on the iteration before; the original says what is
right.
"""

from __future__ import annotations

import random
from typing import Any

LANES = 230


class LaneProgram:
    """The text of ``f(xs, ks, n, most)`` that one seed stands for."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.whole = self.random.random() < 0.5
        """Integers only; else floats with integers among them."""
        self.called = self.random.random() < 0.6
        self.depth = 0
        self.returned = self.random.choice((1, 1, 2))
        body = self._body()
        self.text = self._called(body) if self.called else self._inline(body)

    # ------------------------------------------------------------------ frames
    def _called(self, body: list[str]) -> str:
        lines = ["def own(x, k, most):", *body, f"    return {self._result()}", "", ""]
        take = "got = own({}, {}, most)"
        return "\n".join([*lines, *self._outer(take, [])]) + "\n"

    def _inline(self, body: list[str]) -> str:
        return "\n".join(self._outer("", body)) + "\n"

    def _result(self) -> str:
        names = self.random.sample(("a", "b", "c"), self.returned)
        return ", ".join(names)

    def _outer(self, take: str, body: list[str]) -> list[str]:
        pick = self.random.choice
        head = pick(("for i in range(n):", "for i in range(1, n):", "for i, x in enumerate(xs):"))
        lines = ["def f(xs, ks, n, most):", "    out = []", "    total = 0", "    last = 0"]
        lines.append(f"    {head}")
        if "x" not in head.partition(" in")[0]:
            lines.append(
                f"        x = {pick(('xs[i]', 'ks[i] + 0.5' if not self.whole else 'ks[i]'))}"
            )
        lines.append(
            f"        k = {pick(('i', 'ks[i]', 'i % 7', 'last' if self._rarely() else 'i'))}"
        )
        if self._rarely():
            lines += [f"        if {pick(('i % 3 == 0', 'k > 4'))}:", "            continue"]
        if take:
            lines.append("        " + take.format("x", "k"))
            value = "got" if self.returned == 1 else "got[0]"
            if self.returned == 2:
                lines[-1] = lines[-1].replace("got =", "got, more =")
                lines.append("        total += more")
                value = "got"
        else:
            lines += ["    " + line for line in body]
            value = self._result().partition(",")[0]
        lines += [
            f"        out.append({value})",
            f"        if {value} > 3:",
            "            last += 1",
        ]
        return [*lines, "    return out, total, last"]

    def _rarely(self) -> bool:
        return self.random.random() < 0.15

    # -------------------------------------------------------------- statements
    def _body(self) -> list[str]:
        pick = self.random.choice
        start = pick(("x", "x", "k" if self.whole else "0.5", "1" if self.whole else "1.5"))
        lines = [f"    a = {start}", f"    b = {pick(('1', '2') if self.whole else ('0.5', 'x'))}"]
        lines.append("    c = 0")
        if self.called and self._rarely():
            lines += [f"    if {self._test()}:", f"        return {self._result()}"]
        lines += self._loop(1)
        if self.random.random() < 0.3:
            lines += self._statement(1, looping=False)
        if self._rarely():
            lines += self._loop(1)
        return lines

    def _loop(self, level: int) -> list[str]:
        pick, pad = self.random.choice, "    " * level
        self.depth += 1
        count = f"t{self.depth}"
        kind = self.random.random()
        if kind < 0.5:
            test = pick((self._test(), f"{self._test()} and {self._test()}", "True"))
            both = f"{count} < most and {test}" if test != "True" else f"{count} < most"
            lines = [f"{pad}{count} = 0", f"{pad}while {both}:", f"{pad}    {count} += 1"]
        else:
            stop = pick(("most", "12", "k", "k + 2"))
            lines = [f"{pad}for {count} in range({stop}):"]
        for _ in range(pick((1, 2, 2, 3))):
            lines += self._statement(level + 1, looping=True)
        if level < 2 and self._rarely():
            lines += self._loop(level + 1)
        self.depth -= 1
        return lines

    def _statement(self, level: int, *, looping: bool) -> list[str]:
        pick, pad = self.random.choice, "    " * level
        kind = self.random.random()
        if kind < 0.45:
            if self._rarely():
                return [f"{pad}a, b = {pick(('b, a', f'{self._value()}, {self._value()}'))}"]
            return [f"{pad}{pick('aab')} = {self._value()}"]
        if kind < 0.55:
            return [f"{pad}c += {pick(('1', '1', '2', '-1'))}"]
        lines = [f"{pad}if {self._test()}:"]
        leave = self.random.random()
        if looping and leave < 0.25:
            return [*lines, f"{pad}    c = {pick(('c + 1', '7'))}", f"{pad}    break"]
        if looping and leave < 0.35:
            return [*lines, f"{pad}    break"]
        if looping and leave < 0.42:
            return [*lines, f"{pad}    continue"]
        if looping and self.called and leave < 0.6:
            return [*lines, f"{pad}    return {self._result()}"]
        for _ in range(pick((1, 1, 2))):
            lines.append(f"{pad}    {pick('abb')} = {self._value()}")
        if self.random.random() < 0.4:
            lines += [f"{pad}else:", f"{pad}    {pick('ab')} = {self._value()}"]
        return lines

    def _value(self) -> str:
        pick = self.random.choice
        if self.whole:
            return pick((
                "a // 2", "3 * a + 1", "a % 10", "b + a % 7", "a - b", "a + 1", "b * 2 + 1",
                "a * a % 1000003",
                "a // b", "a % b", "abs(a - b)", "max(a, b)", "a // 10", "x", "b + 1", "a & 7",
                "-a", "(a * 13 + 7) % 1009", "min(a, 50) + c",
            ))  # fmt: skip
        return pick((
            "a * a + x", "a * 0.5",
                 "a - b * 0.1", "b + 1.0", "a * a - b * b + x", "2.0 * a * b + 0.3",
            "a / b", "a / 3.0", "abs(a) + 0.25", "b * 0.9 + a", "a * (1.0 - a) * 3.7", "max(a, b)",
            "-b", "a + k", "b + c", "math.sqrt(a)", "math.sqrt(abs(a))", "x", "a if a < b else b",
            "int(a) + 0.5", "b - a / (c + 1)",
        ))  # fmt: skip

    def _test(self) -> str:
        pick = self.random.choice
        if self.whole:
            return pick((
                "a % 2 == 0", "a > 40", "b > a", "a != 1", "a * a < 400", "a < 0", "b % 3 == 1",
                "not a", "c > 5", "a == b", "a > x", "b and a // b > 2",
            ))  # fmt: skip
        return pick((
            "a * a + b * b > 4.0", "a > b", "abs(a - b) < 0.1", "a < 0.0", "b > 2.5", "c > 4",
            "a != b", "a > x", "b and a / b > 0.5", "not a > 1.0",
        ))  # fmt: skip


def arguments(seed: int, whole: bool, n: int = LANES) -> tuple[Any, ...]:
    """Lists of numbers, and sizes."""
    rng = random.Random(seed)
    xs: list[Any] = [rng.randrange(1, 60) for _ in range(n)]
    if not whole:
        xs = [rng.choice((rng.uniform(-2, 2), rng.uniform(0, 1), 0.0, 1.0)) for _ in range(n)]
    return xs, [rng.randrange(0, 12) for _ in range(n)], n, 9
