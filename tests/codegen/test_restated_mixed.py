"""Lists of floats with ints among them, and powers with whole exponents that vary."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="option",
        text="""\
def option(S0, K, u, p, N):
    V = [max(K - S0 * u ** (2 * j - N), 0) for j in range(N + 4)]
    edge = []
    for i in range(N - 1, -1, -1):
        critical = 0.0
        for j in range(i + 1):
            S = S0 * u ** (2 * j - i)
            hold = p * V[j + 1] + (1 - p) * V[j]
            if K - S > hold:
                V[j] = K - S
                critical = max(critical, S)
            else:
                V[j] = hold
        edge.append(critical)
    return V, edge
""",
        seen="(100.0, 100, 1.02, 0.4, 30)",
        others=(
            "(100.0, 100, 1.02, 0.4, 1)",
            "(100, 100, 1, 1, 7)",
            "(100.0, 100, 0.0, 0.4, 5)",
            "(100.0, 100, 1e200, 0.4, 5)",
            "(-100.0, 100.5, -1.5, 0.4, 6)",
        ),
        contains=("V_before = V[:]", "if not V_written[k]:"),
    ),
    Case(
        name="given",
        text="""\
def given(V, other, p, N):
    for i in range(N - 1, -1, -1):
        for j in range(i + 1):
            V[j] = p * V[j + 1] + (1 - p) * V[j] + other[j]
    return V, other
""",
        seen="([0.5] * 20 + [0] * 21, [0.5] * 41, 0.5, 30)",
        others=(
            "([1, 2, 3], [0.5] * 3, 0.5, 2)",
            "([1, 2.0, 3], [1] * 3, 1, 2)",
            "([1, 2.0, 3**40], [0.5] * 3, 0.5, 1)",
            "([1, 2.0, 3], [0.5] * 3, 0.5, 3)",
            "([True, 2.0, 3], [0.5] * 3, 0.5, 2)",
            "((lambda v: (v, v, 0.5, 2))([1, 2.0, 3]))",
        ),
    ),
    Case(
        name="both",
        text="""def both(old, new, n):
    for i in range(1, n - 1):
        new[i] = old[i] + 0.2 * (old[i - 1] - 2.0 * old[i] + old[i + 1])
    return old, new
""",
        seen="([20, *[0.5] * 20], [20, *[0.5] * 20], 21)",
        others=(
            "([1, 2.0, 3], [3, 2, 1.0], 3)",
            "([1, 2.0, 3], [3, 2, 1.0], 0)",
            "([1, 2.0], [3, 2, 1.0], 3)",
            "((lambda v: (v, v, 4))([1, 2.0, 3, 4]))",
        ),
        contains=("old is not new", "new_written = [False] * len(new)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ints_that_are_not_written_stay_ints(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    "line",
    (
        "V[j] = 0.5 * p + (V[j + 1] + 1)",
        "p += V[j]; V[j] = 0.5 * p",
        "V[j] = max(V[j + 1], 0.5)",
        "V[j] = V[j + 1]",
        "V[j] *= 0.5",
    ),
)
def test_ints_that_could_be_seen_are_left_alone(line: str, tmp_path: Path) -> None:
    text = f"""\
def seen(V, p, N):
    for i in range(N):
        for j in range(len(V) - 1):
            {line}
    return V, p
"""
    case = Case(name="seen", text=text, seen="([0.5] * 20 + [0] * 21, 1, 30)")
    assert isinstance(answer(case, tmp_path), Refusal)
