"""Dictionaries under characters and pairs, read in loops; whatever else is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

SCORES = "{(a, b): (5 if a == b else -1) for a in 'ACGT' for b in 'ACGT'}"
RULES = "{(s, c): (s + k) % 3 for s in range(3) for k, c in enumerate('abc')}"
CASES = (
    Case(
        name="scored",
        text="""\
def scored(one, two, scores, gap):
    rows = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(two) + 1):
            match = rows[i - 1][j - 1] + scores[(one[i - 1], two[j - 1])]
            rows[i][j] = max(match, rows[i - 1][j] + gap, rows[i][j - 1] + gap)
    return rows
""",
        seen=f"('ACGTTGCA', 'ACGGTA', {SCORES}, -2)",
        others=(
            f"('ACGX', 'ACG', {SCORES}, -2)",
            f"('AC\\u00e9', 'ACG', {SCORES}, -2)",
            f"(['A', 'CG', ''], 'ACG', {SCORES}, -2)",
            "('AC', 'A', {('A', 'A'): 1.5, ('C', 'A'): 2}, -2)",
            "('AC', 'A', {('A', 'A'): 2**70, ('C', 'A'): 2}, -2)",
            "('AC', 'A', {('A', 'A'): True, ('C', 'A'): 2}, -2)",
            "('AC', 'A', {('A', 'A'): 1, ('C', 'A'): 2, 'AA': 3}, -2)",
            "('AC', 'A', {('A', 'A', 'A'): 1, ('C', 'A'): 2}, -2)",
            "('AC', 'A', {}, -2)",
            "('', 'A', {}, -2)",
        ),
        contains=("scores_table = np.full(16384, ", "_entry_of_scores(scores_table"),
    ),
    Case(
        name="mass",
        text="""\
MASS = {"A": 71.04, "C": 103.01, "D": 115.03, "G": 57.02}


def mass(peptides):
    found = []
    for k in range(3):
        total = 18.01
        for residue in peptides:
            total += MASS.get(residue, 0.0) * (k + 1)
        found.append(total)
    return found
""",
        seen="('ACDGGADC',)",
        others=("('AXD',)", "('',)", "('A\\u00e9',)", "(['A', 'CD', ''],)", "([1, 2],)"),
        contains=(
            "MASS_table = np.full(128, np.nan)",
            "_entry_or_of_MASS(MASS_table, residue, 0.0)",
        ),
    ),
    Case(
        name="complement",
        text="""\
def complement(dna, pairs):
    out = []
    for base in dna:
        out.append(pairs[base])
    return "".join(out)
""",
        seen="('ACGTTGCA', {'A': 'T', 'C': 'G', 'G': 'C', 'T': 'A'})",
        others=(
            "('ACN', {'A': 'T', 'C': 'G', 'G': 'C', 'T': 'A'})",
            "('ACA', {'A': 'TT', 'C': 'G'})",
            "('ACA', {'A': '\\u00e9', 'C': 'G'})",
            "('ACA', {'A': 7, 'C': 8})",
        ),
        contains=("pairs_table = np.full(128, 255, dtype=np.uint8)",),
    ),
    Case(
        name="accepted",
        text="""\
def accepted(words, rules, rounds):
    count = 0
    for k in range(rounds):
        state = 0
        for c in words:
            state = rules[state, c]
            if state == 2:
                count += 1
    return count
""",
        seen=f"('abcabbcab', {RULES}, 3)",
        others=(
            f"('abcd', {RULES}, 3)",
            "('ab', {(0, 'a'): 64, (64, 'b'): 65}, 1)",
            "('aba', {(0, 'a'): -64, (-64, 'b'): 65}, 1)",
            "('ab', {(0, 'a'): 100, (100, 'b'): 65}, 1)",
            "('ab', {(0.0, 'a'): 1, (1, 'b'): 0}, 1)",
            "('ab', {(False, 'a'): 1, (1, 'b'): 0}, 1)",
            f"('abc', type('Rules', (dict,), {{'__missing__': lambda s, k: 2}})({RULES}), 2)",
        ),
        contains=("rules_table[128 * (key[0] + 64) + ord(key[1])] = rules[key]",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "table[c, d] = 2",
        "total += table[c, d] if (c, d) in table else 0",
        "total += len(table)",
        "total += table[c, d][0]",
        "total += table[c, 'CG']",
        "total += table[c, d, d]",
        "total += table.get((c, d), 0.5)",
        "total += table.pop((c, d))",
    ],
)
def test_more_than_reading_one_entry_is_left_alone(line: str, tmp_path: Path) -> None:
    text = f"""\
def f(one, two, table):
    total = 0
    for c in one:
        for d in two:
            {line}
    return total, table
"""
    found = answer(
        Case("f", text, "('AC', 'GT', {(a, b): 1 for a in 'AC' for b in 'GT'})"), tmp_path
    )
    assert isinstance(found, Refusal), found[0]
