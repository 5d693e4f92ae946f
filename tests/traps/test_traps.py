"""Programs on which the obvious rewrite is wrong: after ``--apply`` they must say the same.

``expected.json`` names for each what the tool must have answered in its hot functions: the rule
whose rewrite is tried there, or words of the refusal. A trap that nothing came near shows nothing.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from gpuadvise.model import Report

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_"))
ALWAYS = frozenset({"inplace_stencil", "uint8_wraps", "loop_variable_after"})
"""Run also where slow tests are left out: one carried dependence, one type, one live-out."""
EXPECTED: dict[str, dict[str, str]] = json.loads((HERE / "expected.json").read_text())
RULE = re.compile(r"[A-Z]{2}\d{3}")
UNHURRIED = ("--budget", "240")
"""Ten times what the longest takes: on a busy machine, too, all must be tried."""

_spec = importlib.util.spec_from_file_location("corpus", ROOT / "benchmarks" / "corpus.py")
assert _spec is not None and _spec.loader is not None
corpus = importlib.util.module_from_spec(_spec)
sys.modules["corpus"] = corpus
_spec.loader.exec_module(corpus)


def marked(name: str) -> object:
    return name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow)


def answers(report: Report, function: str) -> tuple[set[str], list[str]]:
    """The rules that wrote a rewrite for a loop of the function, and the refusals there."""
    trials = [t for f in report.findings for t in (f.winner, *f.others) if t is not None]
    written = {
        trial.candidate.rule for trial in trials if trial.candidate.region.site.qualname == function
    }
    refused = [r.refusal.reason for r in report.refused if r.region.site.qualname == function]
    return written, refused


def unanswered(report: Report, name: str) -> dict[str, tuple[set[str], list[str]]]:
    """The functions in which something else was found than expected, with what it was.

    What was refused may be rewritten one day: then that is what the trap tries.
    """
    left = {}
    for function, wanted in EXPECTED[name].items():
        written, refused = answers(report, function)
        if RULE.fullmatch(wanted):
            found = wanted in written
        else:
            found = bool(written) or any(wanted in reason for reason in refused)
        if not found:
            left[function] = written, refused
    return left


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [marked(name) for name in PROGRAMS])
def test_trap(name: str) -> None:
    result = corpus.try_program(HERE / f"{name}.py", more=UNHURRIED)
    assert not result.trouble, result.trouble
    assert result.report is not None and not result.report.partial
    left = unanswered(result.report, name)
    unseen = [function for function, (written, refused) in left.items() if not (written or refused)]
    if unseen and len(unseen) == len(left):
        pytest.skip(f"nothing changed; {', '.join(unseen)} took too little of {result.bare:.2g} s")
    assert not left


def test_the_folder_is_not_empty() -> None:
    assert len(PROGRAMS) >= 30
    assert set(EXPECTED) == set(PROGRAMS) and all(EXPECTED.values())
    assert {"inplace_stencil", "uint8_wraps", "loop_variable_after"} <= set(PROGRAMS)


def test_a_changed_result_would_be_noticed(tmp_path: Path) -> None:
    """The comparison these tests rest on, on a program whose sum changes its order."""
    program = tmp_path / "sum.py"
    program.write_text("print(sum([0.1] * 10), repr(0.1 + 0.2 + 0.3))\n")
    first = corpus.plain_run(program, tmp_path / "a")
    program.write_text("print(sum([0.1] * 10), repr(0.1 + (0.2 + 0.3)))\n")
    second = corpus.plain_run(program, tmp_path / "b")
    assert "0.6" in corpus.difference(first, second)
    program.write_text("open('left.txt', 'w').close()\n")
    third = corpus.plain_run(program, tmp_path / "c")
    assert third.files == {"left.txt": b""}
    program.write_text("pass\n")
    assert "files" in corpus.difference(third, corpus.plain_run(program, tmp_path / "d"))
