"""Writing patched files, and putting the originals back.

``apply`` is all or nothing: every file is checked before the first one is written, each is
replaced in one step, and a failure half-way restores those already written. The originals go to a
journal outside the project first, so that even a killed process can be undone.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from .errors import UsageProblem
from .firstrun import Kept, from_record, keep, take_back, to_record
from .model import Source
from .observe.numbacache import CompiledFunction

KEPT_JOURNALS = 20
"""How many applies can be undone; older journals are deleted."""

_FORMAT = 1


class UndoError(UsageProblem):
    """Files cannot be written or restored; nothing was changed unless the text says so."""


class Changed(UndoError):
    """A file is not what it was when it was analysed (apply) or written (undo)."""

    def __init__(self, message: str, restored: tuple[Path, ...] = ()) -> None:
        super().__init__(message)
        self.restored = restored
        """The other files of the same apply, which undo did restore."""


@dataclass(frozen=True)
class Saved:
    """One file of a journal."""

    path: Path
    """The file itself, symbolic links resolved."""
    original: bytes
    written: str
    """SHA-256 of what apply wrote."""


@dataclass(frozen=True)
class Journal:
    """What one apply changed."""

    file: Path
    """Where the journal is kept."""
    when: str
    """Local time, ISO 8601."""
    files: tuple[Saved, ...]
    compiled: tuple[Kept, ...] = ()
    """Compiled code that was put beside the files."""


# ------------------------------------------------------------------- apply
def apply(patched: Mapping[Path, bytes], sources: Mapping[Path, Source]) -> Journal:
    """Write the new contents; all of them or none.

    Symbolic links stay, their targets are written. Mode, owner and extended attributes stay.

    Raises:
        Changed: a file is not the one that was analysed; nothing was written.
        UndoError: a file or the journal cannot be written; nothing was changed.
    """
    targets: dict[Path, tuple[bytes, bytes]] = {}
    for path, data in patched.items():
        target, pair = Path(os.path.realpath(path)), (sources[path].data, data)
        if targets.setdefault(target, pair) != pair:
            # script.py and a link to it, each patched its own way
            raise UndoError(f"{path} and another name of the same file would differ")
    for target, (original, _) in targets.items():
        _check_writable(target)
        _check_content(target, original)
    journal = _write_journal(targets)
    done: list[Path] = []
    try:
        for target, (original, data) in targets.items():
            _check_content(target, original)
            done.append(target)
            _replace(target, data)
    except BaseException as error:  # Ctrl-C included: half an apply is worse than none
        _roll_back({target: targets[target][0] for target in done}, journal)
        if isinstance(error, OSError):
            # A write to a full disk has no file name.
            place = error.filename or done[-1]
            raise UndoError(f"cannot write {place}: {error.strerror}; nothing changed") from error
        raise
    _prune()
    return journal


def keep_compiled(
    journal: Journal,
    functions: Sequence[CompiledFunction],
    sources: Mapping[Path, Source],
    python: str,
) -> Journal:
    """Put what trials of an applied text compiled beside it; the journal with what was put there.

    Never an error: where nothing can be kept, or not be undone, the first run compiles.
    """
    kept = keep(functions, sources, python)
    longer = replace(journal, compiled=kept)
    try:
        _save(longer)
    except OSError:
        take_back(kept)
        return journal
    return longer


def _roll_back(originals: dict[Path, bytes], journal: Journal) -> None:
    """Put back what was written; if that fails too, the journal stays and its place is told."""
    failed = list(originals)
    # The last one first: on a full disk it is what took the room that the others need.
    for path in reversed(originals):
        with contextlib.suppress(OSError):
            _replace(path, originals[path])
            failed.remove(path)
    if failed:
        raise UndoError(f"cannot restore {_listed(failed)}; the originals are in {journal.file}")
    journal.file.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    try:
        info = path.stat()
    except OSError as error:
        raise Changed(f"{path} cannot be read any more: {error.strerror}") from error
    if not stat.S_ISREG(info.st_mode):
        raise UndoError(f"{path} is not a regular file")
    # A super-user may write anything; a file without any write bit is still meant to stay.
    if not info.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise UndoError(f"{path} is read-only; nothing was changed")


def _check_content(path: Path, expected: bytes) -> None:
    if path.read_bytes() != expected:
        raise Changed(f"{path} has changed since it was analysed; nothing was written")


def _replace(path: Path, data: bytes) -> None:
    """Give a file new content in one step where that keeps its links and owner."""
    info = path.stat()
    if info.st_nlink > 1 or not _replace_by_rename(path, data, info):
        # Hard links would part from a renamed file; a folder may forbid new files.
        with path.open("r+b") as file:
            file.write(data)
            file.truncate()


def _replace_by_rename(path: Path, data: bytes, info: os.stat_result) -> bool:
    """False where a file beside this one cannot be made or cannot be given the same owner."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except PermissionError:
        return False
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if (info.st_uid, info.st_gid) != (beside.stat().st_uid, beside.stat().st_gid):
            os.chown(beside, info.st_uid, info.st_gid)
        beside.chmod(stat.S_IMODE(info.st_mode))
        _copy_attributes(path, beside)
        beside.replace(path)
    except PermissionError:
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True


def _copy_attributes(source: Path, target: Path) -> None:
    """Extended attributes (access lists, labels), as far as the file system lets us."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))


# ---------------------------------------------------------------- journals
def state_dir() -> Path:
    """Where gpuadvise keeps what must outlive a run; ``GPUADVISE_STATE_DIR`` overrides it."""
    if override := os.environ.get("GPUADVISE_STATE_DIR"):
        return Path(override)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UndoError("no home folder to keep originals in; set GPUADVISE_STATE_DIR") from error
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "gpuadvise"
    base = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    return (Path(base) if Path(base).is_absolute() else home / ".local" / "state") / "gpuadvise"


def _write_journal(targets: Mapping[Path, tuple[bytes, bytes]]) -> Journal:
    """Keep the originals before anything changes."""
    folder = state_dir() / "undo"
    file = folder / f"{time.time_ns():020d}-{os.getpid()}.json"
    files = tuple(
        Saved(path, original, hashlib.sha256(data).hexdigest())
        for path, (original, data) in targets.items()
    )
    journal = Journal(file, datetime.now().astimezone().isoformat(timespec="seconds"), files)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _save(journal)
    except OSError as error:
        message = f"cannot keep the originals in {folder}: {error.strerror}; nothing was changed"
        raise UndoError(message) from error
    return journal


def _save(journal: Journal) -> None:
    files = [
        {
            "path": os.fspath(saved.path),
            "original": base64.b64encode(saved.original).decode("ascii"),
            "written": saved.written,
        }
        for saved in journal.files
    ]
    compiled = [to_record(kept) for kept in journal.compiled]
    record = {"format": _FORMAT, "when": journal.when, "files": files, "compiled": compiled}
    text = json.dumps(record)
    partial = journal.file.with_suffix(".new")
    try:
        # Somebody's code may be private: readable by its owner only, from the first byte on.
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(journal.file)
    finally:
        partial.unlink(missing_ok=True)


def _load(file: Path) -> Journal | None:
    """The journal in a file; None if it is damaged or of another version."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["format"] != _FORMAT:
            return None
        files = tuple(
            Saved(Path(entry["path"]), base64.b64decode(entry["original"]), entry["written"])
            for entry in record["files"]
        )
        # journals of earlier releases have none
        compiled = tuple(map(from_record, record.get("compiled", ())))
        return Journal(file, record["when"], files, compiled)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def journals() -> tuple[Journal, ...]:
    """What can be undone, the latest first."""
    files = sorted((state_dir() / "undo").glob("*.json"), reverse=True)
    return tuple(journal for journal in map(_load, files) if journal is not None)


def _prune() -> None:
    files = sorted((state_dir() / "undo").glob("*.json"), reverse=True)
    for file in files[KEPT_JOURNALS:]:
        file.unlink(missing_ok=True)


# -------------------------------------------------------------------- undo
def undo(cwd: Path) -> tuple[Path, ...]:
    """Restore what the latest apply below ``cwd`` changed, and say which files that were.

    If none was below ``cwd`` and there is only one apply at all, that one is meant.

    Raises:
        Changed: files were edited since; those stay as they are, the others are restored.
        UndoError: nothing to undo, or a file cannot be written.
    """
    journal = _latest(journals(), Path(os.path.realpath(cwd)))
    restored: list[Path] = []
    left: list[Saved] = []
    problems: list[str] = []
    for saved in journal.files:
        problem = _restore(saved)
        if problem is None:
            restored.append(saved.path)
        else:
            left.append(saved)
            problems.append(problem)
    take_back(journal.compiled)
    if not left:
        journal.file.unlink(missing_ok=True)
        return tuple(restored)
    _save(Journal(journal.file, journal.when, tuple(left)))
    done = f"; restored {_listed(restored)}" if restored else "; nothing was restored"
    raise Changed("; ".join(problems) + done, tuple(restored))


def _latest(known: tuple[Journal, ...], cwd: Path) -> Journal:
    for journal in known:
        if any(saved.path.is_relative_to(cwd) for saved in journal.files):
            return journal
    if len(known) == 1:
        return known[0]
    if not known:
        raise UndoError("nothing to undo: no --apply is on record")
    folders = dict.fromkeys(saved.path.parent for journal in known for saved in journal.files)
    raise UndoError(f"nothing to undo below {cwd}; go to {_listed(folders, ' or ')}")


def _restore(saved: Saved) -> str | None:
    """Put one original back; or say why not."""
    try:
        present = saved.path.read_bytes()
        if present == saved.original:
            return None
        if hashlib.sha256(present).hexdigest() != saved.written:
            return f"{saved.path} was edited after --apply and stays as it is"
        _check_writable(saved.path)
        _replace(saved.path, saved.original)
    except UndoError as error:
        return str(error)
    except OSError as error:
        return f"{saved.path} cannot be restored: {error.strerror}"
    return None


def _listed(paths: Iterable[Path], joint: str = ", ") -> str:
    return joint.join(map(str, paths))
