"""Compiled code of the trials, put beside the user's files: the first run starts like a later one.

numba finds compiled code by the place of the source and what it holds (older releases: its time and
size), the function's name, line, byte code and types, the processor, and numba's version. All but
the place and the time are those of the trials, and where the code lies decides the place. So the
files are copied as they are; only times need a new index, which numba's own classes write.

Nothing here is ever an error: what cannot be kept is compiled in the first run, as without it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .model import Source
from .observe.numbacache import CompiledFunction

STAMPING = 30.0
"""Seconds for numba to write new indices; importing it takes most of one."""

_STAMP = """\
import json, os, sys
from numba.core.caching import IndexDataCacheFile
for folder, base, stamp, source in json.load(sys.stdin):
    overloads = IndexDataCacheFile(folder, base, tuple(stamp))._load_index()
    if overloads:
        now = os.stat(source)
        IndexDataCacheFile(folder, base, (now.st_mtime, now.st_size))._save_index(overloads)
"""


@dataclass(frozen=True)
class Kept:
    """The files of one compiled function beside the user's: they come and go together.

    An index without its files, or with those of another text, would name the wrong code.
    """

    folder: Path
    index: str
    written: Mapping[str, str]
    """Name -> SHA-256 of what was written, the index included."""
    before: Mapping[str, bytes]
    """What was there under these names: compiled from the original."""
    made: bool
    """The folder was made for it."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that were written."""
        return tuple(self.folder / name for name in sorted(self.written))


# -------------------------------------------------------------------- keeping
def keep(
    functions: Sequence[CompiledFunction], sources: Mapping[Path, Source], python: str
) -> tuple[Kept, ...]:
    """Put compiled code into ``__pycache__`` beside the patched files, where numba looks for it.

    ``sources``: the files as they were; ``python``: the interpreter that will run them.
    """
    own = [f for f in functions if not _names_the_copy(f, sources[f.source])]
    return tuple(kept for f in _stamped(own, python) if (kept := _put(f)) is not None)


def _names_the_copy(function: CompiledFunction, original: Source) -> bool:
    """Whether a traceback may show the scratch folder.

    Exceptions of functions that the rewrite made are raised again by the loop in Python. Those of
    the user's own compiled functions are seen, with the file that they were compiled from.
    """
    place = os.fsencode(function.place)
    if not any(place in data for data in function.files.values()):
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(n, kinds) and n.name == function.function for n in ast.walk(original.tree)
    )


def _stamped(functions: Sequence[CompiledFunction], python: str) -> list[CompiledFunction]:
    """With indices that hold for the files as they are now, where that is possible."""
    ready: list[CompiledFunction] = []
    dated: list[CompiledFunction] = []
    for function in functions:
        try:
            content = hashlib.sha256(function.source.read_bytes()).digest()
        except OSError:
            continue
        (ready if content in function.files[function.index] else dated).append(function)
    return [*ready, *_dated(dated, python)] if dated else ready


def _dated(functions: Sequence[CompiledFunction], python: str) -> list[CompiledFunction]:
    """Indices that know a source by its time and size, written anew by numba itself."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-stamp-") as name:
        orders, indices = [], []
        for number, function in enumerate(functions):
            folder = Path(name, str(number))
            folder.mkdir()
            indices.append(folder / function.index)
            indices[-1].write_bytes(function.files[function.index])
            base = function.index.removesuffix(".nbi")
            orders.append((str(folder), base, function.stamp, str(function.source)))
        try:
            subprocess.run(
                [python, "-c", _STAMP],
                input=json.dumps(orders).encode(),
                cwd=name,
                capture_output=True,
                timeout=STAMPING,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return []
        pairs = [(f, index.read_bytes()) for f, index in zip(functions, indices, strict=True)]
    return [
        replace(f, files={**f.files, f.index: new}) for f, new in pairs if new != f.files[f.index]
    ]


def _put(function: CompiledFunction) -> Kept | None:
    """Write the files of one function, the index last; None, and all as it was, if that fails."""
    try:
        kept = _planned(function)
    except OSError:
        return None
    try:
        (kept.folder / kept.index).unlink(missing_ok=True)
        for name in sorted(function.files, key=lambda name: name == function.index):
            _write(kept.folder / name, function.files[name], function.source)
    except OSError:
        _restore(kept)
        _remove_made([kept])
        return None
    return kept


def _planned(function: CompiledFunction) -> Kept:
    """What is to be written, and what is there now; the folder is made. Raises OSError."""
    folder = function.source.parent / "__pycache__"
    made = not folder.exists()
    if made:
        folder.mkdir()
        _give(folder, function.source)
    present = [name for name in function.files if (folder / name).exists()]
    before = {name: (folder / name).read_bytes() for name in present}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in function.files.items()}
    return Kept(folder, function.index, digests, before, made)


def _write(path: Path, data: bytes, like: Path) -> None:
    """Give a file its content in one step, and the owner of ``like``."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_bytes(data)
        _give(partial, like)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _give(path: Path, like: Path) -> None:
    """Under ``sudo``, what is made is the owner's of the script: numba must be able to write it."""
    known = like.stat()
    if os.geteuid() == 0 and path.stat().st_uid != known.st_uid:
        os.chown(path, known.st_uid, known.st_gid)


# -------------------------------------------------------------- taking back
def take_back(kept: Sequence[Kept]) -> None:
    """Remove what was kept and put back what was there, as far as nobody has changed it since."""
    for function in kept:
        if _unchanged(function):
            _restore(function)
    _remove_made(kept)


def _remove_made(kept: Sequence[Kept]) -> None:
    """Remove folders that were made for compiled code, where nothing else is in them now."""
    for function in kept:
        if function.made:
            with contextlib.suppress(OSError):
                function.folder.rmdir()


def _unchanged(kept: Kept) -> bool:
    try:
        return all(
            hashlib.sha256((kept.folder / name).read_bytes()).hexdigest() == digest
            for name, digest in kept.written.items()
        )
    except OSError:
        return False


def _restore(kept: Kept) -> None:
    """As before; the index goes first and comes last."""
    with contextlib.suppress(OSError):
        (kept.folder / kept.index).unlink(missing_ok=True)
        for name in sorted(kept.written, key=lambda name: name == kept.index):
            if name in kept.before:
                _write(kept.folder / name, kept.before[name], kept.folder)
            else:
                (kept.folder / name).unlink(missing_ok=True)


# ------------------------------------------------------------------- records
def to_record(kept: Kept) -> dict[str, Any]:
    """For the journal, as JSON values."""
    before = {name: base64.b64encode(data).decode("ascii") for name, data in kept.before.items()}
    return {
        "folder": os.fspath(kept.folder),
        "index": kept.index,
        "written": dict(kept.written),
        "before": before,
        "made": kept.made,
    }


def from_record(record: Mapping[str, Any]) -> Kept:
    """What `to_record` wrote. Raises KeyError, TypeError or ValueError."""
    before = {name: base64.b64decode(text) for name, text in record["before"].items()}
    folder = Path(record["folder"])
    return Kept(folder, record["index"], dict(record["written"]), before, bool(record["made"]))
