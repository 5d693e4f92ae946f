"""Loops over strings and bytes in many authors' styles, with data that they must be right for."""

from __future__ import annotations

from typing import Any

TEXT = "The quick (brown) fox, 12 jumps over 3 lazy dogs!\n"
ODD: tuple[Any, ...] = (
    *("", "x", "A" * 40),
    *("h\u00e9llo w\u00f6rld", "\U0001f600 7 \ud800"),
    list("abc1"),
)
"""What strings may be besides the one that was seen; a list of characters reads like one."""

LOOPS = """
import string

VOWELS = "aeiou"


def same(s, t):
    n = 0
    for i in range(len(s)):
        if s[i] == t[i]:
            n += 1
    return n


def runs(s):
    previous = ""
    run = best = 0
    for ch in s:
        if ch == previous:
            run += 1
        else:
            run = 1
            previous = ch
        if run > best:
            best = run
    return best, previous


def scan(source):
    state = "start"
    names = numbers = value = total = 0
    for ch in source:
        if state == "start":
            if ch.isalpha() or ch == "_":
                state = "name"
            elif ch in string.digits:
                state = "number"
                value = int(ch)
        elif state == "name":
            if not (ch.isalnum() or ch == "_"):
                names += 1
                state = "start"
        elif ch.isdigit():
            value = (value * 10 + int(ch)) % 1000003
        else:
            numbers += 1
            total += value
            state = "start"
    return names, numbers, total, state


def vigenere(text, key):
    out = []
    k = 0
    for ch in text:
        if ch.isalpha():
            shift = ord(key[k % len(key)]) - ord("a")
            base = ord("A") if ch.isupper() else ord("a")
            out.append(chr((ord(ch) - base + shift) % 26 + base))
            k += 1
        else:
            out.append(ch)
    return "".join(out)


def caesar(text, shift):
    result = "> "
    for ch in text:
        if ch.islower():
            result += chr((ord(ch) - 97 + shift) % 26 + 97)
        else:
            result += ch.upper()
    return result


def is_vowel(c):
    return (c).lower() in VOWELS


def vowels(s, other):
    n = last = 0
    for i, ch in enumerate(s):
        if is_vowel(ch) or ch == other:
            n += i - last
            last = i
    return n


def digits(s):
    value = 0
    for i in range(len(s)):
        value = (value * 7 + int(s[i])) % 9973
    return value


def checksum(data, start=1):
    a, b = start, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


def align(s, t):
    gap = -2
    score = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for i in range(1, len(s) + 1):
        for j in range(1, len(t) + 1):
            step = 1 if s[i - 1] == t[j - 1] else -1
            score[i][j] = max(score[i - 1][j - 1] + step, score[i - 1][j] + gap, score[i][j - 1])
    return score


def balanced(s):
    depth = deepest = 0
    for ch in s:
        if ch in ("(", "[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif (ch) in {")", "]", "}"}:
            depth -= 1
            if depth < 0:
                break
    return depth, deepest


def levenshtein(s, t):
    previous = list(range(len(t) + 1))
    for i, c1 in enumerate(s):
        current = [i + 1]
        for j, c2 in enumerate(t):
            insertions = previous[j + 1] + 1
            deletions = current[j] + 1
            substitutions = previous[j] + (c1 != c2)
            current.append(min(insertions, deletions, substitutions))
        previous = current
    return previous


def common_subsequence(s, t):
    n = len(t)
    before = [0] * (n + 1)
    for i in range(len(s)):
        row = [0] * (n + 1)
        for j in range(n):
            if s[i] == t[j]:
                row[j + 1] = before[j] + 1
            else:
                row[j + 1] = max(row[j], before[j + 1])
        before = row
    return before[n]


def warp(a, b):
    before = [float("inf")] * (len(b) + 1)
    before[0] = 0.0
    row = [0.0] * (len(b) + 1)
    for x in a:
        row[0] = float("inf")
        for j in range(len(b)):
            row[j + 1] = abs(x - b[j]) + min(before[j], before[j + 1], row[j])
        before = row[:]
    return before, row


def shifted(s):
    out = []
    for ch in s:
        if ch.isspace():
            out.append(ch)
        else:
            out.append(chr(ord(ch.upper()) + 200))
    return out


def run_lengths(text):
    runs = []
    previous = text[0] if text else ""
    n = 1
    for c in text[1:]:
        if c == previous:
            n += 1
        else:
            runs.append(n)
            previous = c
            n = 1
    return runs, previous, n


def last_inner(text):
    last = 0
    for i, (a, b) in enumerate(zip(text[1:], text[2:-1]), 2):
        if a == b:
            last = i
    return last


def rolling(data):
    value = 0
    for b in data[1:]:
        value = (value * 3 + b) % 1000
    return value
""".lstrip("\n")

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "same": [(TEXT, TEXT[::-1]), ("abc", "ab"), *((odd, TEXT) for odd in ODD)],
    "runs": [("aabbbbcdd",), *((odd,) for odd in ODD)],
    "scan": [(TEXT,), ("a1 22_ 3x",), *((odd,) for odd in ODD)],
    "vigenere": [(TEXT, "lemon"), (TEXT, ""), ("1 2", ""), *((odd, "key") for odd in ODD)],
    "caesar": [(TEXT, 3), (TEXT, -1000), (TEXT, 2**70), *((odd, 5) for odd in ODD)],
    "vowels": [(TEXT, "x"), (TEXT, ""), (TEXT, "xy"), (TEXT, 1), *((odd, "1") for odd in ODD)],
    "digits": [("31415926",), ("12x4",), ("\u0663",), *((odd,) for odd in ODD)],
    "checksum": [(TEXT.encode(),), (b"",), (TEXT.encode(), 2**70), (bytearray(b"a\xff"),), ([1],)],
    "align": [("GATTACA", "GCATGCG"), ("", "A"), ("", ""), ("\u00e9a", "a\u00e9")],
    "levenshtein": [("kitten", "sitting"), ("", ""), ("ab", ""), *((o, "abc") for o in ODD)],
    "common_subsequence": [("GATTACA", "GCATGCG"), ("", "a"), *((o, "abc") for o in ODD)],
    "warp": [([1.0, 2.5, 4.0], [1.5, 3.0]), ([], [1.0]), ([1.0], []), ([1], [2.0]), ([1.0], [2])],
    "run_lengths": [("aabbbcdd",), *((odd,) for odd in ODD)],
    "last_inner": [("aabbbcddd",), *((odd,) for odd in ODD)],
    "rolling": [(b"aabbbcdd",), (b"",), (b"x",), (bytearray(b"xyz"),), ([1, 2],)],
    "shifted": [(TEXT,), *((odd,) for odd in ODD)],
    "balanced": [("(a[b]{c})",), ("())(",), *((odd,) for odd in ODD)],
}
"""The first call of each is the one that is observed."""
