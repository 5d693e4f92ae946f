"""Writing files and putting them back, with everything that can come in between."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuadvise import undo as undo_module
from gpuadvise.model import Source
from gpuadvise.undo import KEPT_JOURNALS, Changed, UndoError, apply, journals, state_dir, undo


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_bytes(f"x = '{name}'\r\n".encode())
    return folder


def sources(*paths: Path) -> dict[Path, Source]:
    return {path: Source(path, path.read_bytes()) for path in paths}


def patched(*paths: Path, text: bytes = b"x = 2\r\n") -> dict[Path, bytes]:
    return dict.fromkeys(paths, text)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_apply_then_undo_restores_every_byte(project: Path) -> None:
    before = contents(project)
    a, b = project / "a.py", project / "b.py"
    a.chmod(0o754)
    journal = apply(patched(a, b), sources(a, b))
    assert contents(project) == {"a.py": b"x = 2\r\n", "b.py": b"x = 2\r\n"}
    assert [saved.path for saved in journal.files] == [a, b]
    assert stat.S_IMODE(a.stat().st_mode) == 0o754
    assert undo(project) == (a, b)
    assert contents(project) == before
    assert stat.S_IMODE(a.stat().st_mode) == 0o754
    with pytest.raises(UndoError, match="nothing to undo"):
        undo(project)


def test_the_journal_is_outside_the_project_and_private(project: Path, state: Path) -> None:
    a = project / "a.py"
    journal = apply(patched(a), sources(a))
    assert journal.file.is_relative_to(state)
    assert stat.S_IMODE(journal.file.stat().st_mode) == 0o600
    assert journals() == (journal,)


def test_a_file_that_changed_since_the_analysis_stops_everything(project: Path) -> None:
    a, b = project / "a.py", project / "b.py"
    read = sources(a, b)
    b.write_bytes(b"edited = True\n")
    before = contents(project)
    os.utime(a, ns=(0, 0))
    with pytest.raises(Changed, match=r"b\.py has changed since it was analysed"):
        apply(patched(a, b), read)
    assert a.stat().st_mtime_ns == 0  # not even written and taken back
    b.unlink()
    with pytest.raises(Changed, match=r"b\.py cannot be read any more"):
        apply(patched(a, b), read)
    assert (project / "a.py").read_bytes() == before["a.py"]
    assert journals() == ()


def test_read_only_files_are_refused(project: Path) -> None:
    a, b = project / "a.py", project / "b.py"
    b.chmod(0o444)
    before = contents(project)
    with pytest.raises(UndoError, match=r"b\.py is read-only"):
        apply(patched(a, b), sources(a, b))
    assert contents(project) == before


def test_folders_are_refused(project: Path) -> None:
    folder = project / "c.py"
    folder.mkdir()
    with pytest.raises(UndoError, match="not a regular file"):
        apply(patched(folder), {folder: Source(folder, b"")})


def test_a_link_stays_a_link_and_its_target_changes(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(project / "a.py")
    apply(patched(link), sources(link))
    assert link.is_symlink()
    assert (project / "a.py").read_bytes() == b"x = 2\r\n"
    assert undo(project) == (project / "a.py",)
    assert link.is_symlink() and link.read_bytes() == b"x = 'a.py'\r\n"


def test_one_file_under_two_names_with_two_contents_is_refused(project: Path) -> None:
    link = project / "link.py"
    link.symlink_to(project / "a.py")
    read = sources(link, project / "a.py")
    with pytest.raises(UndoError, match="another name of the same file"):
        apply({link: b"x = 1\n", project / "a.py": b"x = 2\n"}, read)
    apply(patched(link, project / "a.py"), read)


def test_hard_links_stay_together(project: Path) -> None:
    twin = project / "twin.py"
    twin.hardlink_to(project / "a.py")
    apply(patched(twin), sources(twin))
    assert (project / "a.py").read_bytes() == b"x = 2\r\n"
    undo(project)
    assert (project / "a.py").read_bytes() == b"x = 'a.py'\r\n"
    assert twin.stat().st_ino == (project / "a.py").stat().st_ino


@pytest.mark.skipif(sys.platform != "linux", reason="extended attributes as Linux has them")
def test_extended_attributes_stay(project: Path) -> None:
    a = project / "a.py"
    try:
        os.setxattr(a, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    apply(patched(a), sources(a))
    assert os.getxattr(a, "user.note") == b"mine"


def failing_for(path: Path) -> Callable[[Path, bytes], None]:
    real = undo_module._replace

    def replace(target: Path, data: bytes) -> None:
        if target == path and data == b"x = 2\r\n":
            target.write_bytes(b"x = ")  # half written, as on a full disk
            raise OSError(28, "No space left on device", str(target))
        real(target, data)

    return replace


def test_a_failure_half_way_restores_what_was_written(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = project / "a.py", project / "b.py"
    before = contents(project)
    monkeypatch.setattr(undo_module, "_replace", failing_for(b))
    with pytest.raises(UndoError, match=r"cannot write .*b\.py: No space left"):
        apply(patched(a, b), sources(a, b))
    assert contents(project) == before
    assert journals() == ()


@pytest.mark.skipif(sys.platform != "linux", reason="bounds the size of files")
def test_a_file_that_does_not_fit_takes_no_other_with_it(project: Path, tmp_path: Path) -> None:
    import resource
    import signal

    a, b = project / "a.py", project / "b.py"
    b.write_bytes(b"#" * 5000)
    (tmp_path / "hard.py").hardlink_to(b)  # written in place: a part of it arrives
    before, known = contents(project), sources(a, b)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(UndoError, match=r"cannot write .*b\.py: .*; nothing changed"):
            apply({a: b"x = 2\n", b: b"#" * 200_000}, known)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert contents(project) == before
    assert journals() == ()


def test_what_filled_the_disk_is_put_back_first(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = project / "a.py", project / "b.py"
    before, known = contents(project), sources(a, b)
    replace = undo_module._replace

    def on_a_full_disk(path: Path, data: bytes) -> None:
        if data == b"large":
            path.write_bytes(b"lar")
        if b.read_bytes() == b"lar" and not (path == b and data == before["b.py"]):
            raise OSError(28, "No space left on device")
        replace(path, data)

    monkeypatch.setattr(undo_module, "_replace", on_a_full_disk)
    with pytest.raises(UndoError, match=r"b\.py: No space left on device; nothing changed"):
        apply({a: b"x = 2\n", b: b"large"}, known)
    assert contents(project) == before and journals() == ()


def test_originals_that_cannot_be_put_back_are_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = project / "a.py", project / "b.py"
    real = undo_module._replace

    def replace(target: Path, data: bytes) -> None:
        if target == b:
            raise OSError(28, "No space left on device", str(target))
        real(target, data)

    monkeypatch.setattr(undo_module, "_replace", replace)
    with pytest.raises(UndoError, match=r"cannot restore .*b\.py; the originals are in"):
        apply(patched(a, b), sources(a, b))
    assert a.read_bytes() == b"x = 'a.py'\r\n"
    assert len(journals()) == 1


def test_an_interrupt_half_way_restores_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = project / "a.py", project / "b.py"
    before = contents(project)
    real = undo_module._replace

    def replace(target: Path, data: bytes) -> None:
        real(target, data)
        if target == b and data == b"x = 2\r\n":
            raise KeyboardInterrupt

    monkeypatch.setattr(undo_module, "_replace", replace)
    with pytest.raises(KeyboardInterrupt):
        apply(patched(a, b), sources(a, b))
    assert contents(project) == before


def test_nothing_is_left_beside_the_files(project: Path) -> None:
    a = project / "a.py"
    apply(patched(a), sources(a))
    undo(project)
    assert sorted(path.name for path in project.iterdir()) == ["a.py", "b.py"]


def test_nothing_is_left_beside_a_file_that_could_not_be_replaced(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = project / "a.py"
    read = sources(a)
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target == a:
            raise PermissionError(1, "Operation not permitted", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    apply(patched(a), read)  # written in place instead
    assert contents(project) == {"a.py": b"x = 2\r\n", "b.py": b"x = 'b.py'\r\n"}


def test_an_unusable_state_folder_stops_apply(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(blocked))
    before = contents(project)
    with pytest.raises(UndoError, match="cannot keep the originals"):
        apply(patched(project / "a.py"), sources(project / "a.py"))
    assert contents(project) == before


def test_undo_leaves_files_alone_that_were_edited_since(project: Path) -> None:
    a, b = project / "a.py", project / "b.py"
    apply(patched(a, b), sources(a, b))
    b.write_bytes(b"mine = 1\n")
    with pytest.raises(
        Changed, match=r"b\.py was edited after --apply.*restored .*a\.py"
    ) as caught:
        undo(project)
    assert caught.value.restored == (a,)
    assert contents(project) == {"a.py": b"x = 'a.py'\r\n", "b.py": b"mine = 1\n"}
    b.write_bytes(b"x = 2\r\n")  # the user takes the edit back: now it can be undone
    assert undo(project) == (b,)


def test_a_file_already_as_it_was_counts_as_restored(project: Path) -> None:
    a, b = project / "a.py", project / "b.py"
    read = sources(a, b)
    apply(patched(a, b), read)
    a.write_bytes(read[a].data)
    assert undo(project) == (a, b)


def test_undo_says_when_a_file_is_gone(project: Path) -> None:
    a = project / "a.py"
    apply(patched(a), sources(a))
    a.unlink()
    with pytest.raises(Changed, match=r"a\.py cannot be restored: No such file"):
        undo(project)


def test_undo_goes_back_step_by_step_and_folder_by_folder(project: Path, tmp_path: Path) -> None:
    a = project / "a.py"
    other = tmp_path / "other" / "c.py"
    other.parent.mkdir()
    other.write_text("c\n")
    apply(patched(a, text=b"one"), sources(a))
    apply(patched(a, text=b"two"), sources(a))
    apply(patched(other), sources(other))
    with pytest.raises(
        UndoError, match=r"nothing to undo below .*state; go to .*other or .*project"
    ):
        (tmp_path / "state").mkdir(exist_ok=True)
        undo(tmp_path / "state")
    assert undo(project) == (a,)
    assert a.read_bytes() == b"one"
    assert undo(project) == (a,)
    assert a.read_bytes() == b"x = 'a.py'\r\n"
    assert undo(project) == (other,)  # the only one left, wherever it is


def test_only_the_last_journals_are_kept(project: Path) -> None:
    a = project / "a.py"
    for number in range(KEPT_JOURNALS + 3):
        apply(patched(a, text=b"%d" % number), sources(a))
    assert len(journals()) == KEPT_JOURNALS
    assert journals()[0].files[0].original == b"%d" % (KEPT_JOURNALS + 1)


def test_damaged_journals_are_passed_over(project: Path) -> None:
    a = project / "a.py"
    journal = apply(patched(a), sources(a))
    (journal.file.parent / "99999999999999999999-1.json").write_text('{"format": 1, "fil')
    (journal.file.parent / "99999999999999999998-1.json").write_text('{"format": 99}')
    assert undo(project) == (a,)


def test_where_state_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GPUADVISE_STATE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_dir() == tmp_path / "xdg" / "gpuadvise"
    for useless in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", useless)
        assert state_dir() == tmp_path / ".local" / "state" / "gpuadvise"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_dir() == tmp_path / "Library" / "Application Support" / "gpuadvise"
