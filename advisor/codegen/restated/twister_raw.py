"""NumPy's newer generator, ``rng.integers()`` and ``rng.random()``, computed from raw numbers.

They are drawn before the loop, as many as it can take. Compiled code counts those that it takes,
and behind the loop the generator goes on behind them. Half of a raw number may be left over for
the next whole number that is drawn.
"""

from __future__ import annotations

from .twister_text import Given, Kind, Method

_FLOAT = '''\
def {float}(halves, taken):
    """random()"""
    place = 2 * taken[0]
    taken[0] += 1
    high = int(halves[place + 1])
    low = int(halves[place])
    return float(((high << 21) | (low >> 11)) * (1.0 / 9007199254740992.0))
'''
_HALF = '''\
def {half}(halves, taken):
    """The half of a number that is left over, or the first half of the next one."""
    if taken[2] != 0:
        taken[2] = 0
        return taken[1]
    place = 2 * taken[0]
    taken[0] += 1
    taken[1] = halves[place + 1]
    taken[2] = 1
    taken[3] = halves[place]
    return taken[3]
'''
_BELOW = '''\
def {below}(halves, taken, width):
    """choice(width): a half times the width, but for those that would favour small numbers."""
    if width < 1 or width > 0x7FFFFFFF:
        return int(halves[2**40])  # raised, or wider: compiled code leaves it alone
    if width == 1:
        return 0
    while True:
        product = {half}(halves, taken)
        product *= width
        rest = product & 0xFFFFFFFF
        if rest >= width or rest >= (0x100000000 - width) % width:
            return int(product >> 32)
'''
_BETWEEN = '''\
def {between}(halves, taken, start, stop):
    """integers(start, stop)"""
    drawn = {below}(halves, taken, stop - start)
    return {numpy}.int64(start + drawn)
'''
_UNIFORM = '''\
def {uniform}(halves, taken, low, high):
    """uniform(low, high)"""
    width = float(high - low)
    if not abs(width) < 1e308:
        return float(halves[2**40])  # raised by the generator: compiled code leaves it alone
    drawn = {float}(halves, taken)
    return low + width * drawn
'''

RAW_KINDS = {
    kind.key: kind
    for kind in (
        Kind("half", "_next_half", _HALF, (), "", True),
        Kind("float", "_random_number", _FLOAT, (), "", True),
        Kind("below", "_random_below", _BELOW, ("half",), "", True),
        Kind("between", "_random_between", _BETWEEN, ("below", "half"), "", True),
        Kind("uniform", "_random_uniform", _UNIFORM, ("float",), "", True),
    )
}


def _limits(args: Given) -> tuple[str, ...]:
    return ("0", args[0]) if len(args) == 1 else tuple(args)


CHOSEN = Method("below", 1, 1, given=tuple)
"""``choice(n)``"""
RAW_METHODS = {
    "random": Method("float", 0, 0),
    "integers": Method("between", 1, 2, given=_limits),
    "uniform": Method("uniform", 0, 2, given=lambda args: (*args, *("0.0", "1.0")[len(args) :])),
    "choice": Method(
        "below", 1, 1, given=lambda a: (f"len({a[0]})",), made=lambda n, a: f"{a[0]}[{n}]"
    ),
}
