"""Python's random numbers computed from the words of their generator's state.

The module ``random`` is a Mersenne Twister with 624 words and the position of the next one; the
same steps in compiled code give the same numbers and leave the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

WORD = '''\
def {word}(words):
    """The next 32 bits of a Mersenne Twister: its words, and behind them the next one's place."""
    if words[624] == 624:
        for k in range(624):
            after = k + 1 if k < 623 else 0
            beyond = k + 397 if k < 227 else k - 227
            bits = (words[k] & 0x80000000) | (words[after] & 0x7FFFFFFF)
            words[k] = words[beyond] ^ (bits >> 1) ^ (0x9908B0DF * (bits & 1))
        words[624] = 0
    bits = words[words[624]]
    words[624] += 1
    bits ^= bits >> 11
    bits ^= (bits << 7) & 0x9D2C5680
    bits ^= (bits << 15) & 0xEFC60000
    return bits ^ (bits >> 18)
'''
FLOAT = '''\
def {float}(words):
    """random()"""
    high = {word}(words)
    low = {word}(words)
    return float(((high >> 5) * 67108864.0 + (low >> 6)) * (1.0 / 9007199254740992.0))
'''
_GAUSS = '''\
def {gauss}(words, kept):
    """gauss(0.0, 1.0): numbers come in pairs, and kept holds the second one, if there is one."""
    if kept[1] != 0.0:
        kept[1] = 0.0
        return float(kept[0])
    turn = {float}(words)
    share = {float}(words)
    angle = turn * {tau!r}
    radius = {math}.sqrt(-2.0 * {math}.log(1.0 - share))
    kept[0] = {math}.sin(angle) * radius
    kept[1] = 1.0
    return {math}.cos(angle) * radius
'''
_NORMAL = '''\
def {normal}(words):
    """normalvariate(0.0, 1.0)"""
    while True:
        first = {float}(words)
        second = {float}(words)
        second = 1.0 - second
        drawn = 1.7155277699214135 * (first - 0.5) / second
        if drawn * drawn / 4.0 <= -{math}.log(second):
            return drawn
'''
_BELOW = '''\
def {name}(words, {limits}):
    """{title}: as many bits as the limit has, until they are below it."""
{width}    if width < 1 or width > 0xFFFFFFFF:
        return 1 // 0  # raised in Python, or wider than a word: compiled code leaves it alone
    step = 0x100000000
    while step > 0xFFFFFFFF // width:
        step //= 2
    while True:
        bits = {word}(words)
        bits //= step
        if bits < width:
            return {result}
'''

_WIDE = """\
{width}if width < 1:
        return {module}.{plain}  # raises
    bits = width.bit_length()
    while True:
        drawn = 0
        for low in range(0, bits, 32):
            drawn |= int({word}(words)) >> max(low + 32 - bits, 0) << low
        if drawn < width:
            return {result}"""
"""The body of a function that draws whole numbers, for any limit; a second line is indented."""


@dataclass(frozen=True)
class Kind:
    """One way of drawing a number."""

    key: str
    wanted: str
    """The name of its function, where it is free."""
    text: str
    needs: tuple[str, ...]
    """Other functions that it calls, by key."""
    plain: str
    """The same with the generator itself: what Python runs where the loop is not compiled."""
    pairs: bool = False
    """It keeps a second number."""

    def unlimited(self, module: str, word: str) -> str:
        """The body for limits of more than a word, and for those that raise; empty for others."""
        if self.text.find("width < 1") < 0:
            return ""
        first = "width = stop - start\n    " if "start" in self.plain else ""
        result = "start + drawn" if "start" in self.plain else "drawn"
        known = {"width": first, "module": module, "plain": self.plain, "word": word}
        return _WIDE.format(**known, result=result)


KINDS = {
    kind.key: kind
    for kind in (
        Kind("word", "_next_word", WORD, (), "getrandbits(32)"),
        Kind("float", "_random_number", FLOAT, ("word",), "random()"),
        Kind("gauss", "_random_gauss", _GAUSS, ("float", "word"), "gauss(0.0, 1.0)", pairs=True),
        Kind("normal", "_random_normal", _NORMAL, ("float", "word"), "normalvariate(0.0, 1.0)"),
        Kind(
            "below",
            "_random_below",
            _BELOW.replace("{name}", "{below}")
            .replace("{limits}", "width")
            .replace("{title}", "randrange(width)")
            .replace("{width}", "")
            .replace("{result}", "int(bits)"),
            ("word",),
            "randrange(width)",
        ),
        Kind(
            "between",
            "_random_between",
            _BELOW.replace("{name}", "{between}")
            .replace("{limits}", "start, stop")
            .replace("{title}", "randrange(start, stop)")
            .replace("{width}", "    width = stop - start\n")
            .replace("{result}", "start + int(bits)"),
            ("word",),
            "randrange(start, stop)",
        ),
        Kind(
            "place",
            "_random_place",
            _BELOW.replace("{name}", "{place}")
            .replace("{limits}", "width")
            .replace("{title}", "the position that choice() takes")
            .replace("{width}", "")
            .replace("{result}", "int(bits)"),
            ("word",),
            "choice(range(width))",
        ),
    )
}

TAU = 6.283185307179586
"""``2.0 * math.pi``, as the module ``random`` has it."""

Given = Sequence[str]


@dataclass(frozen=True)
class Method:
    """A method of the generator: the number that it draws, and what is made of it."""

    kind: str
    least: int
    most: int
    given: Callable[[Given], tuple[str, ...]] = lambda args: ()
    """Arguments of the function that draws."""
    made: Callable[[str, Given], str] = lambda number, args: number
    """The method's answer."""
    math: bool = False
    """What is made of it needs the module ``math``, which is ``{math}`` in the text."""


def _scaled(number: str, args: Given) -> str:
    mu, sigma = (*args, *("0.0", "1.0")[len(args) :])
    return f"({mu} + {number} * {sigma})"


def _one_more(text: str) -> str:
    return str(int(text) + 1) if text.isdigit() else f"{text} + 1"


METHODS = {
    "random": Method("float", 0, 0),
    "uniform": Method("float", 2, 2, made=lambda n, a: f"({a[0]} + ({a[1]} - {a[0]}) * {n})"),
    "gauss": Method("gauss", 0, 2, made=_scaled),
    "normalvariate": Method("normal", 0, 2, made=_scaled),
    "expovariate": Method(
        "float", 1, 1, made=lambda n, a: f"(-{{math}}.log(1.0 - {n}) / {a[0]})", math=True
    ),
    "randint": Method("between", 2, 2, given=lambda a: (a[0], _one_more(a[1]))),
    "randrange": Method("between", 2, 2, given=tuple),
    "choice": Method(
        "place", 1, 1, given=lambda a: (f"len({a[0]})",), made=lambda n, a: f"{a[0]}[{n}]"
    ),
    "shuffle": Method("below", 1, 1, given=tuple),
}
BELOW = Method("below", 1, 1, given=tuple)
"""``randrange(n)``, which raises with another message than ``randrange(0, n)``."""
