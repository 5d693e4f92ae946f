"""Real scripts in the scratch copy: what they see, what they leave, what they cannot reach."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuadvise.model import Exited, Killed, RunResult, Stopped, Target
from gpuadvise.observe import launch
from gpuadvise.observe.mirror import Limits
from gpuadvise.observe.sandbox import Sandbox

Make = Callable[..., Target]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a script into a project folder and make a target of it."""

    def build(text: str, *args: str, name: str = "script.py", module: str | None = None) -> Target:
        script = tmp_path / "proj" / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(textwrap.dedent(text))
        cwd = tmp_path / "proj"
        return Target(script=script, args=args, module=module, cwd=cwd, python=sys.executable)

    return build


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def text(result: RunResult) -> str:
    assert result.stdout is not None
    return result.stdout.decode()


def err(result: RunResult) -> str:
    assert result.stderr is not None
    return result.stderr.decode()


WHO_AM_I = """
import os, sys
print(sys.argv, __name__, __file__, __package__, __spec__ and __spec__.name, os.getcwd())
print(sys.path[0], sorted(globals()), sys.flags.safe_path)
print([name for name in sys.modules if name.startswith("gpuadvise")])
1 / len(sys.argv[3:])
"""


@pytest.mark.parametrize("module", [None, "pkg.script"])
def test_program_sees_what_plain_python_shows_it(make: Make, module: str | None) -> None:
    target = make(WHO_AM_I, "a", "-b", name="pkg/script.py", module=module)
    command = [target.python, *target.command]
    plain = subprocess.run(command, cwd=target.cwd, capture_output=True, check=False)
    with Sandbox(target) as box:
        result = box.run(box.command())
        assert result.end == Exited(1)
        assert box.plain(result.stdout or b"") == plain.stdout
        assert box.plain(result.stderr or b"") == plain.stderr


def test_guard_leaves_no_import_behind(make: Make) -> None:
    target = make("import sys\nprint(*sorted(sys.modules))\n")
    plain = subprocess.run([target.python, target.script], capture_output=True, check=True)
    with Sandbox(target) as box:
        seen = set(text(box.run(box.command())).split())
    assert seen - set(plain.stdout.decode().split()) <= {"sitecustomize"}


def test_every_run_starts_from_the_snapshot_and_reports_changes(make: Make) -> None:
    target = make(
        """
        import os
        with open("log.txt", "a") as log:
            log.write("x")
        print(open("log.txt").read(), open("input.txt").read())
        os.remove("input.txt")
        os.mkdir("made")
        open("made/file", "w").write("new")
        os.symlink("log.txt", "made/link")
        os.chmod("made", 0)
        """
    )
    (target.cwd / "log.txt").write_text("before ")
    (target.cwd / "input.txt").write_text("data")
    (target.cwd / "same.txt").write_text("data")
    with Sandbox(target) as box:
        root = str(target.cwd).lstrip("/")
        (target.cwd / "input.txt").unlink()  # the real run removed it; the snapshot is older
        first, second = (box.run(box.command()) for _ in range(2))
    assert text(first) == text(second) == "before x data\n"
    assert first.files == second.files
    assert first.files is not None
    assert set(first.files) == {
        f"{root}/{name}" for name in ("log.txt", "input.txt", "made", "made/file", "made/link")
    }
    assert first.files[f"{root}/input.txt"] == "removed"
    assert first.files[f"{root}/made/link"] == "link to log.txt"
    assert names(target.cwd) == {"script.py", "log.txt", "same.txt"}
    assert (target.cwd / "log.txt").read_text() == "before "


def test_a_twin_has_the_same_snapshot_whatever_was_changed_since(make: Make) -> None:
    """Two copies run at a time; links into the project lead to each one's own files."""
    target = make("print(open('link').read())\nopen('link', 'w').write('mine')\n")
    folder = target.cwd
    (folder / "data").write_text("before")
    (folder / "link").symlink_to(folder / "data")
    with Sandbox(target) as box:
        (folder / "data").write_text("after")
        with Sandbox(target, like=box) as twin:
            assert twin.copied == box.copied > 0
            assert text(twin.run(twin.command())) == "before\n"
            assert twin.path(folder / "data").read_text() == "mine"
        assert not twin.root.exists()
        assert text(box.run(box.command())) == "before\n"
    assert (folder / "data").read_text() == "after"


def test_what_runs_can_be_ended_from_another_thread(make: Make) -> None:
    target = make("import time\ntime.sleep(60)\n")
    with Sandbox(target) as box:
        box.fresh()
        running = box.start(box.command())
        box.end()
        assert isinstance(running.wait(30.0).end, Killed)
        running.close()


def test_rewriting_a_file_with_the_same_content_counts_as_a_change(make: Make) -> None:
    target = make("import pathlib; pathlib.Path('out.txt').write_text('x')")
    (target.cwd / "out.txt").write_text("x")
    with Sandbox(target) as box:
        writes = box.run(box.command())
        silent = box.run(box.command(), patched={target.script: b"pass\n"})
    assert list(writes.files or ()) and silent.files == {}


def test_a_disguised_change_is_found_and_undone(make: Make) -> None:
    target = make(
        """
        import os
        print(open("data").read())
        known = os.stat("data")
        open("data", "w").write("after ")
        os.utime("data", ns=(known.st_atime_ns, known.st_mtime_ns))
        """
    )
    (target.cwd / "data").write_text("before")
    with Sandbox(target) as box:
        results = [box.run(box.command()) for _ in range(2)]
    assert [text(result) for result in results] == ["before\n"] * 2
    assert [len(result.files or ()) for result in results] == [1, 1]


def test_patched_modules_take_effect_whatever_was_compiled_before(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    target = make("import helper; print(helper.value)")
    helper = target.cwd / "helper.py"
    helper.write_text("value = 0")
    with Sandbox(target) as box:
        seen = [text(box.run(box.command()))]
        for number in range(1, 4):  # same size, same second: only the content tells them apart
            seen.append(text(box.run(box.command(), patched={helper: b"value = %d" % number})))
        seen.append(text(box.run(box.command())))
        assert list(box.path(target.cwd).glob("__pycache__/helper*.pyc"))
    assert seen == ["0\n", "1\n", "2\n", "3\n", "0\n"]
    assert helper.read_text() == "value = 0"


def test_patching_a_file_outside_the_copied_folders_spares_the_original(
    make: Make, tmp_path: Path
) -> None:
    target = make("import sys; sys.path.insert(0, '../lib'); import near; print(near.value)")
    near = tmp_path / "lib" / "near.py"
    near.parent.mkdir()
    near.write_text("value = 1")
    with Sandbox(target) as box:
        assert text(box.run(box.command())) == "1\n"
        assert text(box.run(box.command(), patched={near: b"value = 2"})) == "2\n"
        assert text(box.run(box.command())) == "1\n"
    assert near.read_text() == "value = 1"


ESCAPES = {
    "open": "open(there, 'w')",
    "append": "open(there, 'a')",
    "os.open": "os.open(there, os.O_RDWR)",
    "remove": "os.remove(there)",
    "rename": "os.rename(there, there + '2')",
    "move in": "open('x', 'w').close(); os.replace('x', there)",
    "mkdir": "os.mkdir(there + '.d')",
    "rmtree": "shutil.rmtree(os.path.dirname(there))",
    "truncate": "os.truncate(there, 0)",
    "symlink": "os.symlink('x', there + '.l')",
    "hard link": "os.link(there, 'hard')",
    "chmod": "os.chmod(there, 0)",
    "utime": "os.utime(there, (1, 1))",
    "through a link": "os.symlink(there, 'link'); open('link', 'w')",
    "relative": "os.chdir(os.path.dirname(there)); open('file.txt', 'w')",
    "sqlite": "import sqlite3; sqlite3.connect(there + '.db')",
    "numpy": "import numpy; numpy.arange(3).tofile(there)",
    "spawned": "import subprocess; "
    "subprocess.run([sys.executable, '-c', f'open({there!r}, \"w\")'], check=True)",
    "forked": "pid = os.fork()\nif pid == 0: open(there, 'w')\nelse: sys.exit(os.wait()[1] >> 8)",
}


REFUSED_IN_ANY_CASE = ("hard link", "sqlite")


@pytest.mark.parametrize("way", ESCAPES)
@pytest.mark.parametrize("redirects", [False, True])
def test_original_folder_cannot_be_written_by_any_way(
    make: Make, tmp_path: Path, way: str, redirects: bool
) -> None:
    there = tmp_path / "elsewhere" / "file.txt"
    there.parent.mkdir()
    there.write_text("precious")
    known = there.stat()
    target = make(f"import os, shutil, sys\nthere = {str(there)!r}\n{ESCAPES[way]}\n")
    with Sandbox(target, redirects=redirects) as box:
        result = box.run(box.command())
        if redirects and way not in REFUSED_IN_ANY_CASE:
            assert result.ok and box.obstacle is None, err(result)
            assert [name for name in result.files or () if str(there.parent)[1:] in name]
        else:
            assert result.end == Exited(1)
            assert launch.REFUSAL in err(result)
            assert [path for path in box.escapes if path.is_relative_to(there.parent)]
            assert box.obstacle and ("(line " in box.obstacle or way == "spawned")
    assert names(there.parent) == {"file.txt"}
    assert there.read_text() == "precious" and there.stat().st_mode == known.st_mode
    assert there.stat().st_mtime_ns == known.st_mtime_ns


def test_writes_that_hurt_nobody_are_allowed(make: Make) -> None:
    target = make(
        """
        import os, tempfile, sqlite3, multiprocessing.shared_memory as shm
        open(os.devnull, "w").write("x")
        tempfile.NamedTemporaryFile().write(b"x")
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "f"), "w").write("x")
        sqlite3.connect(":memory:").execute("create table t (x)")
        sqlite3.connect("own.db").execute("create table t (x)")
        block = shm.SharedMemory(create=True, size=10)
        block.close(); block.unlink()
        """
    )
    with Sandbox(target) as box:
        result = box.run(box.command())
        assert (result.end, err(result), box.escapes) == (Exited(0), "", [])


def test_a_program_that_survives_the_refusal_is_still_reported(make: Make, tmp_path: Path) -> None:
    away = tmp_path / "away.txt"
    target = make(f"try: open({str(away)!r}, 'w')\nexcept OSError as e: print(e.errno)\n")
    with Sandbox(target, redirects=False) as box:
        assert text(box.run(box.command())) == "13\n"
        assert box.escapes == [away]
        box.run(box.command(), patched={target.script: b"pass"})
        assert box.escapes == []


def test_arguments_and_search_path_into_the_project_lead_to_the_copy(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tmp_path / "proj"
    target = make(
        "import sys, helper; open(sys.argv[1], 'a').write('!'); print(helper.__file__, sys.argv)",
        str(project / "data.txt"),
        f"--out={project}/o",
        f"{project}-other",
    )
    (project / "data.txt").write_text("data")
    (project / "lib").mkdir()
    (project / "lib" / "helper.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(project / "lib"))
    with Sandbox(target) as box:
        result = box.run(box.command())
        run = str(box.path(Path("/"))).rstrip("/")
        assert result.ok, err(result)
        assert text(result).startswith(f"{run}{project}/lib/helper.py")
        assert f"'--out={run}{project}/o', '{project}-other'" in text(result)
    assert (project / "data.txt").read_text() == "data"


def test_editable_installs_lead_to_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = type("__editable___thing_finder", (), {})  # stands for the module as well
    finder.MAPPING = {"thing": "/proj/src/thing", "other": "/else"}  # type: ignore[attr-defined]
    hook = type("Finder", (), {"__module__": "__editable___thing_finder"})
    monkeypatch.setitem(sys.modules, "__editable___thing_finder", finder)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "meta_path", [hook])
    monkeypatch.setattr(sys, "path", ["/proj/src", "/proj", "/project", "/usr/lib"])
    launch._move_search_path((("/proj", "/run/proj"),))
    assert sys.path == ["/run/proj/src", "/run/proj", "/project", "/usr/lib"]
    assert finder.MAPPING == {"thing": "/run/proj/src/thing", "other": "/else"}  # type: ignore[attr-defined]


def test_neighbours_and_links_resolve(make: Make, tmp_path: Path) -> None:
    target = make(
        """
        print(open("../data/a.txt").read(), open("inner.txt").read(), open("outer.txt").read())
        open("absolute.txt", "a").write("+")
        print(open("real.txt").read())
        """
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("neighbour")
    (target.cwd / "real.txt").write_text("real")
    (target.cwd / "inner.txt").symlink_to("real.txt")
    (target.cwd / "absolute.txt").symlink_to(target.cwd / "real.txt")
    (target.cwd / "outer.txt").symlink_to("../data/a.txt")
    with Sandbox(target) as box:
        result = box.run(box.command())
    assert text(result) == "neighbour real neighbour\nreal+\n", err(result)
    assert (target.cwd / "real.txt").read_text() == "real"


@pytest.mark.parametrize("inner", [".", "sub"])
def test_project_reached_through_a_link_is_one_copy(tmp_path: Path, inner: str) -> None:
    real = tmp_path / "real" / inner
    real.mkdir(parents=True)
    (real / "s.py").write_text(
        "import os; open('here', 'w'); print(os.listdir(os.path.dirname(__file__)))"
    )
    (tmp_path / "link").symlink_to(tmp_path / "real")
    target = Target(script=tmp_path / "link" / inner / "s.py", cwd=real, python=sys.executable)
    with Sandbox(target) as box:
        result = box.run(box.command())
        assert sorted(eval(text(result))) == ["here", "s.py"]
        assert box.escapes == []
    assert names(real) == {"s.py"}


def test_nothing_is_missing_where_the_budget_ends_beside_the_script(
    make: Make, tmp_path: Path
) -> None:
    target = make("import os; print(os.listdir('..'), os.listdir('../../a'))", name="x/y/s.py")
    (target.cwd / "x" / "data").touch()
    (target.cwd / "a").mkdir()
    (target.cwd / "a" / "file").touch()
    at_script = Target(script=target.script, cwd=target.script.parent, python=target.python)
    with Sandbox(at_script, folders=[target.cwd], limits=Limits(files=1)) as box:
        assert set(text(box.run(box.command())).split("'")) >= {"data", "y", "file"}


def test_large_and_many_files_are_linked_and_protected(make: Make) -> None:
    target = make("print(len(open('big', 'rb').read()))\nopen('big', 'ab').write(b'x')\n")
    (target.cwd / "big").write_bytes(b"x" * 5000)
    with Sandbox(target, limits=Limits(file_bytes=1000)) as box:
        result = box.run(box.command())
        linked = (box.path(target.cwd) / "big").is_symlink()  # else the blocks are shared
        assert text(result) == "5000\n" and result.ok
        assert len(result.files or ()) == 1
        assert any("linked" in note for note in box.notes) == linked
    assert (target.cwd / "big").stat().st_size == 5000


def test_a_huge_tree_costs_bounded_time(make: Make) -> None:
    target = make("import os; print(len(os.listdir('many')), os.path.exists('many/d7/f7'))")
    for number in range(8):
        folder = target.cwd / "many" / f"d{number}"
        folder.mkdir(parents=True)
        for name in range(8):
            (folder / f"f{name}").touch()
    with Sandbox(target, limits=Limits(files=10)) as box:
        assert text(box.run(box.command())) == "8 True\n"
        assert any("linked" in note for note in box.notes)


def test_home_is_copied_but_for_its_hidden_folders(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make("open('results/out', 'w'); open('.hidden/out', 'w')")
    for name in ("results", ".hidden"):
        (target.cwd / name).mkdir()
    monkeypatch.setenv("HOME", str(target.cwd))
    with Sandbox(target) as box:
        assert not box.path(target.cwd / "results").is_symlink()
        files = box.run(box.command()).files or {}
        assert {Path(name).parent.name for name in files} == {"results", ".hidden"}
        assert (box.path(target.cwd) / ".hidden").is_symlink()
    assert list((target.cwd / ".hidden").iterdir()) == []


def test_only_scratch_folders_are_left_out(make: Make) -> None:
    target = make("import os; print(sorted(os.listdir()))")
    for name in ("gpuadvise-main", "gpuadvise-12-abc"):
        (target.cwd / name).mkdir()
    with Sandbox(target) as box:
        assert text(box.run(box.command())) == "['gpuadvise-main', 'script.py']\n"


def test_environments_and_histories_are_linked_not_copied(make: Make) -> None:
    target = make("import os; print(os.path.exists('.git/x'), os.path.exists('env/pyvenv.cfg'))")
    for name in (".git/x", "env/pyvenv.cfg"):
        (target.cwd / name).parent.mkdir()
        (target.cwd / name).touch()
    with Sandbox(target) as box:
        assert text(box.run(box.command())) == "True True\n"
        assert box.path(target.cwd / ".git").is_symlink()
        assert box.path(target.cwd / "env").is_symlink()


def test_read_only_project_runs(make: Make) -> None:
    target = make("open('data.txt', 'a').write('x'); open('new', 'w'); print('fine')")
    (target.cwd / "data.txt").touch()
    (target.cwd / "data.txt").chmod(0o444)
    target.cwd.chmod(0o555)
    try:
        with Sandbox(target) as box:
            result = box.run(box.command())
            assert text(result) == "fine\n", err(result)
            assert box.path(target.cwd / "data.txt").stat().st_mode & 0o200
    finally:
        target.cwd.chmod(0o755)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("import sys; sys.exit(3)", Exited(3)),
        ("raise ValueError", Exited(1)),
        ("import os; os._exit(7)", Exited(7)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Killed(signal.SIGKILL)),
        ("import os; os.abort()", Killed(signal.SIGABRT)),
    ],
)
def test_ends_are_told_apart(make: Make, code: str, end: object) -> None:
    target = make(code)
    with Sandbox(target) as box:
        assert box.run(box.command()).end == end


def test_limit_ends_script_and_children(make: Make, tmp_path: Path) -> None:
    target = make(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(60)
        open(os.environ["TMPDIR"] + "/../own/pids", "w").write(str(os.getpid()))
        print("started", flush=True)
        while True:
            pass
        """
    )
    with Sandbox(target) as box:
        began = time.monotonic()
        result = box.run(box.command(), limit=2.0, grace=0.3)
        assert result.end == Stopped(2.0)
        assert time.monotonic() - began > 2.2
        assert text(result) == "started\n"
        assert result.cpu > 0.2
        assert_no_process_of(int((box.own / "pids").read_text()))


def assert_no_process_of(group: int) -> None:
    for _ in range(400):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a process of the group is left")


def test_children_left_behind_end_with_the_run(make: Make) -> None:
    target = make("import os, time\nif os.fork() == 0: time.sleep(60)\nprint(os.getpgid(0))")
    with Sandbox(target) as box:
        result = box.run(box.command())
        assert result.ok
        assert_no_process_of(int(text(result)))


def test_daemons_end_with_the_sandbox(make: Make) -> None:
    target = make(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            print(os.getpid(), flush=True)
            time.sleep(60)
        time.sleep(0.2)
        """
    )
    with Sandbox(target) as box:
        daemon = int(text(box.run(box.command())))
        os.kill(daemon, 0)
    assert_no_process_of(daemon)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools_work(make: Make, method: str) -> None:
    target = make(
        f"""
        import multiprocessing as mp
        def square(x):
            return x * x
        if __name__ == "__main__":
            mp.set_start_method({method!r})
            with mp.Pool(2) as pool:
                print(pool.map(square, range(4)))
        """
    )
    with Sandbox(target) as box:
        result = box.run(box.command(), limit=60)
        assert text(result) == "[0, 1, 4, 9]\n", err(result)


def test_threads_and_cpu_time_are_counted(make: Make) -> None:
    target = make(
        """
        import threading, time
        def work():
            end = time.thread_time() + 0.15
            while time.thread_time() < end: pass
        threads = [threading.Thread(target=work) for _ in range(2)]
        [t.start() for t in threads]; [t.join() for t in threads]
        block = bytearray(80 << 20)
        """
    )
    with Sandbox(target) as box:
        result = box.run(box.command())
    assert result.cpu >= 0.3 and result.wall >= 0.29
    assert result.max_rss > 80 << 20
    assert result.page_faults > 1000


def test_standard_input_comes_from_the_record(make: Make, tmp_path: Path) -> None:
    target = make("import sys; print(sys.stdin.read(), sys.stdin.isatty())")
    record = tmp_path / "record"
    record.write_text("fed")
    with Sandbox(target) as box:
        assert text(box.run(box.command(), stdin=record)) == "fed False\n"
        assert text(box.run(box.command())) == " False\n"


def test_output_is_bounded(make: Make) -> None:
    target = make(
        """
        import sys, time
        for _ in range(60):
            sys.stdout.write("x" * 100_000); sys.stdout.flush(); time.sleep(0.01)
        sys.stderr.write("end")
        """
    )
    with Sandbox(target, output_limit=1_000_000) as box:
        box.fresh()
        running = box.start(box.command())
        result = running.wait()
        assert result.ok
        assert result.stdout == b"x" * 1_000_000
        assert os.fstat(running._streams[0].fileno()).st_size == 1_000_000  # on disk, too
        running.close()
        assert result.stderr == b"end"
        assert any("standard output" in note for note in running.notes)


def test_changing_directory_and_own_removal(make: Make) -> None:
    target = make(
        """
        import os
        os.remove(__file__)
        os.makedirs("deep/er"); os.chdir("deep/er"); open("f", "w")
        print(os.path.exists(__file__))
        """
    )
    with Sandbox(target) as box:
        results = [box.run(box.command()) for _ in range(2)]
    assert [text(result) for result in results] == ["False\n"] * 2
    assert target.script.exists()


def test_interrupt_of_the_tool_cleans_up(make: Make) -> None:
    target = make("import time; time.sleep(600)")
    driver = f"""
import pathlib, sys, tempfile
sys.path[:0] = {sys.path!r}
from gpuadvise.model import Target
from gpuadvise.observe.sandbox import Sandbox
target = Target(script=pathlib.Path({str(target.script)!r}), cwd=pathlib.Path({str(target.cwd)!r}),
                python=sys.executable)
with Sandbox(target) as box:
    print(box.root, flush=True)
    box.run(box.command())
"""
    for number, code in ((signal.SIGINT, -signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)):
        tool = subprocess.Popen(
            [sys.executable, "-c", driver], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert tool.stdout is not None
        root = Path(tool.stdout.readline().decode().strip())
        wait_for(lambda root=root: bool(processes_of(root)))
        tool.send_signal(number)
        assert tool.wait(60) == code
        tool.stdout.close()
        wait_for(lambda root=root: not root.exists() and not processes_of(root))


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("did not happen within a minute")


def processes_of(root: Path) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(root) + b"/run" in words:
            found.append(int(folder.name))
    return found


def test_stale_scratch_folders_are_removed_and_others_kept(make: Make) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = Path(tempfile.mkdtemp(prefix=f"gpuadvise-{ended.pid}-"))
    (stale / "locked").mkdir(mode=0o000)
    ours = Path(tempfile.mkdtemp(prefix=f"gpuadvise-{os.getpid()}-"))
    named = Path(tempfile.mkdtemp(prefix="gpuadvise-notes-"))
    try:
        with Sandbox(make("pass")):
            assert not stale.exists()
        assert ours.exists() and named.exists()
    finally:
        ours.rmdir()
        named.rmdir()


def test_scratch_folder_is_private_and_goes(make: Make) -> None:
    target = make("pass")
    with Sandbox(target) as box:
        assert stat.S_IMODE(box.root.stat().st_mode) == 0o700
        assert box.original(box.path(target.script)) == target.script
        assert box.original(Path("/usr/lib/x.py")) == Path("/usr/lib/x.py")
        box.run(box.command())
        root = box.root
    assert not root.exists()
    assert names(target.cwd) == {"script.py"}
