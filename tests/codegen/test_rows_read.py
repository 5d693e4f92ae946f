"""Tables of which few rows are read behind the loop: these alone become lists of numbers again."""

from __future__ import annotations

import pytest
from harness import assert_same, run
from numpy_cases import Case, check

from gpuadvise.cases import chains_for
from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

ONLY = "nobody reads the other rows"
LETTERS = ("ACGTACGTTGCA" * 8, "TACGATTACAGG" * 8)
OTHER_LETTERS = [("A", "TTA"), ("", "AC"), ("AC", ""), ("ACGT", "ACGT"), ("é", "éa")]


def table(body: str, *, last: str, arguments: str = "a, b") -> str:
    """A longest common subsequence; ``body`` stands between the loop and ``return last``."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"""
def k({arguments}):
    n, m = len(a), len(b)
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                best[i][j] = best[i - 1][j - 1] + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
{lines}    return {last}
"""


@pytest.mark.parametrize(
    ("body", "last", "rows"),
    [
        ("", "best[n][m]", ["n"]),
        ("", "best[-1][-1]", ["-1"]),
        ("", "best[len(a)][len(b)]", ["len(a)"]),
        ("", "best[len(best) - 1][m]", ["len(best) - 1"]),
        ("found = best[n][m] + best[0][1 % (m + 1)]", "found, best[n][0]", ["n", "0"]),
        ("total = 0\nfor j in range(m + 1):\n    total += best[n - 1][j]", "total", ["n - 1"]),
        ("if m > 9:\n    return best[n][m]", "best[n][0], len(a)", ["n"]),
    ],
)
def test_known_rows_alone_go_back(body: str, last: str, rows: list[str]) -> None:
    after = check(Case(table(body, last=last), LETTERS, OTHER_LETTERS))
    assert ONLY in after and "zip(best" not in after
    for row in rows:
        assert f"best[{row}][:] = best_array[{row}].tolist()" in after


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ("", "best"),
        ("", "best[n][1:]"),
        ("n -= 1", "best[n][m]"),
        ("found = [best[k][m] for k in range(n + 1)]", "found"),
        ("best[n][m] += 1", "best[n][m]"),
        ("best[0].append(7)", "best[n][m], len(best[0])"),
        ("show = lambda: best[n // 2][m]", "show()"),
        ("rows = best", "best[n][m], rows[n // 2][m]"),
        ("def shorter():\n    nonlocal n\n    n //= 2\nshorter()", "best[n][m]"),
    ],
)
def test_tables_looked_at_in_other_ways_go_back_as_a_whole(body: str, last: str) -> None:
    after = check(Case(table(body, last=last), LETTERS, OTHER_LETTERS))
    assert ONLY not in after


def test_a_row_that_is_not_there_raises_where_it_did() -> None:
    text = table("if m < 0:\n    return best[n + 1][m]", last="best[n][m]")
    after = check(Case(text, LETTERS, OTHER_LETTERS))
    assert ONLY not in after


def test_a_length_that_changes_is_another_row() -> None:
    text = """
def k(a, b):
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                best[i][j] = best[i - 1][j - 1] + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
    CHANGE
    return best[len(a)][len(b)]
"""
    lists = ([1, 2, 3, 1, 2] * 16, [2, 3, 1, 1] * 20)
    others = [([1], [1, 2]), ([], [3])]
    assert ONLY in check(Case(text.replace("CHANGE", "print(len(a), a[:0])"), lists, others))
    for change in ("a and a.pop()", "del a[1:]", "a *= 1", "list(map(a.remove, a[:1]))"):
        assert ONLY not in check(Case(text.replace("CHANGE", change), lists, others))


def test_tables_whose_edges_are_filled_before() -> None:
    text = """
def k(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        d[i][0] = i
    for j in range(len(b) + 1):
        d[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d[-1][-1]
"""
    region = chains_for(text, "k", LETTERS)[-1][0]
    match = emit(region)
    assert isinstance(match, Match) and match.safe
    after = apply_edits(region.source, match.edits).decode()
    assert f"d[-1][:] = d_array[-1].tolist()  # {ONLY}" in after
    for args in (LETTERS, *OTHER_LETTERS):
        assert_same(run(text, "k", args), run(after, "k", args))
