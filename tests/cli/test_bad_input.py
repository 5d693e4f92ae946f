"""Every row of the list of bad input: one clear line, the right exit status, nothing lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
from command import (
    COMMAND,
    HOT,
    NUMPY_ALONE,
    UNHURRIED,
    Run,
    leftovers,
    names,
    processes,
    write,
)

WORK = HOT + "print(total(range(4_000_000)))\n"
"""About half a second of work that cannot be vectorised, then one line of output."""

SMOOTHING = """\
import numpy as np

def smooth(a):
    out = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    return out

a = np.arange(130_000) % 17.0
"""
"""A hot loop that can be rewritten."""


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


def the_line(run: Run) -> str:
    """The one line with which the tool refused."""
    lines = [line for line in run.err.splitlines() if line.startswith("gpuadvise: ")]
    assert len(lines) == 1, run.err
    return lines[0]


# ------------------------------------------------------------- no run at all
def test_missing_file(gpuadvise: Callable[..., Run]) -> None:
    run = gpuadvise("nowhere.py")
    assert run.code == 2
    assert "there is no file nowhere.py" in the_line(run)


def test_directory(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "work" / "src").mkdir()
    run = gpuadvise("src")
    assert run.code == 2
    assert "src is a directory" in the_line(run)


def test_syntax_error(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "s.py", "x = 1\nfor\n")
    run = gpuadvise("s.py")
    assert run.code == 3
    assert "s.py:2: not valid Python" in the_line(run)


def test_null_bytes(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "work" / "s.py").write_bytes(b"x = 1\0\n")
    assert gpuadvise("s.py").code == 3


def test_module_that_is_not_there(gpuadvise: Callable[..., Run]) -> None:
    run = gpuadvise("-m", "no_such_package.tool")
    assert run.code == 2
    assert "there is no module no_such_package" in the_line(run)


@pytest.mark.parametrize(
    ("option", "word"),
    [("--allow=fortran", "fortran"), ("--patch=no/such/dir/p.diff", "no/such/dir")],
)
def test_unusable_options(
    gpuadvise: Callable[..., Run], tmp_path: Path, option: str, word: str
) -> None:
    write(tmp_path / "work", "s.py", "open('ran', 'w').close()\n")
    run = gpuadvise(option, "s.py")
    assert run.code == 2
    assert word in the_line(run)
    assert names(run.folder) == ["s.py"], "the script must not run for nothing"


# -------------------------------------------------------- the script fails
def test_script_raises(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "s.py", "print('before')\nraise ValueError('their own')\n")
    run = gpuadvise("s.py")
    assert run.code == 3
    assert run.out == "before\n"
    assert "ValueError: their own" in run.err, "the script's traceback is the user's to see"
    assert "ended with status 1" in last_line(run.err)


def test_script_exits_with_a_code(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "s.py", "import sys\nprint('so far')\nsys.exit(7)\n")
    run = gpuadvise("s.py")
    assert run.code == 3
    assert run.out == "so far\n"
    assert "status 7" in last_line(run.err)


def test_script_killed_by_a_signal(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "s.py", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    run = gpuadvise("s.py")
    assert run.code == 3
    assert "SIGSEGV" in last_line(run.err)


def test_missing_import_names_the_interpreter(
    gpuadvise: Callable[..., Run], tmp_path: Path
) -> None:
    write(tmp_path / "work", "s.py", "import surely_not_installed\n")
    run = gpuadvise("s.py")
    assert run.code == 3
    assert "surely_not_installed" in last_line(run.err)
    assert "install gpuadvise" in last_line(run.err)


def test_never_ends(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(
        tmp_path / "work",
        "s.py",
        HOT + "data = list(range(100_000))\nwhile True:\n    total(data)\n",
    )
    run = gpuadvise("--time-limit", "1.5", "s.py")
    assert run.code in (0, 1)
    assert "time limit" in run.err
    assert re.search(r"total", run.err), "advice on what was seen"


# --------------------------------------------------- unusual but good scripts
def check_plain(run: Run, out: str) -> None:
    assert run.code in (0, 1), run.err
    assert run.out == out


def expected_total(folder: Path) -> str:
    """What the work prints, from a plain run."""
    path = write(folder.parent, "plain.py", WORK)
    return subprocess.run([COMMAND[0], str(path)], capture_output=True, check=True).stdout.decode()


def test_standard_input_is_the_scripts(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(
        tmp_path / "work",
        "s.py",
        "import sys\nwords = sys.stdin.read().split()\n" + WORK + "print(words)\n",
    )
    run = gpuadvise("s.py", stdin=b"to be or not\n")
    check_plain(run, expected_total(run.folder) + "['to', 'be', 'or', 'not']\n")


def test_arguments_are_the_scripts(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "s.py", "import sys\nprint(sys.argv)\n" + WORK)
    run = gpuadvise("--quiet", "s.py", "--apply", "-m", "--", "x", "--json=y")
    check_plain(
        run, "['s.py', '--apply', '-m', '--', 'x', '--json=y']\n" + expected_total(run.folder)
    )
    assert names(run.folder) == ["s.py"]


def test_name_of_a_subcommand(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "work", "rules", "print('mine')\n")
    for arguments in (("./rules",), ("--", "rules"), ("--quiet", "rules")):
        assert gpuadvise(*arguments).out == "mine\n"
    assert "NP2" in gpuadvise("rules").out


def test_changes_directory_and_removes_its_files(
    gpuadvise: Callable[..., Run], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "data").mkdir()
    write(work, "data/in.txt", "41\n")
    write(
        work,
        "s.py",
        "import os\nos.chdir('data')\nn = int(open('in.txt').read())\nos.remove('in.txt')\n"
        "with open('log.txt', 'a') as log:\n    log.write('once\\n')\n" + WORK + "print(n + 1)\n",
    )
    run = gpuadvise("s.py")
    check_plain(run, expected_total(work) + "42\n")
    assert (work / "data" / "log.txt").read_text() == "once\n", "one real run only"
    assert names(work / "data") == ["log.txt"]


def test_file_and_main(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, "table.txt", "3")
    write(
        work,
        "s.py",
        "from pathlib import Path\nn = int((Path(__file__).parent / 'table.txt').read_text())\n"
        + HOT
        + "if __name__ == '__main__':\n    print(n, total(range(4_000_000)) > 0)\n",
    )
    check_plain(gpuadvise("s.py"), "3 True\n")


def test_module_with_relative_imports(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, "pack/__init__.py", "")
    write(work, "pack/parts.py", HOT)
    write(
        work,
        "pack/tool.py",
        "import sys\nfrom .parts import total\nprint(__name__, __package__, sys.argv[1:])\n"
        "print(total(range(4_000_000)) > 0)\n",
    )
    run = gpuadvise("-m", "pack.tool", "--flag")
    check_plain(run, "__main__ pack ['--flag']\nTrue\n")
    assert "parts.py" in run.err, "the hot loop lies in a module beside the script"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children(gpuadvise: Callable[..., Run], tmp_path: Path, method: str) -> None:
    write(
        tmp_path / "work",
        "s.py",
        "import multiprocessing as mp\n" + HOT + "if __name__ == '__main__':\n"
        f"    with mp.get_context('{method}').Pool(2) as pool:\n"
        "        print(pool.map(total, [range(2_000_000)] * 2))\n"
        "    print(total(range(3_000_000)) > 0)\n",
    )
    run = gpuadvise("s.py")
    assert run.code in (0, 1), run.err
    assert last_line(run.out) == "True"


def test_threads(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(
        tmp_path / "work",
        "s.py",
        "import threading\n" + HOT + "threads = [threading.Thread(target=total, "
        "args=(range(2_000_000),)) for _ in range(2)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nprint('joined')\n",
    )
    check_plain(gpuadvise("s.py"), "joined\n")


def test_read_only_folder(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, "s.py", WORK)
    work.chmod(0o555)
    try:
        run = gpuadvise("s.py")
    finally:
        work.chmod(0o755)
    check_plain(run, expected_total(work))


def test_two_runs_that_differ(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    write(
        tmp_path / "work",
        "s.py",
        f"import time\n{SMOOTHING}for _ in range(6):\n    a = smooth(a)\n"
        "print(a.sum())\nprint('at', time.time())\n",
    )
    run = gpuadvise(*NUMPY_ALONE, "s.py")
    assert run.code == 0, run.err
    assert "differ" in run.err, "it must say that a line of the output does not repeat"


# --------------------------------------------------------------- terminals
def test_asks_for_input_in_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, "s.py", "name = input('who? ')\n" + WORK + "print('hello', name)\n")
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "s.py"], cwd=tmp_path, timeout=90)
    child.expect_exact("who? ")
    child.sendline("Ada")
    child.expect_exact("hello Ada")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus in (0, 1)


def test_script_sees_a_terminal_as_before(tmp_path: Path) -> None:
    write(tmp_path, "s.py", "import sys\nprint(sys.stdin.isatty(), sys.stdout.isatty())\n")
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "s.py"], cwd=tmp_path, timeout=90)
    child.expect_exact("True True")
    child.expect(pexpect.EOF)
    child.close()


@pytest.mark.parametrize("later", [False, True], ids=["the bare run", "a later run"])
def test_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: bool) -> None:
    """Ctrl-C in the bare run and in a later one: children end, scratch copies go."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    text = "print('begun', flush=True)\n" + HOT + "print(total(range(12_000_000)), flush=True)\n"
    write(tmp_path, "s.py", text)
    process = subprocess.Popen(
        [*COMMAND, *UNHURRIED, "s.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    # By what the script does, not by the clock: on a busy machine Python itself may not be up yet.
    assert process.stdout.readline() == b"begun\n"
    if later:
        process.stdout.readline()
        wait_for_a_run_in(scratch)
    os.killpg(process.pid, signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    assert b"interrupted" in err
    assert leftovers(scratch) == []
    time.sleep(0.2)
    assert processes(str(scratch)) == []


def wait_for_a_run_in(scratch: Path) -> None:
    """Until a copy of the script runs there, under one of the profilers."""
    end = time.monotonic() + 60
    while not any(re.search("runner.py|scalene", line) for line in processes(str(scratch))):
        assert time.monotonic() < end, "no later run was begun"
        time.sleep(0.02)


def test_writes_outside_its_folder(gpuadvise: Callable[..., Run], tmp_path: Path) -> None:
    """One real run, many trial runs: the file elsewhere is written once, and compared."""
    outside = tmp_path / "elsewhere.txt"
    text = (
        f"{SMOOTHING}a = smooth(a)\nopen({str(outside)!r}, 'a').write('once\\n')\n"
        "for _ in range(6):\n    a = smooth(a)\nprint(a.sum())\n"
    )
    write(tmp_path / "work", "s.py", text)
    run = gpuadvise("--apply", *NUMPY_ALONE, "s.py")
    assert outside.read_text() == "once\n"
    assert run.code == 0, run.err
    outcome = " ".join(run.err.split())
    assert "unverified as a whole script" not in outcome
    assert "goes to a scratch folder, compared there" in outcome
    assert (run.folder / "s.py").read_text() != text


@pytest.mark.parametrize("effect", ["database", "network"])
def test_effects_that_cannot_be_redirected(
    gpuadvise: Callable[..., Run], tmp_path: Path, effect: str
) -> None:
    """A trial run that is refused something goes another way than the real one: no proof."""
    outside = tmp_path / "elsewhere.db"
    code = f"import sqlite3\nsqlite3.connect({str(outside)!r}).execute('create table t (x)')\n"
    if effect == "network":
        code = (
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\n"
            "except OSError:\n    print('offline')\n"
        )
    text = (
        f"{SMOOTHING}a = smooth(a)\n{code}for _ in range(6):\n    a = smooth(a)\nprint(a.sum())\n"
    )
    write(tmp_path / "work", "s.py", text)
    run = gpuadvise("--apply", *NUMPY_ALONE, "s.py")
    assert run.code == 0, "advice on recorded calls is advice"
    outcome = "".join(run.err.split())  # long paths are broken over lines
    words = {"database": f"it writes {outside}, outside", "network": "it talks to the network"}
    assert f"unverified as a whole script: {words[effect]}".replace(" ", "") in outcome
    assert (run.folder / "s.py").read_text() == text, "what is unverified is never applied"


@pytest.mark.parametrize("runs", ["0", "-3", "many", "1.5"])
def test_runs_is_a_positive_number(gpuadvise, runs):
    write(gpuadvise("--version").folder, "s.py", "print(1)\n")
    done = gpuadvise("--runs", runs, "s.py")
    assert done.code == 2 and "--runs" in done.err
    assert done.out == "", "the script did not run"
