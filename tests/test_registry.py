"""Rule files that keep the contract, and those that break it in each possible way."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import needed
from rich.console import Console

import gpuadvise.rules
from gpuadvise.api import Ignores, Rewrites, Spots
from gpuadvise.errors import UsageProblem
from gpuadvise.registry import (
    Rule,
    RuleError,
    explain,
    find,
    load,
    names,
    page,
    read_rule,
    rules,
    table,
)

GOOD = '''"""Replace ``x += 1`` loops.

Why it is slow: every iteration
    runs bytecode.
Why it may differ: it does not.
"""

from gpuadvise.api import Edit, Ignores, Match, Rewrites, rule

CASES = (
    Rewrites("def f(n):\\n    t = 0\\n    for i in range(n):\\n        t += 1\\n    return t\\n",
             inputs="args = (3,)", function="f"),
    Ignores("for i in range(3):\\n    print(i)\\n", because="it prints"),
)


@rule(needs=("numpy",), cases=CASES)
def count(region):
    source = region.source
    if "print" in source.text(region.loop):
        return None
    start, end = source.span(region.loop)
    return Match((Edit(start, end, "t += max(0, n)"),), why="slow", change="one addition")
'''


IGNORES = """    Ignores("for i in range(3):\\n    print(i)\\n", because="it prints"),
"""
SECOND = "def first(region):\n    return None\n\n\n@rule(cases=CASES)\ndef count"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "sample_rules"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("sample_rules")]:
        del sys.modules[name]


def loaded(folder: Path) -> tuple[Rule, ...]:
    importlib.invalidate_caches()
    return load(importlib.import_module(folder.name))


def shown(renderable: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_everything_comes_from_the_file(package: Path) -> None:
    (package / "py900_count_loops.py").write_text(GOOD)
    (package / "_shared.py").write_text("raise RuntimeError('helpers are not rules')\n")
    (rule,) = loaded(package)
    assert (rule.code, rule.name) == ("PY900", "count-loops")
    assert rule.summary == "Replace ``x += 1`` loops."
    assert rule.why_slow == "every iteration runs bytecode."
    assert rule.why_differ == "it does not."
    assert rule.needs == {"numpy"}
    assert rule.function.__name__ == "count"
    assert rule.path == package / "py900_count_loops.py"
    assert len(rule.rewrites) == len(rule.ignores) == 1


def test_rules_come_by_code(package: Path) -> None:
    (package / "py900_b.py").write_text(GOOD)
    (package / "np100_z.py").write_text(GOOD)
    assert [rule.code for rule in loaded(package)] == ["NP100", "PY900"]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("np1_x.py", "", "", r"np1_x\.py:1: a rule file is called like"),
        ("NP900_x.py", "", "", r"NP900_x\.py:1: a rule file is called like"),
        ("py900_x.py", "@rule(", "lambda f: rule(", r"py900_x\.py:1: 0 functions with @rule"),
        ("py900_x.py", "def count", SECOND, r"py900_x\.py:22: 2 functions with @rule"),
        ("py900_x.py", "cases=CASES", "cases=CASES[:1] + CASES[1:]",
         r"py900_x\.py:10: @rule\(cases=CASES\)"),
        ("py900_x.py", IGNORES, "", r"py900_x\.py:10: 1 to find but only 0 Ignores"),
        ("py900_x.py", "CASES = (", "CASES = () and (", r"py900_x\.py:10: CASES has no Rewrites"),
        ("py900_x.py", "CASES = (", "CASES = (3,", r"py900_x\.py:10: CASES holds something"),
        ("py900_x.py", "Why it is slow:", "It is slow:", r"py900_x\.py:1: the docstring has"),
        ("py900_x.py", "Why it may differ:", "Differs:", r"py900_x\.py:1: the docstring has"),
        ("py900_x.py", "loops.\n\nWhy", "loops.\nWhy", r"py900_x\.py:1: the docstring has"),
    ],
)  # fmt: skip
def test_broken_rules_are_named_with_file_and_line(
    package: Path, name: str, old: str, new: str, words: str
) -> None:
    assert old in GOOD
    (package / name).write_text(GOOD.replace(old, new, 1) if old else GOOD)
    with pytest.raises(RuleError, match=words):
        loaded(package)


def test_codes_are_unique(package: Path) -> None:
    (package / "py900_a.py").write_text(GOOD)
    (package / "py900_b.py").write_text(GOOD)
    with pytest.raises(RuleError, match=r"py900_b\.py:1: PY900 is also py900_a\.py"):
        loaded(package)


def test_an_imported_rule_function_is_not_this_files_rule(package: Path) -> None:
    (package / "py900_a.py").write_text(GOOD)
    (package / "py901_b.py").write_text(
        GOOD + "\n\nfrom sample_rules.py900_a import count as other\n"
    )
    assert [rule.code for rule in loaded(package)] == ["PY900", "PY901"]


def test_the_page_shows_before_after_and_what_is_left_alone(package: Path) -> None:
    (package / "py900_count_loops.py").write_text(GOOD)
    (rule,) = loaded(package)
    text = shown(page(rule))
    assert "PY900 count-loops (needs numpy)" in text
    assert "Replace x += 1 loops." in text
    assert "Why it is slow: every iteration runs bytecode." in text
    before, after = text.split("into:")
    assert "for i in range(n):" in before
    assert "t += max(0, n)" in after and "because: it prints" in after
    assert "print(i)" in after
    assert not [line for line in text.splitlines() if len(line) > 80]


def test_the_table(package: Path) -> None:
    (package / "py900_count_loops.py").write_text(GOOD)
    text = shown(table(loaded(package)))
    assert "PY900" in text and "count-loops" in text and "numpy" in text


# ----------------------------------------------------------- the bundled rules
def test_every_bundled_file_is_a_rule() -> None:
    folder = Path(gpuadvise.rules.__file__ or "").parent
    files = [p.name for p in folder.glob("*.py") if not p.name.startswith("_")]
    assert sorted(rule.path.name for rule in rules()) == sorted(files)


def test_names_need_no_loading() -> None:
    assert names() == {rule.code: rule.name for rule in rules()}


def test_find_by_code_and_name() -> None:
    for rule in rules():
        assert find(rule.code.lower()) is rule
        assert find(rule.name) is rule
    with pytest.raises(UsageProblem, match="no rule is called 'XX000'; there are: "):
        explain("XX000")


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_every_bundled_rule_has_a_page(rule: Rule) -> None:
    text = shown(explain(rule.code))
    if not any(mark.args[0] for case in rule.cases for mark in needed(case.before)):
        assert ("into:" in text) == bool(rule.rewrites or rule.spots[0].after)
    for case in rule.cases:
        if isinstance(case, Ignores):
            assert case.because.split()[0] in text
        else:
            assert isinstance(case, Rewrites | Spots)


def test_read_rule_takes_a_module(package: Path) -> None:
    (package / "py900_a.py").write_text(GOOD)
    importlib.invalidate_caches()
    assert read_rule(importlib.import_module("sample_rules.py900_a")).code == "PY900"


def test_without_docstrings() -> None:
    """``PYTHONOPTIMIZE=2``: the program may need it, and the rules are told by their files."""
    code = "from gpuadvise.registry import rules; print(len(rules()), rules()[0].summary)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.split(" ", 1)[0] == str(len(rules())), done.stderr
    assert done.stdout.split(" ", 1)[1].strip() == rules()[0].summary
