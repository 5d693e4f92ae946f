"""A script that leaves traces of many kinds: rewritten, it leaves the same ones."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND, NUMPY_ALONE

SCRIPT = """\
import atexit
import csv
import os
import sqlite3
import sys
import threading

import numpy as np


def smooth(a):
    out = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    return out


if os.path.exists("lock"):
    sys.exit("locked")
open("lock", "x").close()  # and left behind: a second run in the same place would fail
os.mkdir("results")
runs = int(open("count").read()) + 1
open("count", "w").write(str(runs))
print("run", runs, sys.argv[1:], os.environ["WHO"], repr(sys.stdin.read()))

a = np.random.default_rng(3).random(130_000)
for _ in range(8):
    a = smooth(a)
found = []
thread = threading.Thread(target=lambda: found.append(smooth(a[:50]).sum()))
thread.start()
thread.join()

with open("log.txt", "a") as log:
    log.write(f"{a.sum()!r}\\n")
with open("table.csv", "a", newline="") as table:
    csv.writer(table).writerow([runs, found[0]])
os.chdir("results")
with sqlite3.connect("store.db") as store:
    store.execute("create table sums (s real)")
    store.execute("insert into sums values (?)", (float(a.sum()),))
store.close()
os.chdir("..")
os.replace("old.txt", "older.txt")
atexit.register(lambda: print("bye", len(open("log.txt").readlines())))
"""
GIVEN = {"count": "4", "log.txt": "before\n", "table.csv": "run,sum\n", "old.txt": "kept\n"}
ARGUMENTS = ("--apply", "-x", "two words")


def prepared(folder: Path, text: str | bytes) -> Path:
    folder.mkdir()
    for name, content in GIVEN.items():
        (folder / name).write_text(content)
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "s.py").write_bytes(data)
    return folder


def run(command: list[str], folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*command, "s.py", *ARGUMENTS],
        cwd=folder,
        input="fed\nin\n",
        capture_output=True,
        text=True,
        env={**os.environ, "WHO": "me", "GPUADVISE_STATE_DIR": str(folder.parent / "state")},
        check=False,
        timeout=240,
    )
    return done.returncode, done.stdout, done.stderr


def traces(folder: Path) -> dict[str, str]:
    """What lies in the folder beside the script; a database by what it says."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name == "s.py":
            continue
        if path.suffix == ".db":
            with sqlite3.connect(path) as store:
                found[name] = str(store.execute("select * from sums").fetchall())
            store.close()
        else:
            found[name] = path.read_text()
    return found


@pytest.mark.slow
def test_the_rewritten_script_leaves_what_the_original_leaves(tmp_path: Path) -> None:
    original = prepared(tmp_path / "original", SCRIPT)
    code, out, _ = run([sys.executable], original)
    assert code == 0

    advised = prepared(tmp_path / "advised", SCRIPT)
    tool = run([*COMMAND, "--apply", *NUMPY_ALONE], advised)
    assert tool[0] == 0, tool[2]
    # The tool's one real run has the effects of one run, and no other run has any.
    assert tool[1] == out
    assert traces(advised) == traces(original)
    rewritten = (advised / "s.py").read_bytes()
    assert rewritten != SCRIPT.encode()

    again = prepared(tmp_path / "again", rewritten)
    assert run([sys.executable], again)[:2] == (code, out)
    assert traces(again) == traces(original)
