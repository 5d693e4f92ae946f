"""Text of whole runs: what no run repeats is left out, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpuadvise.verify.clocks import CLOCKS
from gpuadvise.verify.output import Mask, comparable_errors, difference, mask_between

CASES = {
    # (two runs of the original), rewrites that are right, rewrites that are wrong
    "a time and a result in one line": (
        ("took 1.31 sum 42\n", "took 9.80 sum 42\n"),
        ["took 0.0 sum 42\n", "took 11 sum 42\n"],
        ["took 1.31 sum 43\n", "took 1.31 sum\n", "took nan sum 42\n", "sum 42 took 1.31\n"],
    ),
    "another unit": (
        ("took 950 us: 42\n", "took 7.1 ms: 42\n"),
        ["took 2 s: 42\n"],
        ["took 950 us: 43\n", "took 950 us: 42 43\n", "950 us: 42\n"],
    ),
    "minutes and seconds": (
        ("59.9 s for 42\n", "1 min 0.3 s for 42\n"),
        ["3 h 2 min 1 s for 42\n", "1.0 s for 42\n"],
        ["59.9 s for 41\n"],
    ),
    "an address": (
        ("<Model at 0x7f31a0> 3.5\n", "<Model at 0x7fee12> 3.5\n"),
        ["<Model at 0x55aa00> 3.5\n"],
        ["<Model at 0x7f31a0> 3.6\n", "<Grid at 0x7f31a0> 3.5\n"],
    ),
    "a set of text": (
        ("{'b', 'a'} 3\n", "{'a', 'b'} 3\n"),
        ["{'a', 'b'} 3\n", "{'b', 'a'} 3\n"],
        ["{'a', 'c'} 3\n", "{'a', 'b'} 4\n", "{'a'} 3\n"],
    ),
    "lines in any order": (
        ("a 1\nb 2\nend\n", "b 2\na 1\nend\n"),
        ["a 1\nb 2\nend\n", "b 2\na 1\nend\n"],
        ["a 1\nb 3\nend\n", "a 1\na 1\nend\n", "a 1\nend\n"],
    ),
    "a temporary name": (
        ("wrote /tmp/tmpab12/out.csv: 5 rows\n", "wrote /tmp/tmpxz_9/out.csv: 5 rows\n"),
        ["wrote /tmp/tmpqq77/out.csv: 5 rows\n"],
        ["wrote /tmp/tmpab12/out.csv: 6 rows\n", "wrote /tmp/tmpab12/out.txt: 5 rows\n"],
    ),
    "progress, as often as time allows": (
        ("start\nstep 10\nstep 20\nsum 42\n", "start\nstep 15\nsum 42\n"),
        ["start\nsum 42\n", "start\nstep 1\nstep 2\nstep 3\nsum 42\n"],
        ["start\nstep 10\nsum 41\n", "step 10\nsum 42\n", "start\nstep 10\nstep 20\n"],
    ),
    "a progress bar": (
        ("\r 50% 1.2 s\r100% 2.4 s\nsum 42\n", "\r 50% 7 s\r 75% 8 s\r100% 9 s\nsum 42\n"),
        ["\r100% 0.1 s\nsum 42\n"],
        ["\r 50% 1.2 s\r100% 2.4 s\nsum 43\n"],
    ),
    "a process id": (
        ("[4711] done: 42\n", "[4718] done: 42\n"),
        ["[9] done: 42\n"],
        ["[4711] done: 43\n", "[inf] done: 42\n"],
    ),
    "a date": (
        ("2026-11-20 10:00:00 INFO sum=42\n", "2026-12-30 11:12:01 INFO sum=42\n"),
        ["2026-12-31 03:04:05 INFO sum=42\n"],
        ["2026-11-20 10:00:00 INFO sum=43\n", "2026-11-20 10:00:00 WARN sum=42\n"],
    ),
    "two gaps": (
        ("a\n. 1\nb 7\n. 2\n. 3\nc\n", "a\nb 7\n. 2\nc\n"),
        ["a\n. 1\n. 4\nb 7\n. 2\nc\n", "a\nb 7\n. 2\nc\n"],
        ["a\n. 1\nb 8\n. 2\nc\n", "a\n. 1\nc\n", "a\nb 7\n. 2\n", "a\nx\nb 7\n. 2\nc\n"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_compared_beside_what_no_run_repeats(name):
    (one, other), right, wrong = CASES[name]
    mask = mask_between(one.encode(), other.encode())
    assert mask and not mask.whole
    for text in (one, other, *right):
        assert difference(one.encode(), text.encode(), mask, "out") is None, text
    for text in wrong:
        assert difference(one.encode(), text.encode(), mask, "out") is not None, text


def test_without_a_mask_everything_counts():
    none = mask_between(b"x 1\n", b"x 1\n")
    assert not none
    for other in (b"x 2\n", b"x  1\n", b"x 1\r\n", b"x 1", b"x 1\nx 1\n", b""):
        assert difference(b"x 1\n", other, none, "out") is not None


def test_nothing_in_common():
    assert mask_between(b"x\n", b"y\n").whole
    assert mask_between(b"7.1\n", b"8\n").whole
    assert "was not compared" in mask_between(b"x\n", b"y\n").words("standard output")


def test_words():
    mask = mask_between(b"a 1 2\nb\n", b"a 1 3\nb\n")
    assert difference(b"a 1 2\nb\n", b"a 7 2\nb\n", mask, "out") == (
        "out, line 1: 7 where the original has 1"
    )
    assert difference(b"a 1 2\nb\n", b"a 1 2\nb\nc\n", mask, "out") == (
        "out has 3 lines where the original's has 2"
    )
    assert "(1 line) left out" in mask.words("out")


def test_long_texts_are_aligned_in_time():
    lines = [b"%d: value %d\n" % (k, k * k) for k in range(20_000)]
    other = [*lines[:100], b"busy\n", *lines[100:]]
    mask = mask_between(b"".join(lines), b"".join(other))
    assert mask and not mask.whole


@pytest.mark.parametrize(
    ("mine", "other", "close"),
    [
        ("x = 0.30000000000000004\n", "x = 0.3\n", True),
        ("x = 1.2345678901e-5\n", "x = 1.2345678902e-5\n", True),
        ("x = 0.31\n", "x = 0.32\n", False),
        ("x = 1.0000001\n", "x = 1.0000002\n", False),
        ("n = 10000000000000\n", "n = 10000000000001\n", False),
        ("x = 0.3\n", "y = 0.3\n", False),
        ("x = 0.3\n", "x = nan\n", False),
        ("x = 0.3\n", "x  = 0.3\n", True),
        ("x = 0.3 y\n", "x = 0.3\n", False),
    ],
)
def test_rounding(mine, other, close):
    nothing = Mask()
    assert difference(mine.encode(), other.encode(), nothing, "out") is not None
    loose = difference(mine.encode(), other.encode(), nothing, "out", 1e-12)
    assert (loose is None) is close, loose


def test_line_numbers_in_warnings_do_not_count():
    one = b"/p/a.py:10: RuntimeWarning: overflow\n  x = a * b\n"
    other = b"/p/a.py:34: RuntimeWarning: overflow\n  np.multiply(a, b)\n"
    assert comparable_errors(one) == comparable_errors(other)
    assert comparable_errors(one) != comparable_errors(b"")


PROGRAM = """
import datetime, time, pickle
from datetime import date
start = time.perf_counter()
time.sleep(0.05)
print(isinstance(datetime.datetime(2020, 1, 1), datetime.datetime), type(date(2020, 1, 1)))
print(datetime.datetime(2020, 1, 1) + datetime.timedelta(1), date.fromisoformat("2020-01-01"))
print("%.0f" % (100 * (time.perf_counter() - start)))
print(time.strftime("%d"), time.localtime()[2], time.ctime()[8:10], time.asctime()[8:10])
print(datetime.datetime.now().day, datetime.datetime.utcnow().day, datetime.datetime.today().day)
print(date.today().day, time.strftime("%d", time.gmtime()))
"""


def test_other_clocks(tmp_path):
    """Every way to ask for the time shows another one, and nothing else changes."""
    (tmp_path / "sitecustomize.py").write_text(CLOCKS)
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    runs = [
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        for env in ({}, {"PYTHONPATH": str(tmp_path)})
    ]
    plain, other = (run.splitlines() for run in runs)
    assert plain[:2] == other[:2]
    for mine, theirs in zip(plain[2:], other[2:], strict=True):
        assert all(a != b for a, b in zip(mine.split(), theirs.split(), strict=True))
