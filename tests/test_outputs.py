"""Files to be written: nothing of the user's is lost, and what cannot be written is said."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.text import Text

from gpuadvise import journey
from gpuadvise.errors import UsageProblem
from gpuadvise.exits import NARROWEST, report_console
from gpuadvise.options import Options
from gpuadvise.outputs import check_outputs, write_json


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("s.py", "tool", "notes.txt"):
        (tmp_path / name).write_text("print(1)\n")
    (tmp_path / "other.py").symlink_to("s.py")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("s.py",), "s.py is a program, which would be overwritten"),
        ((None, "other.py"), "other.py is a program"),
        (("tool",), "tool is a program"),
        (("new.json", "new.json"), "new.json is named twice"),
        (("new.json", "./new.json"), "named twice"),
        ((".",), ". is a directory"),
        (("gone/r.json",), "there is no folder gone"),
        (("r" * 300,), "cannot be written"),
    ],
)
def test_refused_before_the_program_runs(
    folder: Path, files: tuple[str | None, ...], words: str
) -> None:
    with pytest.raises(UsageProblem, match=words):
        check_outputs((name and Path(name) for name in files), folder / "tool")
    assert (folder / "s.py").read_text() == "print(1)\n"


def test_what_may_be_written(folder: Path) -> None:
    check_outputs((Path("notes.txt"), Path("new.json"), None), folder / "tool")
    check_outputs((Path("new.py"), Path("/dev/null"), Path("/dev/null")), None)


def test_no_command_writes_over_its_script(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    monkeypatch.setattr(journey, "advise", lambda *args: ran.append(args))
    for option in ("json", "patch"):
        with pytest.raises(UsageProblem, match="would be overwritten"):
            journey.journey(
                ("s.py",), None, Options(), report_console(True), **{option: Path("s.py")}
            )
    assert not ran and (folder / "s.py").read_text() == "print(1)\n"


def test_a_file_that_cannot_be_written_in_the_end(folder: Path) -> None:
    with pytest.raises(UsageProblem, match="full cannot be written: No space"):
        write_json(Path("/dev/full"), {"a": 1})
    with pytest.raises(UsageProblem, match="cannot be written: Is a directory"):
        write_json(folder, {})


@pytest.mark.parametrize("columns", ["0", "5"])
def test_a_report_has_room(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    console = report_console(True)
    assert console.width == NARROWEST
    console.file = io.StringIO()
    console.print(Text("nothing to gain"))
    assert console.file.getvalue() == "nothing to gain\n"


@pytest.mark.parametrize("name", ["budget", "time_limit", "min_speedup"])
def test_no_time_is_infinite(name: str) -> None:
    with pytest.raises(UsageProblem, match=f"--{name.replace('_', '-')} takes a number"):
        Options(**{name: float("inf")})
