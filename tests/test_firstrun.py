"""Compiled code beside the user's files: put there, found by numba, taken back."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.firstrun import from_record, keep, take_back, to_record
from gpuadvise.model import Source
from gpuadvise.observe.numbacache import CompiledFunction, LastRuns, read
from gpuadvise.undo import apply, journals, keep_compiled, undo

TEXT = b"def step(x):\n    return x\n"
INDEX, DATA = "s.step-1.py311.nbi", "s.step-1.py311.1.nbc"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(tmp_path / "state"))
    file = tmp_path / "project" / "s.py"
    file.parent.mkdir()
    file.write_bytes(TEXT)
    return file


def source(script: Path) -> dict[Path, Source]:
    return {script: Source(script, TEXT)}


def compiled(script: Path, data: bytes = b"code") -> CompiledFunction:
    """As recent numba keeps it: the index knows the text by its SHA-256."""
    index = b"version" + hashlib.sha256(script.read_bytes()).digest()
    files = {INDEX: index, DATA: data}
    return CompiledFunction(script, INDEX, files, (1.5e9, 26), Path("/scratch/run/s.py"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -------------------------------------------------------------------- reading
def lay(folder: Path, *names: str) -> None:
    (folder / "__pycache__").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / "__pycache__" / name).write_bytes(name.encode())


def test_an_index_comes_with_its_own_files(tmp_path: Path) -> None:
    place = tmp_path / "s.py"
    place.write_bytes(TEXT)
    more = "s.step-1.py311.12.nbc"
    other = ("s.step-1.py312.nbi", "sum.step-1.py311.nbi", "s.cpython-311.pyc")
    lay(tmp_path, INDEX, DATA, more, *other, "s.step-10.py311.1.nbc")
    first, second = read(Path("/home/s.py"), place)
    assert (first.index, set(first.files)) == (INDEX, {INDEX, DATA, more})
    assert (second.index, set(second.files)) == ("s.step-1.py312.nbi", {"s.step-1.py312.nbi"})
    assert first.function == "step" and first.stamp == (place.stat().st_mtime, len(TEXT))


@pytest.mark.parametrize("index", ["s.step-1.py311.nbi", "s.make.locals.step-4.py313t.nbi"])
def test_the_name_of_a_function(index: str) -> None:
    assert CompiledFunction(Path("s.py"), index, {}, (0.0, 0), Path("s.py")).function == "step"


def test_nothing_is_kept_where_numba_keeps_it_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_bytes(TEXT)
    assert read(Path("/home/s.py"), tmp_path / "s.py") == ()
    assert read(Path("/home/gone.py"), tmp_path / "gone.py") == ()


def test_each_text_has_the_code_of_its_own_last_run(tmp_path: Path) -> None:
    place, runs, user = tmp_path / "s.py", LastRuns(), Path("/home/s.py")
    for text, name in ((b"1", "s.a-1.py311.nbi"), (b"2", "s.b-1.py311.nbi")):
        place.write_bytes(text)
        lay(tmp_path, name)
        runs.note({user: text}, lambda path: place)
        (tmp_path / "__pycache__" / name).unlink()
    runs.note({}, lambda path: place)
    assert [f.index for f in runs.of({user: b"1"})] == ["s.a-1.py311.nbi"]
    assert [f.index for f in runs.of({user: b"2"})] == ["s.b-1.py311.nbi"]
    assert runs.of({user: b"3"}) == () == runs.of({})


# -------------------------------------------------------------- there and back
def test_what_was_there_comes_back(script: Path) -> None:
    folder = script.parent / "__pycache__"
    lay(script.parent, INDEX, DATA, "s.other-9.py311.nbi")
    before = contents(folder)
    kept = keep([compiled(script)], source(script), sys.executable)
    assert contents(folder) == {**before, **compiled(script).files}
    take_back([from_record(to_record(k)) for k in kept])
    assert contents(folder) == before


def test_a_folder_made_for_it_goes_with_it(script: Path) -> None:
    kept = keep([compiled(script)], source(script), sys.executable)
    assert set(contents(script.parent / "__pycache__")) == {INDEX, DATA}
    take_back(kept)
    assert list(script.parent.iterdir()) == [script]


def test_a_folder_with_something_else_in_it_stays(script: Path) -> None:
    kept = keep([compiled(script)], source(script), sys.executable)
    lay(script.parent, "s.cpython-311.pyc")
    take_back(kept)
    assert set(contents(script.parent / "__pycache__")) == {"s.cpython-311.pyc"}


def test_a_function_compiled_for_more_types_since_is_left_whole(script: Path) -> None:
    """Its index names the files: to restore some of them would give it wrong code."""
    lay(script.parent, INDEX, DATA)
    kept = keep([compiled(script)], source(script), sys.executable)
    (script.parent / "__pycache__" / INDEX).write_bytes(b"two types")
    now = contents(script.parent / "__pycache__")
    take_back(kept)
    assert contents(script.parent / "__pycache__") == now


def test_what_cannot_be_written_is_left_as_it_was(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(script.parent, INDEX, DATA)
    before = contents(script.parent / "__pycache__")
    real = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == INDEX and b"version" in self.read_bytes():
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    assert keep([compiled(script)], source(script), sys.executable) == ()
    assert contents(script.parent / "__pycache__") == before


def test_no_folder_can_be_made(script: Path) -> None:
    (script.parent / "__pycache__").write_text("a file")
    assert keep([compiled(script)], source(script), sys.executable) == ()
    assert (script.parent / "__pycache__").read_text() == "a file"


def test_the_users_own_functions_may_not_name_the_scratch_copy(script: Path) -> None:
    """Their exceptions are seen, with the file they were compiled from."""
    naming = compiled(script, b"ELF /scratch/run/s.py ELF")
    assert keep([naming], source(script), sys.executable) == ()
    made_by_the_rewrite = {script: Source(script, b"def other():\n    pass\n")}
    assert len(keep([naming], made_by_the_rewrite, sys.executable)) == 1


def test_undo_takes_compiled_code_along(script: Path) -> None:
    read_before = source(script)
    journal = apply({script: b"new = 1\n"}, read_before)
    kept = keep_compiled(journal, [compiled(script)], read_before, sys.executable)
    assert journals() == (kept,) and kept.compiled[0].index == INDEX
    undo(script.parent)
    assert [path.name for path in script.parent.iterdir()] == ["s.py"]


# ------------------------------------------------------------------ numba's own
def test_an_index_that_goes_by_the_time_is_written_anew(script: Path) -> None:
    """Older releases of numba know a text by its time and size, which the scratch copy sets."""
    caching = pytest.importorskip("numba.core.caching")
    scratch, base = script.parent / "scratch", INDEX.removesuffix(".nbi")
    scratch.mkdir()
    old = (1_400_000_000.0, len(TEXT))
    caching.IndexDataCacheFile(str(scratch), base, old).save("key", "code")
    files = {path.name: path.read_bytes() for path in scratch.iterdir()}
    function = CompiledFunction(script, INDEX, files, old, Path("/scratch/run/s.py"))

    assert len(keep([function], source(script), sys.executable)) == 1
    known = script.stat()
    folder = os.fspath(script.parent / "__pycache__")
    now = (known.st_mtime, known.st_size)
    assert caching.IndexDataCacheFile(folder, base, now).load("key") == "code"
    assert caching.IndexDataCacheFile(folder, base, old).load("key") is None

    other = replace(function, stamp=(old[0] + 1.0, old[1]))
    assert keep([other], source(script), sys.executable) == (), "compiled from another text"
    assert keep([function], source(script), "no-such-python") == ()
