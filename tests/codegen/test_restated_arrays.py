"""Windows, records and lists that every iteration appends to, as array statements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import assert_same, chain_for, first_match, run, tolerance_for

from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

XS = "[1.5, -2.0, 0.25, 4.0, 4.0, -0.0, 7.5, 3.25, 0.5, 2.0] * 20"
ODD = (
    "[]",
    "[1.5]",
    "[1.5, 2.5, -0.5]",
    "[3, 1, 2, 5, 4, 9, 8]",
    "[1.5, float('nan'), 2.0, 3.0, 1.0, 0.5]",
    "[float('nan'), 1.5, float('inf'), 3.0, 1.0, 0.5]",
    "[0.0, -0.0, 0.0, -0.0, 0.0]",
    "[1.5, 2, 0.5, True, 4.0, 6.0]",
    "(1.5, 2.0, 0.5, 4.0, 6.0)",
    "[1e200, 1.5, -1e200, 2.0, 3.5]",
    "[1.5, 'a', 2.0, 3.0, 1.0]",
    "None",
)
HEAD = "import math\n\n\n"


@dataclass(frozen=True)
class Case:
    """A function of a list, and more arguments of it."""

    text: str
    more: str = ""
    """Behind the list: ``", 3"``."""
    others: Sequence[str] = ()
    seen: str = f"({XS}"
    contains: Sequence[str] = ()
    sums_floats: bool = False

    @property
    def calls(self) -> list[str]:
        """All arguments that the original and the rewrite are called with."""
        lists = [f"({odd}{self.more},)" for odd in ODD] if self.seen == f"({XS}" else []
        return [f"{self.seen}{self.more},)", *lists, *self.others]


CASES = {
    "rolling": Case(
        HEAD
        + """\
def rolling(series, window):
    means, spreads, highs = [], [], []
    for i in range(window, len(series) + 1):
        chunk = series[i - window : i]  # the last ones
        mean = sum(chunk) / window
        spread = 0.0
        for x in chunk:
            spread += (x - mean) ** 2
        means.append(mean)
        spreads.append(math.sqrt(spread / (window - 1)))
        highs.append(max(chunk))
    return means, spreads, highs
""",
        more=", 4",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 2, 40, 10**4, -3, 2.0, True)),
        contains=("means.extend(means_new.tolist())", "and window >= 2", "# the last ones"),
        sums_floats=True,
    ),
    "lowest": Case(
        """\
def lowest(xs, n):
    found = []
    for i in range(len(xs) - n):
        found.append(min(xs[i : i + n]))
    return found
""",
        more=", 3",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 500, -2)),
        contains=("and n > 0",),
    ),
    "nearest": Case(
        """\
def nearest(xs, ys):
    found = []
    for x in xs:
        best = 1e9
        for y in ys:
            gap = abs(x - y)
            if gap < best:
                best = gap
        found.append(best)
    return found
""",
        more=f", {XS}",
        others=(f"({XS}, [])", f"({XS}, [float('nan')])", f"({XS}, [1])"),
        contains=("best[...] = np.where(gap < best, gap, best)", "        for x in xs:"),
    ),
    "turned": Case(
        HEAD
        + """\
def turned(xs):
    found = []
    for x in xs:
        found.append(math.degrees(x) + math.radians(x))
    return found
""",
        contains=("np.degrees(xs_array) + np.radians(xs_array)",),
    ),
    "larger": Case(
        """\
def larger(xs, ys):
    found = []
    counts = []
    for x, y in zip(xs, ys):
        n = 0
        if x > y:
            n += 2
        found.append(x > y)
        counts.append(n)
    return found, counts
""",
        more=", [1.0, 2.0, 3.0, 4.0] * 50",
        others=("([1.0] * 80, [])", "([1.0] * 80, None)"),
        contains=("np.empty(min(len(xs), len(ys)), dtype=bool)",),
    ),
    "either": Case(
        """\
def either(xs):
    signs, sizes = [], []
    for x in xs:
        if x > 0.5:
            signs.append(1)
            sizes.append(x)
        elif x > 0.0:
            sizes.append(x + x)
            signs.append(2)
        else:
            signs.append(-1)
            sizes.append(-x)
    return signs, sizes
""",
        contains=("signs_new = np.empty(len(xs), dtype=int)", "sizes.extend(sizes_new.tolist())"),
    ),
    "trailing": Case(
        HEAD
        + """\
def trailing(series, window):
    result = []
    for i in range(len(series)):
        if i < window - 1:
            result.append(None)
            continue  # too few yet
        # the last ones
        chunk = series[i - window + 1:i + 1]
        mean = sum(chunk) / window
        result.append(math.sqrt(sum((x - mean) ** 2 for x in chunk) / window))
    return result
""",
        more=", 4",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 2, 40, 10**4, -3, 2.0, True)),
        contains=("for i in range(0, window - 1):", "# the last ones\n"),
        sums_floats=True,
    ),
    "averages": Case(
        """\
def averages(xs, n):
    found = []
    for i in range(len(xs)):
        if i < n - 1:
            found.append(None)  # not enough yet
        else:
            found.append(sum(xs[i - n + 1 : i + 1]) / n)
    return found, i
""",
        more=", 4",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 500, -3, 2.0)),
        contains=("for i in range(0, n - 1):", "n - 1 <= len(xs)"),
        sums_floats=True,
    ),
    "later": Case(
        """\
def later(xs, n):
    found = []
    before = 0.5
    for i in range(2, len(xs)):
        if i > n:
            found.append(xs[i] - before)
        else:
            before = xs[i]
            found.append(-1.0)
    return found, before
""",
        more=", 6",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 2, 500, -3)),
        contains=("for i in range(2, n + 1):", "for i in range(n + 1, len(xs)):"),
    ),
    "spread": Case(
        """\
def spread(xs, n):
    found = []
    for i in range(len(xs) - n):
        found.append(max(xs[i : i + n]) - min(xs[i : i + n]))
    return found
""",
        seen="([k * 7919 % 101 - 50 for k in range(300)]",
        more=", 4",
        others=("([2**70] * 9, 4)", "([-(2**62), 2**62] * 9, 4)", "([1.5] * 9, 4)", "([], 4)"),
        contains=("max(xs) <= ",),
    ),
    "extended": Case(
        """\
def extended(xs, step, found):
    for i in range(step, len(xs)):
        found.append(xs[i] - xs[i - step])
    return found
""",
        more=", 2, ['a']",
        others=(f"({XS}, 2, (1,))", f"({XS}, -1, [])", f"({XS}, 300, [])"),
        contains=("type(found) is", "found is not xs"),
    ),
    "potentials": Case(
        HEAD
        + """\
class Charge:
    def __init__(self, x, q):
        self.x = x
        self.q = q


def potentials(charges, cut):
    found = []
    for a in charges:
        total = 0.0
        for b in charges:
            gap = abs(a.x - b.x)
            if gap > cut:
                total += b.q * gap
        found.append(total)
    return found
""",
        seen="([Charge(0.5 * k, 1.0 + k) for k in range(80)], 0.75",
        others=("([], 0.75)", "([Charge(1, 2.0), Charge(3, 4.0)], 0.75)", "([None], 0.75)"),
        contains=("found.extend(found_new.tolist())",),
    ),
}


def answer(name: str, case: Case, folder: Path) -> tuple[str, Match] | Refusal:
    """The new text with its match; the first refusal where there is none."""
    path = folder / "case.py"
    path.write_text(case.text, encoding="utf-8")
    chain = chain_for(case.text, name, path=path, inputs=f"args = {case.calls[0]}")
    found = first_match(emit_restated_arrays, chain[:1])
    if len(found) == 2 and isinstance(found[1], Match):
        region, match = found
        data = apply_edits(region.source, match.edits)
        assert broken_step(region.source, data, match) is None
        return data.decode("utf-8"), match
    refusals = [one for one in found if isinstance(one, Refusal)]
    return refusals[0] if refusals else Refusal("nothing to restate")


@pytest.mark.parametrize("name", CASES)
def test_runs_as_the_original(name: str, tmp_path: Path) -> None:
    """Results, arguments, exceptions and warnings are those of the original."""
    case = CASES[name]
    found = answer(name, case, tmp_path)
    if case.sums_floats and sys.version_info >= (3, 12):
        assert isinstance(found, Refusal) and "compensates" in found.reason
        return
    assert not isinstance(found, Refusal), found
    after, match = found
    assert match.safe
    for wanted in case.contains:
        assert wanted in after, after
    exact = match.exactness is Exactness.BITS
    tolerance = 0.0 if exact else tolerance_for(match.reduction_length)
    for arguments in case.calls:
        one = run(case.text, name, inputs=f"args = {arguments}", folder=tmp_path)
        two = run(after, name, inputs=f"args = {arguments}", folder=tmp_path)
        assert_same(one, two, tolerance=tolerance)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("last = last + 0.5 * (x - last)\n        found.append(last)", "the one before"),
        ("if x > 1.0:\n            found.append(x)", None),
        ("found.append(x)\n        found.append(-x)", None),
        (
            "if x > 1.0:\n            found.append(x)\n"
            "        if x <= 1.0:\n            found.append(-x)",
            None,
        ),
        ("found.append(x + len(found))", None),
        ("found.append(x)\n        if x > 7.0:\n            break", None),
        ("found.append(x if x > 0.0 else 'none')", None),
        ("found.append((x, last))", None),
    ],
)
def test_refused(body: str, reason: str | None, tmp_path: Path) -> None:
    """Elements that hang on those before, and lists that do not grow by one number each time."""
    text = f"""\
def k(xs):
    found = []
    last = 0.0
    for x in xs:
        {body}
    return found
"""
    found = answer("k", Case(text), tmp_path)
    assert isinstance(found, Refusal)
    assert reason is None or reason in found.reason


@pytest.mark.parametrize(
    "appended", ["'yes' if ch == 'a' else ch", "ch.upper()", "chr(ord(ch) + 1)"]
)
def test_characters_do_not_become_their_numbers(appended: str, tmp_path: Path) -> None:
    text = f"""\
def k(text):
    found = []
    for ch in text:
        found.append({appended})
    return found
"""
    assert isinstance(answer("k", Case(text, seen="('cabbage' * 90"), tmp_path), Refusal)


def test_the_list_that_is_read(tmp_path: Path) -> None:
    """A list that grows while the loop reads it is left to the loop."""
    text = CASES["extended"].text
    found = answer("extended", CASES["extended"], tmp_path)
    assert not isinstance(found, Refusal)
    grown = "xs = [1.0, 2.0, 4.0, 8.0]\nargs = (xs, 1, xs)"
    before, after = (run(t, "extended", inputs=grown, folder=tmp_path) for t in (text, found[0]))
    assert_same(before, after)


def test_the_report_names_lines_of_the_users_file(tmp_path: Path) -> None:
    """The loop is restated in more lines than it has."""
    found = answer("spread", CASES["spread"], tmp_path)
    assert not isinstance(found, Refusal)
    assert "lines 3-4" in [condition.evidence for condition in found[1].ledger]


def test_refusals_name_no_line_of_a_text_that_the_user_has_not_seen(tmp_path: Path) -> None:
    text = """\
def means(wet, n):
    state = [0.3] * n
    history = []
    for amount in wet:
        new = []
        for i in range(n):
            new.append(min(0.5, max(0.05, state[i] + amount)))
        state = new
        history.append(sum(state) / len(state))
    return history
"""
    found = answer("means", Case(text, seen="([0.25, -0.5, 0.125] * 20, 8"), tmp_path)
    assert isinstance(found, Refusal) and found.line == 4, found
