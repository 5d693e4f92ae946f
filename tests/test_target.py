"""From command-line words to a target, without running anything of the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuadvise.errors import UsageProblem, UserError
from gpuadvise.failures import failed_run, missing_imports
from gpuadvise.model import Exited, Killed, RunResult, Target
from gpuadvise.target import check_file, read_sources, resolve

LOUD = "open('ran', 'w').close()\n"
"""A module that leaves a trace when it is run or imported."""


def test_script_keeps_its_name_and_its_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s.py").write_text(LOUD)
    (tmp_path / "link.py").symlink_to("real/s.py")
    monkeypatch.chdir(tmp_path)
    target = resolve(("link.py", "-x", "--"), None)
    assert target.script == tmp_path / "link.py"
    assert target.command == ("link.py", "-x", "--")


@pytest.mark.parametrize("module", ["pack", "pack.inner", "pack.inner.tool"])
def test_modules_are_found_without_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    inner = tmp_path / "pack" / "inner"
    inner.mkdir(parents=True)
    for path in (inner.parent, inner):
        (path / "__init__.py").write_text(LOUD)
        (path / "__main__.py").write_text(LOUD)
    (inner / "tool.py").write_text(LOUD)
    monkeypatch.chdir(tmp_path)
    target = resolve(("a",), module)
    expected = {"pack": "pack/__main__.py", "pack.inner": "pack/inner/__main__.py"}
    assert target.script == tmp_path / expected.get(module, "pack/inner/tool.py")
    assert target.command == ("-m", module, "a")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("files", "module", "words"),
    [
        ({}, "nope", "no module nope"),
        ({"p/__init__.py": ""}, "p", "without __main__"),
        ({"p/__init__.py": ""}, "p.q", "no module p.q"),
        ({}, "..", "no module"),
        ({}, "math", "not a Python file"),
    ],
)
def test_modules_that_cannot_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    module: str,
    words: str,
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match=words):
        resolve((), module)


def test_a_broken_neighbour_is_left_out_and_a_broken_script_is_not(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import good\nimport bad\n")
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = = 1\n")
    sources = read_sources(Target(tmp_path / "s.py"))
    assert {path.name for path in sources} == {"s.py", "good.py"}
    with pytest.raises(UserError, match=r"bad\.py:1: not valid Python"):
        resolve((str(tmp_path / "bad.py"),), None)


def test_why_a_run_failed(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import os, beside, nowhere_at_all.sub\nfrom . import x\n")
    (tmp_path / "beside.py").write_text("")
    target = Target(script)
    assert missing_imports(script) == ("nowhere_at_all",)

    def words(end: Exited | Killed) -> str:
        return failed_run(target, RunResult(end, 1.0, 1.0, 0))

    assert "nowhere_at_all" in words(Exited(1))
    assert "SIGKILL" in words(Killed(9))
    assert "signal 77" in words(Killed(77))


def test_what_is_no_file_to_read_again_and_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "circle.py").symlink_to("circle.py")
    named = ["pipe.py", "circle.py", "x" * 300 + ".py", "nul\0.py"]
    words = ["no regular file", "cannot be read", "cannot be read", "cannot be read"]
    for name, why in zip(named, words, strict=True):
        with pytest.raises(UsageProblem, match=why):
            check_file(tmp_path / name)


def test_a_name_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "-x.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    assert resolve(("-x.py", "-y"), None).command == ("./-x.py", "-y")


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "s.py").write_text(LOUD)
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageProblem, match="not there any more"):
        resolve(("../s.py",), None)
