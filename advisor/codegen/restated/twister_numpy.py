"""NumPy's older generator, ``np.random.random()``, computed from the words of its state.

It is the same Mersenne Twister as Python's; whole numbers and normal ones are made otherwise.
"""

from __future__ import annotations

from .twister_text import FLOAT, WORD, Given, Kind, Method

_POLAR = '''\
def {polar}(words, kept):
    """standard_normal(): numbers come in pairs, and kept holds the second one, if there is one."""
    if kept[1] != 0.0:
        drawn = float(kept[0])
        kept[0] = 0.0
        kept[1] = 0.0
        return drawn
    while True:
        first = {float}(words)
        second = {float}(words)
        first = 2.0 * first - 1.0
        second = 2.0 * second - 1.0
        square = first * first + second * second
        if square < 1.0 and square != 0.0:
            factor = {math}.sqrt(-2.0 * {math}.log(square) / square)
            kept[0] = factor * first
            kept[1] = 1.0
            return factor * second
'''
_NORMAL = '''\
def {scaled}(words, kept, loc, scale):
    """normal(loc, scale)"""
    if not scale > 0:
        return float(1 // 0)  # raised, if it is not 0: compiled code leaves it alone
    drawn = {polar}(words, kept)
    return loc + scale * drawn
'''
_UNIFORM = '''\
def {uniform}(words, low, high):
    """uniform(low, high)"""
    width = float(high - low)
    if not abs(width) < 1e308:
        return float(1 // 0)  # raised by the generator: compiled code leaves it alone
    drawn = {float}(words)
    return low + width * drawn
'''
_EXPONENTIAL = '''\
def {exponential}(words, scale):
    """exponential(scale)"""
    if not scale > 0:
        return float(1 // 0)  # raised, if it is not 0: compiled code leaves it alone
    drawn = {float}(words)
    return scale * -{math}.log(1.0 - drawn)
'''
_MASKED = '''\
def {masked}(words, start, stop):
    """randint(start, stop): as many bits as the greatest has, until they are not above it."""
    most = stop - start - 1
    if most < 0 or most > 0xFFFFFFFF:
        return 1 // 0  # raised in Python, or wider than a word: compiled code leaves it alone
    if most == 0:
        return int(start)
    mask = 1
    while mask < most:
        mask = 2 * mask + 1
    while True:
        bits = {word}(words)
        bits &= mask
        if bits <= most:
            return int(start) + int(bits)
'''

_PLACE = (
    _MASKED.replace("{masked}(words, start, stop)", "{name}(words, width)")
    .replace("randint(start, stop)", "{title}")
    .replace("stop - start - 1", "width - 1")
    .replace("int(start) + int(bits)", "int(bits)")
    .replace("int(start)", "0")
)

NUMPY_KINDS = {
    kind.key: kind
    for kind in (
        Kind("word", "_next_word", WORD, (), "randint(0, 2**32)"),
        Kind("float", "_random_number", FLOAT, ("word",), "random_sample()"),
        Kind("polar", "_standard_normal", _POLAR, ("float", "word"), "standard_normal()", True),
        Kind(
            "scaled",
            "_random_normal",
            _NORMAL,
            ("polar", "float", "word"),
            "normal(loc, scale)",
            True,
        ),
        Kind("uniform", "_random_uniform", _UNIFORM, ("float", "word"), "uniform(low, high)"),
        Kind(
            "exponential",
            "_random_exponential",
            _EXPONENTIAL,
            ("float", "word"),
            "exponential(scale)",
        ),
        Kind("masked", "_random_between", _MASKED, ("word",), "randint(start, stop)"),
        Kind(
            "place",
            "_random_place",
            _PLACE.replace("{name}", "{place}").replace("{title}", "the position of choice()"),
            ("word",),
            "choice(width or [])",
        ),
        Kind(
            "below",
            "_random_below",
            _PLACE.replace("{name}", "{below}").replace("{title}", "choice(width)"),
            ("word",),
            "choice(width)",
        ),
    )
}


def _between(args: Given) -> tuple[str, ...]:
    return ("0", args[0]) if len(args) == 1 else tuple(args)


def _two(args: Given) -> tuple[str, ...]:
    return (*args, *("0.0", "1.0")[len(args) :])


_PLAIN = Method("float", 0, 0)
_STANDARD = Method("polar", 0, 0)
CHOSEN_BELOW = Method("below", 1, 1, given=tuple)
"""``choice(n)``"""
NUMPY_METHODS = {
    "random": _PLAIN,
    "random_sample": _PLAIN,
    "rand": _PLAIN,
    "uniform": Method("uniform", 0, 2, given=_two),
    "randn": _STANDARD,
    "standard_normal": _STANDARD,
    "normal": Method("scaled", 0, 2, given=_two),
    "exponential": Method("exponential", 0, 1, given=lambda a: (a[0] if a else "1.0",)),
    "randint": Method("masked", 1, 2, given=_between),
    "choice": Method(
        "place", 1, 1, given=lambda a: (f"len({a[0]})",), made=lambda n, a: f"{a[0]}[{n}]"
    ),
    "shuffle": Method("masked", 1, 1, given=_between),
}
