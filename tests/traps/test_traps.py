"""Programs on which the obvious rewrite is wrong: after ``--apply`` they must say the same."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_"))
ALWAYS = frozenset({"inplace_stencil", "uint8_wraps", "loop_variable_after"})
"""Run also where slow tests are left out: one carried dependence, one type, one live-out."""

_spec = importlib.util.spec_from_file_location("corpus", ROOT / "benchmarks" / "corpus.py")
assert _spec is not None and _spec.loader is not None
corpus = importlib.util.module_from_spec(_spec)
sys.modules["corpus"] = corpus
_spec.loader.exec_module(corpus)


def marked(name: str) -> object:
    return name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [marked(name) for name in PROGRAMS])
def test_trap(name: str) -> None:
    result = corpus.try_program(HERE / f"{name}.py")
    assert not result.trouble, result.trouble


def test_the_folder_is_not_empty() -> None:
    assert len(PROGRAMS) >= 30
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
