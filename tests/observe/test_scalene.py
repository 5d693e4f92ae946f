"""The real scalene on real scripts."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from gpuadvise.model import RunResult, Target
from gpuadvise.observe import scalene as scalene_module
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.observe.scalene import ScaleneResult, profile


def target_of(
    folder: Path, text: str, *args: str, name: str = "script.py", module: str | None = None
) -> Target:
    script = folder / name
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(textwrap.dedent(text))
    return Target(script=script, args=args, module=module, cwd=folder, python=sys.executable)


def run(
    target: Target,
    *,
    limit: float | None = None,
    bare_wall: float | None = None,
    stdin: Path | None = None,
) -> ScaleneResult:
    with Sandbox(target) as box:
        result = profile(box, target, limit=limit, stdin=stdin, bare_wall=bare_wall)
        assert box.escapes == []
        return result


HOT_AND_COLD = """
import math, sys
from helper import outside

class Model:
    def hot(self, n):
        total = 0.0
        for i in range(n):
            if i < 3 & 7:
                continue
            total += math.sqrt(i) % 7
        return total

def cold(n):
    def inner(k):
        return sum(i * i for i in range(k))
    return inner(n)

print(len(sys.argv), sys.argv[1:])
Model().hot(3_000_000)
cold(400_000)
outside(1_200_000)
n = 0
for i in range(1_500_000):
    n += i & 3
"""

HELPER = """
def decorator(f):
    return f

@decorator
def outside(n):
    t = 0
    for i in range(n):
        t += i * i % 7
    return t
"""


def test_shares_by_function_and_line(tmp_path: Path) -> None:
    target = target_of(tmp_path, HOT_AND_COLD, "--cpu-only", "-o", "x.json", "other.py")
    (tmp_path / "helper.py").write_text(HELPER)
    result = run(target)
    by_name = {function.qualname: function for function in result.functions}
    assert result.functions[0].qualname == "Model.hot"
    assert set(by_name) >= {"Model.hot", "outside", "<module>"}
    assert by_name["Model.hot"].share > 0.3
    assert by_name["Model.hot"].file == target.script
    assert (by_name["Model.hot"].first_line, by_name["Model.hot"].last_line) == (6, 12)
    assert by_name["outside"].file == tmp_path / "helper.py"
    assert by_name["outside"].first_line == 5
    assert by_name["<module>"].share > 0.03
    assert 0.9 < sum(function.share for function in result.functions) < 1.05
    assert {line.line for line in result.lines if line.python_share > 0.05} <= set(range(6, 27))
    assert result.samples > 20 and result.elapsed > 0.3 and not result.partial
    assert {path.name for path in tmp_path.iterdir()} == {"script.py", "helper.py"}


def test_module_run(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "helper.py").write_text(HELPER)
    text = "import sys\nfrom .helper import outside\noutside(int(sys.argv[1]))\n"
    target = target_of(tmp_path, text, "4000000", name="pkg/__main__.py", module="pkg")
    result = run(target)
    assert result.functions[0].qualname == "outside", result
    assert result.functions[0].file == tmp_path / "pkg" / "helper.py"


def test_script_in_another_folder_than_the_working_directory(tmp_path: Path) -> None:
    target = target_of(tmp_path / "code", "n = 0\nfor i in range(8_000_000): n += i & 3\n")
    cwd = tmp_path / "data"
    cwd.mkdir()
    result = run(Target(script=target.script, cwd=cwd, python=target.python))
    assert [f.qualname for f in result.functions] == ["<module>"]


def test_neighbours_do_not_shadow_what_scalene_imports(tmp_path: Path) -> None:
    target = target_of(tmp_path / "code", "n = 0\nfor i in range(8_000_000): n += i & 3\n")
    cwd = tmp_path / "data"
    cwd.mkdir()
    (cwd / "rich.py").write_text("raise ImportError('the wrong one')")
    result = run(Target(script=target.script, cwd=cwd, python=target.python))
    assert result.functions, result.notes


def test_limit_gives_a_partial_profile(tmp_path: Path) -> None:
    target = target_of(
        tmp_path, "def spin():\n    n = 0\n    while True:\n        n += 1\nspin()\n"
    )
    result = run(target, limit=8.0)
    assert result.partial
    assert result.functions[0].qualname == "spin" and result.functions[0].share > 0.5


def test_script_that_resists_the_interrupt_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, float]] = []
    really = Sandbox.run

    def recorded(box: Sandbox, *args: Any, **given: Any) -> RunResult:
        asked.append((given["limit"], given["grace"]))
        return really(box, *args, **given)

    monkeypatch.setattr(Sandbox, "run", recorded)
    target = target_of(
        tmp_path,
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass\n",
    )
    result = run(target, limit=1.5)
    assert result.functions == () and result.notes
    assert asked[0][0] > 0.9 and sum(asked[0]) <= 1.5, "to write the profile is part of the limit"
    # In words; a traceback of scalene's own, if the signal met one, comes first.
    assert not any("limit=" in note for note in result.notes), result.notes


@pytest.mark.parametrize(
    "end", ["raise ValueError(1)", "import sys; sys.exit(3)", "import sys; sys.exit('text')"]
)
def test_ends_of_the_script_do_not_lose_the_profile(tmp_path: Path, end: str) -> None:
    target = target_of(tmp_path, f"n = 0\nfor i in range(8_000_000): n += i & 3\n{end}\n")
    assert run(target).functions[0].share > 0.5


def test_short_script_says_so(tmp_path: Path) -> None:
    result = run(target_of(tmp_path, "print(1)\n"), bare_wall=0.02)
    assert result.functions == () or result.samples < 60
    if not result.functions:
        assert "no samples" in result.notes[-1]


def test_short_script_is_sampled_more_often(tmp_path: Path) -> None:
    target = target_of(tmp_path, "n = 0\nfor i in range(2_000_000): n += i & 3\n")
    result = run(target, bare_wall=0.12)
    assert result.samples >= 40
    assert result.functions[0].qualname == "<module>"


def test_script_without_ending_beside_a_python_argument_is_left_out(tmp_path: Path) -> None:
    target = target_of(tmp_path, "open('ran', 'w')\n", "other.py", name="tool")
    (tmp_path / "other.py").write_text("raise SystemExit(9)\n")
    result = run(target)
    assert result.functions == () and "ends in .py" in result.notes[0]


def test_standard_input_reaches_the_script(tmp_path: Path) -> None:
    target = target_of(tmp_path, "n = 0\nfor i in range(int(input())): n += i & 3\n")
    record = tmp_path / "record"
    record.write_text("8000000\n")
    assert run(target, stdin=record).functions[0].share > 0.5


def test_missing_keys_escapes_and_libraries_are_read(tmp_path: Path) -> None:
    target = target_of(tmp_path, "def f():\n    pass\n\nx = 1\n", name="a&b.py")
    with Sandbox(target) as box:
        copy = str(box.path(target.script)).replace("&", "&amp;")
        library = "/usr/lib/python3/dist-packages/thing.py"
        data = {
            "files": {
                copy: {
                    "lines": [
                        {"lineno": 2, "n_cpu_percent_python": 30.0},
                        {"lineno": 4, "n_cpu_percent_c": 20.0, "n_sys_percent": float("nan")},
                        {"lineno": 1},
                    ]
                },
                library: {"lines": [{"lineno": 7, "n_cpu_percent_c": 50.0}]},
            },
            "elapsed_time_sec": 2.0,
        }
        result = scalene_module._read(box, json.loads(json.dumps(data)), 0.01, False, ())
    assert [(f.file, f.qualname, f.share) for f in result.functions] == [
        (target.script, "f", 0.3),
        (target.script, "<module>", 0.2),
    ]
    assert [line.line for line in result.lines] == [2, 4]
    assert [(str(f.file), f.share) for f in result.libraries] == [(library, 0.5)]
    assert result.samples == 200
