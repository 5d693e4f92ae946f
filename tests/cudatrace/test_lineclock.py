"""The line recorders: with ``sys.monitoring`` in the newest Python at hand, and trace functions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpuadvise.cudatrace

PACKAGE = Path(gpuadvise.cudatrace.__file__).parents[1]


def newest() -> str | None:
    """A Python that has ``sys.monitoring``: this one, or one on the search path."""
    names = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in (14, 13, 12))]
    for name in filter(None, names):
        probe = [name, "-c", "import sys; sys.monitoring"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return name
    return None


PYTHON = newest()


@pytest.fixture(params=["lineclock.LineClock", "linetrace.LineTrace"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both recorders give the same events."""
    if request.param == "lineclock.LineClock" and PYTHON is None:
        pytest.skip("no Python with sys.monitoring (3.12) here")
    monkeypatch.setattr(sys.modules[__name__], "KIND", request.param)


KIND = ""

RUN = """
import importlib, itertools, json, sys, types
package = types.ModuleType("clock"); package.__path__ = [{folder!r}]; sys.modules["clock"] = package
module = importlib.import_module("clock.lineclock")
made = importlib.import_module("clock." + {kind!r}.partition(".")[0])
module.LIMIT = {limit}
module._CHECK_EVERY = 1
ticks = itertools.count()
reasons = []
clock = getattr(made, {kind!r}.partition(".")[2])([{script!r}], lambda: next(ticks), reasons.append)
clock._room = {limit}
clock.start()
code = compile(open({script!r}).read(), {script!r}, "exec")
clock.watch(code)
try:
    exec(code, {{"__name__": "__main__"}})
except ZeroDivisionError:
    pass
clock.stop()
main = min(clock.lines)
def pairs(stream):
    return [(clock.codes[c].co_qualname, n) for c, n in zip(stream[1::3], stream[2::3])]
lines = [(line, name) for name, line in pairs(clock.lines[main])]
ranges = [pair for stream in clock.ranges.values() for pair in pairs(stream)]
print(json.dumps({{"lines": lines, "ranges": ranges, "threads": len(clock.lines),
    "reasons": reasons, "free": sys.gettrace() is None and (
        not hasattr(sys, "monitoring") or sys.monitoring.get_tool(4) is None)}}))
"""


def recorded(tmp_path: Path, text: str, limit: int = 10_000) -> dict[str, list[list[object]]]:
    script = tmp_path / "script.py"
    script.write_text(text)
    folder = str(PACKAGE / "cudatrace")
    program = RUN.format(folder=folder, script=str(script), limit=limit, kind=KIND)
    python = PYTHON if KIND == "lineclock.LineClock" else sys.executable
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, list[list[object]]] = json.loads(done.stdout)
    return found


def test_every_line_is_seen_in_order(tmp_path: Path) -> None:
    found = recorded(tmp_path, "a = 1\nfor i in range(2):\n    a += i\nb = a\n")
    assert [line for line, _ in found["lines"]] == [1, 2, 3, 2, 3, 2, 4]


def test_a_return_leads_back_into_the_callers_line(tmp_path: Path) -> None:
    """What line 4 does after ``f`` has returned is line 4's, not line 2's."""
    found = recorded(tmp_path, "def f():\n    return 1\n\nx = f() + abs(-3)\n")
    assert [line for line, _ in found["lines"]] == [1, 4, 2, 4]
    assert found["ranges"] == [["<module>", 1], ["f", 1], ["f", 0], ["<module>", 0]]


def test_an_exception_leads_back_too(tmp_path: Path) -> None:
    text = "def f():\n    return 1 / 0\ntry:\n    f()\nexcept ZeroDivisionError:\n    y = 2\n"
    lines = [line for line, _ in recorded(tmp_path, text)["lines"]]
    assert lines[:5] == [1, 3, 4, 2, 4]
    assert lines[-1] == 6


def test_a_generator_moves_between_both_places(tmp_path: Path) -> None:
    text = "def g():\n    yield 1\n    yield 2\nfor v in g():\n    z = v\n"
    lines = [line for line, _ in recorded(tmp_path, text)["lines"]]
    assert lines == [1, 4, 2, 4, 5, 4, 2, 3, 4, 5, 4, 3, 4]


def test_a_library_between_two_functions_is_passed_over(tmp_path: Path) -> None:
    """``sorted`` and ``functools`` call the key function: its return leads to the user's line."""
    text = (
        "import functools\ndef key(a, b):\n    return a - b\n"
        "sorted([3, 1], key=functools.cmp_to_key(key))\n"
    )
    lines = [line for line, _ in recorded(tmp_path, text)["lines"]]
    assert lines == [1, 2, 4, 3, 4]


def test_each_thread_has_its_own_lines(tmp_path: Path) -> None:
    text = (
        "import threading\ndef work():\n    return 5\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\n"
    )
    found = recorded(tmp_path, text)
    assert found["threads"] == 2
    assert 3 not in [line for line, _ in found["lines"]]


def test_recording_says_when_there_is_no_more_room(tmp_path: Path) -> None:
    found = recorded(tmp_path, "for i in range(200):\n    a = i\n", limit=50)
    assert found["reasons"] == ["50 line events were recorded"]


def test_functions_take_room_too(tmp_path: Path) -> None:
    """A ``lambda`` a turn: each is entered and left; here half as many fit as of lines."""
    text = "f = lambda: 0\nfor i in range(200): f()\n"
    (reason,) = recorded(tmp_path, text, limit=80)["reasons"]
    assert reason == "20 entries and exits of functions were recorded"


def test_a_thread_that_follows_another_has_its_own_lines(tmp_path: Path) -> None:
    """Python gives the number of a thread that has ended to the next one."""
    text = (
        "import threading\ndef work():\n    return threading.get_native_id()\n"
        "for i in range(5):\n"
        "    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n"
    )
    assert recorded(tmp_path, text)["threads"] == 6


def test_the_tool_id_is_given_back(tmp_path: Path) -> None:
    assert recorded(tmp_path, "a = 1\n")["free"] is True
