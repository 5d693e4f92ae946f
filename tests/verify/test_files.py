"""Files that a script writes, compared as far as two runs of the original agree."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import pytest

from gpuadvise.model import Exactness
from gpuadvise.verify.files import Loose, WrittenFiles, compare_file, same_names

LOOSE = Loose(Exactness.REASSOCIATED, 100, 1e-12)


def wrote(**files):
    content = {name.replace("_dot_", "."): data for name, data in files.items()}
    return WrittenFiles({name: str(hash(data)) for name, data in content.items()}, content)


def outcome(name, mine, other, again=None, loose=None):
    runs = (mine, other, mine if again is None else again)
    return compare_file(name, *(wrote(**{name: data}) for data in runs), loose)


def zipped(text, year):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.txt", (year, 1, 1, 0, 0, 0)), text)
    return stream.getvalue()


def tarred(text, time, *, packed):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size, entry.mtime = len(text), time
        archive.addfile(entry, io.BytesIO(text))
    return gzip.compress(stream.getvalue(), mtime=time) if packed else stream.getvalue()


def png(pixels, note):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"tEXt", note)
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


def npy(*numbers):
    stream = io.BytesIO()
    np.save(stream, np.array(numbers))
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def test_what_two_runs_write_alike_must_be_equal():
    assert outcome("a.txt", b"1.5\n", b"1.5 \n").problem is not None
    assert outcome("a.txt", b"x 1.5\n", b"x 1.6\n").problem == (
        "file a.txt, line 1: 1.6 where the original has 1.5"
    )
    assert outcome("a.npy", npy(0.1), npy(0.1 + 1e-16 * 2)).problem == "file a.npy differs"
    gone = compare_file("a", wrote(a=b"1"), wrote(), wrote(a=b"1"))
    assert gone.problem == "file a is not written"
    more = compare_file("b", wrote(a=b"1"), wrote(a=b"1", b=b"2"), wrote(a=b"1"))
    assert more.problem == "file b is written in addition"


TIMED = {
    "zip": (zipped(b"x 1", 2020), zipped(b"x 1", 2021), zipped(b"x 1", 2022), zipped(b"x 2", 2020)),
    "gzip": tuple(gzip.compress(d, mtime=t) for t, d in enumerate((b"1", b"1", b"1", b"2"))),
    "tar": tuple(tarred(d, t, packed=False) for t, d in enumerate((b"1", b"1", b"1", b"2"))),
    "tar.gz": tuple(tarred(d, t, packed=True) for t, d in enumerate((b"1", b"1", b"1", b"2"))),
    "png": (png(b"1", b"a"), png(b"1", b"b"), png(b"1", b"c"), png(b"2", b"a")),
    "log": (b"10:30 INFO 5\n", b"11:31 INFO 5\n", b"12:00 INFO 5\n", b"10:30 INFO 6\n"),
    "json": (
        b'{"at": 1.5, "sum": 5}',
        b'{"at": 2.5, "sum": 5}',
        b'{"at": 3.5, "sum": 5}',
        b'{"at": 1.5, "sum": 6}',
    ),
}


@pytest.mark.parametrize("name", TIMED)
def test_time_stamps_are_left_out_and_nothing_else(name):
    mine, again, right, wrong = TIMED[name]
    good = outcome(f"a.{name}", mine, right, again)
    assert good.problem is None and good.compared and good.note, good
    assert outcome(f"a.{name}", mine, wrong, again).problem is not None
    # Where two runs of the original are alike, a time stamp is content like any other.
    assert outcome(f"a.{name}", mine, right).problem is not None


def test_what_cannot_be_looked_into_is_named():
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))

    runs = [pickle.dumps([Evil(), k]) for k in range(3)]
    result = outcome("a.pkl", *runs)
    assert result.problem is None and not result.compared
    assert result.note == (
        "file a.pkl differs between two runs of the original and was not compared"
    )
    assert outcome("a.pkl", runs[0], runs[1], loose=LOOSE).problem == "file a.pkl differs"
    damaged = outcome("a.zip", *(zipped(b"x", 2020)[:30] + bytes([k]) for k in range(3)))
    assert damaged.problem is None and not damaged.compared
    gone = compare_file("a", wrote(a=b"1"), wrote(), wrote(a=b"2"))
    assert gone.problem == "file a is not written"


NUMBERS = [
    ("a.npy", npy(0.1, 1.0), npy(0.1 + 2e-17, 1.0 + 3e-16), npy(0.1, 1.0 + 1e-9)),
    ("a.npz", npz(x=np.ones(2)), npz(x=np.ones(2) + 3e-16), npz(y=np.ones(2))),
    ("a.csv", b"k,0.1\n", b"k,0.10000000000000002\n", b"k,0.11\n"),
    ("a.json", b'{"x": 1.0, "n": 3}', b'{"x": 1.0000000000000002, "n": 3}', b'{"x": 1.0, "n": 4}'),
]


@pytest.mark.parametrize(("name", "mine", "near", "far"), NUMBERS, ids=[n[0] for n in NUMBERS])
def test_rounding_in_files_of_numbers(name, mine, near, far):
    assert outcome(name, mine, near).problem is not None, "only where it is asked for"
    close = outcome(name, mine, near, loose=LOOSE)
    assert close.problem is None and close.error.relative > 0
    assert outcome(name, mine, far, loose=LOOSE).problem is not None


def test_names_that_no_run_repeats():
    mine, again = wrote(a_101_dot_csv=b"x 1"), wrote(a_202_dot_csv=b"x 1")
    for content, equal in ((b"x 1", True), (b"x 2", False)):
        other, later = same_names(mine, wrote(a_303_dot_csv=content), again)
        assert later.marks == mine.marks
        assert (other.marks == mine.marks) is equal
        assert equal or compare_file("a_101.csv", mine, other, later).problem is not None
    # Another name altogether is another file.
    other, later = same_names(mine, wrote(b_303_dot_csv=b"x 1"), again)
    assert compare_file("b_303.csv", mine, other, later).problem is not None
