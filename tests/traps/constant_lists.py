"""Membership in a list of constants, asked with things that are equal to strings or to integers."""

KINDS = ["wall", "floor", "door", "water", "stairs"]
PRIMES = [2, 3, 5, 7, 11, 13]


class Loud(str):
    __hash__ = None

    def __eq__(self, other):
        return str.__eq__(self.lower(), other)


class Odd:
    def __eq__(self, other):
        return other == "door" or other == 7

    __hash__ = object.__hash__


def known(tiles):
    found = 0
    for tile in tiles:
        if tile in KINDS:
            found += 1
    return found


def small_primes(numbers):
    found = []
    for number in numbers:
        if number not in PRIMES:
            found.append(number)
    return found


tiles = ["wall", "lava", "door", "grass", "stairs", "void"] * 6_000
print(sum(known(tiles) for _ in range(25)))
print(known([*tiles[:12], Loud("WALL"), Loud("void"), Odd(), ["wall"], None, 3.5]))
for n in range(30_000, 30_008):
    print(len(small_primes(list(range(n)))))
print(small_primes([2.0, True, 11, "3", Odd(), 3 + 0j, float("nan"), 12.5, [2]])[1:4])
KINDS.append("lava")
print(sum(known(tiles) for _ in range(10)))
