"""Systems of integer inequalities, against an exhaustive search."""

from __future__ import annotations

import random
from itertools import product

from gpuadvise.loopnest.affine import Affine, make_affine, variable
from gpuadvise.loopnest.feasible import feasible

I, J, K, N = (variable(name) for name in "ijkn")  # noqa: E741


def test_a_transposed_element_meets_itself_only_on_the_diagonal() -> None:
    """a[i, j] and a[j', i] with j, j' >= i: j' == i == j."""
    zero = [I - variable("j'"), J - I]
    triangle = [I, J - I, variable("j'") - I, N - 1 - J]
    assert feasible(triangle, zero)
    assert not feasible([*triangle, J - variable("j'") - 1], zero)


def test_a_triangle_has_no_point_beyond_its_edge() -> None:
    assert feasible([K, I - 1 - K, N - 1 - I])
    assert not feasible([K, I - 1 - K, K - I])


def test_parity_decides() -> None:
    assert not feasible([], [I.scale(2) - J.scale(2) - 1])
    assert not feasible([I.scale(2) - 1, -I.scale(2) + 1])
    assert feasible([], [I.scale(2) - J.scale(3) - 1])


def test_no_is_never_wrong() -> None:
    """Every random system with a point in a small box is feasible."""
    chance = random.Random(7)
    solvable = refuted = 0
    for _ in range(400):
        forms = [_form(chance) for _ in range(chance.randint(2, 6))]
        zero = [_form(chance) for _ in range(chance.randint(0, 2))]
        found = any(
            all(_value(f, point) >= 0 for f in forms) and all(_value(z, point) == 0 for z in zero)
            for point in product(range(-4, 5), repeat=3)
        )
        answer = feasible(forms, zero)
        assert answer or not found
        solvable += found
        refuted += not answer
    assert solvable > 50
    assert refuted > 50


def _form(chance: random.Random) -> Affine:
    return make_affine({name: chance.randint(-2, 2) for name in "ijk"}, chance.randint(-4, 2))


def _value(form: Affine, point: tuple[int, ...]) -> int:
    at = dict(zip("ijk", point, strict=True))
    return form.const + sum(factor * at[name] for name, factor in form.pairs)
