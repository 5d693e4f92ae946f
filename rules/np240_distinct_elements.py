"""Do the work of a counting loop once for each distinct character or substring.

Why it is slow: a text has millions of characters and a few dozen different ones, and the loop looks
at each of them as if it had never seen it.
Why it may differ: only ints may be added up, each iteration must hang on its element alone, and
keys must enter dictionaries in the order in which they occur first; all else is refused. Texts with
other than ASCII characters keep the loop.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.distinct_named import once_for_each_named

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
VOWELS = "aeiou"


def statistics(text):
    vowels = digits = 0
    counts = {}
    for ch in text:
        low = ch.lower()
        if low in VOWELS:
            vowels += 1  # y is none
        elif ch.isdigit():
            digits += int(ch)
        counts[low] = counts.get(low, 0) + 1
    return vowels, digits, counts
""",
        inputs="args = ('The quick brown Fox 4 jumps over 12 lazy dogs',)",
        function="statistics",
        contains=("vowels += times", "digits += times * int(ch)", "# y is none"),
    ),
    Rewrites(
        before="""\
def count_kmers(seq, k):
    counts = {}
    for i in range(len(seq) - k + 1):
        kmer = seq[i:i + k]
        if kmer in counts:
            counts[kmer] += 1
        else:
            counts[kmer] = 1
    return counts
""",
        inputs="args = (''.join(rng.choice(list('GATTACA'), 50)) * 4, 23)",
        function="count_kmers",
        contains=("for kmer, times in _substrings(seq, k):",),
    ),
    Rewrites(
        before="""\
def checksum(data, table):
    total = 0
    used = set()
    for b in data:
        total += table[b] * 3 if b > 100 else b
        if b not in (0, 255):
            used.add(b // 16)
    return total, used
""",
        inputs="args = (bytes(rng.integers(0, 256, 500).tolist()), list(range(256)))",
        function="checksum",
    ),
    Rewrites(
        before="""\
from collections import defaultdict


def spectrum(sequence, k):
    counts = defaultdict(int)
    for i in range(0, len(sequence) - k + 1):
        counts[sequence[i : i + k]] += 1
    return counts
""",
        inputs="args = ('GATTACAGGATCCA' * 40, 3)",
        function="spectrum",
        contains=("for part, times in _substrings(sequence, k):",),
    ),
    Ignores(
        before="""\
def places(sequence, k):
    last = {}
    for i in range(len(sequence) - k + 1):
        last[sequence[i : i + k]] = i
    return last
""",
        because="the position counts as well",
        inputs="args = ('GATTACAGGATCCA' * 40, 3)",
        function="places",
    ),
    Ignores(
        before="""\
def words(text):
    count = 0
    inside = False
    for ch in text:
        if ch.isalpha():
            if not inside:
                count += 1
            inside = True
        else:
            inside = False
    return count
""",
        because="whether a word begins hangs on the character before",
        inputs="args = ('one two  three',)",
        function="words",
        reason="from one iteration to the next",
    ),
    Ignores(
        before="""\
def weight(text, masses):
    total = 0.0
    for ch in text:
        total += masses[ch]
    return total
""",
        because="floats are rounded at each addition",
        inputs="args = ('GATTACA', {'A': 0.1, 'C': 0.2, 'G': 0.3, 'T': 0.7})",
        function="weight",
        reason="not an int",
    ),
    Ignores(
        before="""\
def count_until(text, counts):
    try:
        for ch in text:
            counts[ch] += 1
    except KeyError:
        pass
    return counts
""",
        because="what was counted before the first unknown character is seen",
        inputs="args = ('GATTACA?GATT', {'A': 0, 'C': 0, 'G': 0, 'T': 0})",
        function="count_until",
        reason="may be caught",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def distinct_elements(region: Region) -> Match | Refusal | None:
    """The hot loop counts characters, bytes or substrings."""
    return once_for_each_named(region)
