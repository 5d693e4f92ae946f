"""What a program may do in a trial run, and what is left of it: the world outside its folder."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.errors import UsageProblem
from gpuadvise.model import Exited, Killed, Target
from gpuadvise.observe import landlock, launch, limits, process, running, sandbox
from gpuadvise.observe.elsewhere import may_write_elsewhere
from gpuadvise.observe.mirror import Limits
from gpuadvise.observe.sandbox import Sandbox

Make = Callable[..., Target]

needs_landlock = pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a script into a project folder and make a target of it; ``HERE`` is its parent."""

    def build(text: str, *args: str) -> Target:
        script = tmp_path / "proj" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(textwrap.dedent(text).replace("HERE", str(tmp_path)))
        return Target(script=script, args=args, cwd=script.parent, python=sys.executable)

    return build


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything about the files below a folder that a trial run could spoil."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


# ------------------------------------------------------------ writing elsewhere
LIKE_PLAIN_PYTHON = {
    "read what was written": """
        open(out + "/new.txt", "w").write("hello")
        open(out + "/old.txt", "a").write("more")
        print(open(out + "/new.txt").read(), open(out + "/old.txt").read())
        print(sorted(os.listdir(out)), sorted(glob.glob(out + "/*")))
        print(os.path.getsize(out + "/old.txt"))
    """,
    "remove and find it gone": """
        os.remove(out + "/old.txt")
        print(os.path.exists(out + "/old.txt"), sorted(os.listdir(out)))
        try: open(out + "/old.txt")
        except OSError as e: print(type(e).__name__, e.errno)
        open(out + "/old.txt", "w").close(); print(os.path.getsize(out + "/old.txt"))
    """,
    "rename": """
        os.rename(out + "/old.txt", out + "/other.txt")
        os.replace(out + "/sub/f", out + "/g")
        print(open(out + "/other.txt").read(), sorted(os.listdir(out)), os.listdir(out + "/sub"))
    """,
    "an output folder made anew": """
        shutil.rmtree(out)
        print(os.path.exists(out))
        os.makedirs(out + "/a/b", exist_ok=True)
        print(os.listdir(out))
        pathlib.Path(out, "a", "b", "x").write_bytes(b"1")
        print([(sorted(d), sorted(f)) for _, d, f in os.walk(out)])
    """,
    "a neighbour made anew": """
        out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "out")
        print(os.path.islink(out), os.path.islink(out + "/old.txt"))
        shutil.rmtree(out); os.mkdir(out); open(out + "/x", "w").close(); print(os.listdir(out))
    """,
    "folders removed one by one": """
        try: os.rmdir(out)
        except OSError as e: print(e.errno)
        os.remove(out + "/sub/f"); os.rmdir(out + "/sub"); print(os.listdir(out))
        os.mkdir(out + "/sub"); print(os.listdir(out + "/sub"), os.path.isdir(out + "/sub"))
    """,
    "the same errors": """
        for attempt in (
            lambda: open(out + "/none/x", "w"), lambda: open(out + "/old.txt/x", "w"),
            lambda: open(out + "/old.txt", "x"), lambda: open(out, "w"), lambda: os.mkdir(out),
            lambda: os.remove(out + "/none"), lambda: os.remove(out + "/sub"),
            lambda: os.rmdir(out + "/old.txt"), lambda: open(out + "/none", "r+"),
            lambda: os.rename(out + "/none", out + "/x"), lambda: os.chmod(out + "/none", 0o600),
        ):
            try: attempt()
            except OSError as e: print(type(e).__name__, e.errno)
    """,
    "modes and times": """
        os.chmod(out + "/old.txt", 0o600); os.utime(out + "/old.txt", (5, 6))
        known = os.stat(out + "/old.txt"); print(oct(known.st_mode), known.st_mtime)
        os.truncate(out + "/old.txt", 2); print(open(out + "/old.txt").read())
        os.symlink("old.txt", out + "/link"); print(os.readlink(out + "/link"))
        print(open(out + "/link").read())
    """,
    "another working folder": """
        os.chdir(out); open("x", "w").write("y"); print(sorted(os.listdir()), open("x").read())
        print([entry.name for entry in sorted(os.scandir(), key=lambda e: e.name)])
    """,
    "libraries": """
        import gzip, json, tempfile
        import numpy as np
        np.save(out + "/a.npy", np.arange(3.0)); np.savetxt(out + "/a.txt", [1.0])
        m = np.memmap(out + "/m", dtype="f8", mode="w+", shape=2); m[:] = 3; m.flush()
        print(np.load(out + "/a.npy"), np.loadtxt(out + "/a.txt"), np.memmap(out + "/m", "f8", "r"))
        with gzip.open(out + "/z.gz", "wt") as f: f.write("x")
        print(gzip.open(out + "/z.gz").read())
        with tempfile.NamedTemporaryFile(dir=out) as f, tempfile.TemporaryDirectory(dir=out) as d:
            f.write(b"1"); open(d + "/x", "w").close(); print(len(os.listdir(out)))
    """,
    "children of its own": """
        import multiprocessing, subprocess, sys
        open(out + "/x", "w").write("from the parent")
        child = f"print(open({out!r} + '/x').read()); open({out!r} + '/y', 'w').write('back')"
        subprocess.run([sys.executable, "-c", child], check=True)
        print(open(out + "/y").read())
    """,
}


@pytest.mark.parametrize("what", LIKE_PLAIN_PYTHON)
def test_writing_elsewhere_looks_as_in_a_plain_run(make: Make, tmp_path: Path, what: str) -> None:
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "sub" / "f").write_text("1")
    (out / "old.txt").write_text("old ")
    (out / "old.txt").chmod(0o644)
    head = "import glob, os, pathlib, shutil\nout = 'HERE/out'\n"
    target = make(head + textwrap.dedent(LIKE_PLAIN_PYTHON[what]))
    before = tree(tmp_path)
    with Sandbox(target) as box:
        trials = [box.run(box.command()) for _ in range(2)]
        assert box.obstacle is None
    assert tree(tmp_path) == before, "trial runs changed something of the user's"
    plain = subprocess.run([target.python, target.script], capture_output=True, check=False)
    assert plain.returncode == 0, plain.stderr
    for trial in trials:
        assert (trial.end, trial.stderr) == (Exited(0), b""), trial.stderr
        assert trial.stdout == plain.stdout
    first, second = ({k for k in trial.files or () if "tmp" not in k} for trial in trials)
    assert first == second


def test_a_library_that_the_environment_imports_before_the_script(
    make: Make, tmp_path: Path
) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    (packages,) = environment.glob("lib/*/site-packages")
    (packages / "early.pth").write_text("import shutil\n")
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "sub" / "f").touch()
    target = make("""
        import os, shutil
        shutil.rmtree("HERE/out")
        print(os.path.exists("HERE/out"))
    """)
    target = replace(target, python=str(environment / "bin" / "python"))
    with Sandbox(target) as box:
        trial = box.run(box.command())
        assert box.obstacle is None
    assert (trial.end, trial.stdout, trial.stderr) == (Exited(0), b"False\n", b"")
    assert (tmp_path / "out" / "sub" / "f").exists()


def test_files_elsewhere_are_part_of_what_is_compared(make: Make, tmp_path: Path) -> None:
    (tmp_path / "gone").touch()
    target = make(
        """
        import os, sys
        open("HERE/a.txt", "w").write(os.environ["WORD"])
        os.remove("HERE/gone")
        os.mkdir("HERE/folder")
        """
    )
    with Sandbox(target) as box:
        one, two = (box.run(box.command(), env={"WORD": word}) for word in ("one", "two"))
        assert box.path(tmp_path / "a.txt").read_text() == "two"
        assert any("a.txt" in note for note in box.notes)
    assert one.files is not None and two.files is not None
    changed = {Path(name).name: digest for name, digest in one.files.items()}
    assert set(changed) == {"a.txt", "gone", "folder"}
    assert (changed["gone"], changed["folder"]) == ("removed", "folder")
    assert one.files != two.files
    assert not (tmp_path / "a.txt").exists() and (tmp_path / "gone").exists()


def test_own_folder_by_its_absolute_name_is_the_copy(make: Make, tmp_path: Path) -> None:
    target = make(
        """
        import os
        here = "HERE/proj"
        print(open(here + "/state").read())
        open(here + "/state", "w").write("new"); os.makedirs(here + "/res", exist_ok=True)
        print(open("state").read(), sorted(os.listdir(here)) == sorted(os.listdir(".")))
        os.chdir(here + "/res"); open("x", "w").close(); print(os.path.exists("../res/x"))
        """
    )
    (target.cwd / "state").write_text("old")
    with Sandbox(target) as box:
        (target.cwd / "state").write_text("after the real run")
        results = [box.run(box.command()) for _ in range(2)]
    assert [r.stdout for r in results] == [b"old\nnew True\nTrue\n"] * 2, results[0].stderr
    assert {Path(name).name for name in results[0].files or ()} == {"state", "res", "x"}


def test_a_script_that_does_not_say_so_is_run_again_with_redirection(
    make: Make, tmp_path: Path
) -> None:
    target = make("import base64; open(base64.b64decode(open('where').read()), 'w').write('x')")
    (target.cwd / "where").write_bytes(base64.b64encode(os.fsencode(tmp_path / "late.txt")))
    assert not may_write_elsewhere(target)
    with Sandbox(target) as box:
        assert "builtins.open" not in (box.root / "guard" / "sitecustomize.py").read_text()
        result = box.run(box.command())
        assert result.ok and [Path(name).name for name in result.files or ()] == ["late.txt"]
    assert not (tmp_path / "late.txt").exists()


def test_plain_scripts_keep_the_builtin_open(make: Make) -> None:
    target = make("import os\nprint(type(open), type(os.stat))")
    with Sandbox(target) as box:
        assert (box.run(box.command()).stdout or b"").count(b"builtin_function") == 2


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("x = 1", (), False),
        ("open('out.txt', 'w')", (), False),
        ("open('/tmp/x', 'w')", (), True),
        ("open('../x', 'w')", (), True),
        ("p = Path.home() / 'x'", (), True),
        ("p = os.path.expanduser('~')", (), True),
        ("p = Path(__file__).parent", (), True),
        ("x = 1", ("/tmp/out",), True),
        ("x = 1", ("--out=/tmp/x",), True),
    ],
)
def test_who_may_write_elsewhere(
    make: Make, text: str, args: tuple[str, ...], expected: bool
) -> None:
    assert may_write_elsewhere(make(text, *args)) is expected


# ------------------------------------------------------------ beyond Python
@needs_landlock
def test_other_programs_and_c_libraries_cannot_write_elsewhere(make: Make, tmp_path: Path) -> None:
    (tmp_path / "keep").write_text("k")
    target = make(
        """
        import ctypes, os, subprocess
        os.system("echo x > HERE/shell; echo x >> HERE/keep; rm -f HERE/keep; mkdir HERE/d")
        subprocess.run(["env", "-i", "cp", "script.py", "HERE/copy"])
        libc = ctypes.CDLL(None)
        print(libc.creat(b"HERE/by_c", 0o600), libc.rename(b"HERE/keep", b"HERE/moved"))
        print(libc.truncate(b"HERE/keep", 0))
        os.system("echo inside > here; mkdir sub; mv here sub/")
        print(open("sub/here").read())
        """
    )
    before = tree(tmp_path)
    with Sandbox(target) as box:
        result = box.run(box.command())
        assert result.stdout == b"-1 -1\n-1\ninside\n\n", result.stderr
        assert box.obstacle and "Permission denied" in box.obstacle
        assert any("echo, env" in note for note in box.notes)
    assert tree(tmp_path) == before


def test_programs_that_are_refused_nothing_are_no_obstacle(make: Make) -> None:
    target = make("import os; os.system('echo x > here; cat here')")
    with Sandbox(target) as box:
        assert box.run(box.command()).stdout == b"x\n"
        assert box.obstacle is None and box.programs == ("echo",)


@needs_landlock
def test_the_tool_itself_stays_free(make: Make, tmp_path: Path) -> None:
    with Sandbox(make("pass")) as box:
        box.run(box.command())
        (tmp_path / "free").write_text("x")
        subprocess.run(["touch", str(tmp_path / "touched")], check=True)
    assert (tmp_path / "touched").exists()


@needs_landlock
def test_problems_in_the_confined_thread_arrive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        landlock.confined(lambda: subprocess.Popen(["/no/such/program"]), [tmp_path])


NETWORK = {
    "tcp": "socket.create_connection(('127.0.0.1', PORT))",
    "udp": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    "unix": "socket.socket(socket.AF_UNIX).connect('HERE/server')",
    "http": "import urllib.request; urllib.request.urlopen('http://127.0.0.1:PORT/')",
}


@pytest.mark.parametrize("way", NETWORK)
def test_nothing_is_sent(make: Make, tmp_path: Path, way: str) -> None:
    import socket

    kind = socket.SOCK_DGRAM if way == "udp" else socket.SOCK_STREAM
    with (
        socket.socket(type=kind) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        server.bind(("127.0.0.1", 0))
        local.bind(str(tmp_path / "server"))
        for listening in (local, server)[: 1 if way == "udp" else 2]:
            listening.listen()
            listening.setblocking(False)
        server.setblocking(False)
        code = NETWORK[way].replace("PORT", str(server.getsockname()[1]))
        target = make(
            f"import socket\ntry:\n    {code}\nexcept OSError as e:\n    print('offline')\n"
        )
        with Sandbox(target) as box:
            assert box.run(box.command()).stdout == b"offline\n"
            assert box.obstacle is not None
            assert "talks to the network" in box.obstacle and "line 3" in box.obstacle
        for receive in (local.accept, server.accept if way != "udp" else lambda: server.recv(9)):
            with pytest.raises(BlockingIOError):
                receive()


@needs_landlock
@pytest.mark.skipif(landlock.abi() < 4, reason="Landlock without network rules")
def test_other_programs_cannot_connect(make: Make) -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        target = make(
            "import subprocess, sys\n"
            f"subprocess.run([sys.executable, '-I', '-S', '-c', {code!r}])\n"  # no guard in there
        )
        with Sandbox(target) as box:
            assert b"PermissionError" in (box.run(box.command()).stderr or b"")
        with pytest.raises(BlockingIOError):
            server.accept()


@needs_proc
def test_only_processes_of_the_run_can_be_signalled(make: Make) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        target = make(
            f"""
            import os, signal, subprocess, sys, time
            for send in (os.kill, os.killpg):
                try: send({victim.pid}, signal.SIGKILL)
                except PermissionError as error: print(error)  # of the guard, not of the kernel
            own = subprocess.Popen(["sleep", "60"]); own.terminate(); print(own.wait())
            pid = os.fork()
            if pid == 0: time.sleep(60)
            os.kill(pid, signal.SIGKILL); print(os.waitpid(pid, 0)[1])
            os.kill({victim.pid}, 0)
            """
        )
        with Sandbox(target) as box:
            result = box.run(box.command())
            out = (result.stdout or b"").decode().split("\n")
            assert all(launch.NO_SIGNALS in line for line in out[:2]), result.stderr
            assert out[2:4] == ["-15", "9"], result.stderr
            assert box.obstacle and f"signal to process {victim.pid} (line 4)" in box.obstacle
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.skipif(landlock.abi() < 6, reason="Landlock without scopes")
def test_other_programs_cannot_signal(make: Make) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        target = make(f"import os; print(os.system('kill -9 {victim.pid}') != 0)")
        with Sandbox(target) as box:
            assert box.run(box.command()).stdout == b"True\n"
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_devices_and_streams_work_as_before(make: Make) -> None:
    target = make(
        """
        import os, sys
        open(os.devnull, "w").write("x")
        with open("/dev/stdout", "w") as out: out.write("out\\n")
        with open("/proc/self/fd/1", "a") as out: out.write("fd\\n")
        for place in ("/proc/sys/kernel/core_pattern", "/dev/mem"):
            try: open(place, "r+b"); print("open")
            except OSError as error: print(error.errno == 2 or "gpuadvise" in str(error))
        """
    )
    with Sandbox(target) as box:
        assert box.run(box.command()).stdout == b"out\nfd\nTrue\nTrue\n"


# ------------------------------------------------------------ nothing is left
@needs_proc
@pytest.mark.parametrize("how", ["close", "kill -9"])
def test_daemons_without_environment_end_too(make: Make, tmp_path: Path, how: str) -> None:
    target = make(
        """
        import os, subprocess, sys, time
        code = "import os, time; os.chdir('/'); print(os.getpid(), flush=True); time.sleep(60)"
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execve(sys.executable, [sys.executable, "-I", "-c", code], {})
                os._exit(0)
        time.sleep(0.5)
        time.sleep(float(sys.argv[1]))
        """,
        "0" if how == "close" else "60",
    )
    if how == "close":
        with Sandbox(target) as box:
            daemons = [int(word) for word in (box.run(box.command()).stdout or b"").split()]
            wait_for(lambda: not any(map(alive, daemons)))  # at the end of the run, not of the box
        assert len(daemons) == 2
        return
    driver = f"""
import pathlib, sys
sys.path[:0] = {sys.path!r}
from gpuadvise.model import Target
from gpuadvise.observe.sandbox import Sandbox
target = Target(script=pathlib.Path({str(target.script)!r}), cwd=pathlib.Path({str(target.cwd)!r}),
                python=sys.executable, args=("60",))
with Sandbox(target) as box:
    print(box.root, flush=True)
    box.run(box.command())
"""
    with subprocess.Popen([sys.executable, "-c", driver], stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        try:
            root = Path(tool.stdout.readline().decode().strip())
            wait_for(lambda: len(branded(root)) >= 3)
        finally:
            tool.kill()
    wait_for(lambda: not branded(root) and not root.exists())


def test_what_is_started_while_others_are_ended_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = [["101", "102"], [], ["103"], [], []]  # 102's child was not yet on the first two lists
    killed: list[int] = []

    def look(scratch: Path, run: int | None) -> Iterator[Path]:
        yield from (Path("/proc") / pid for pid in looks.pop(0))

    monkeypatch.setattr(process, "branded", look)
    monkeypatch.setattr(os, "kill", lambda pid, signal: killed.append(pid))
    process.end_branded(tmp_path)
    assert killed == [101, 102, 103]
    assert looks == []


@needs_proc
def test_who_is_dead_but_not_asked_for_is_not_left(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process.brand(child.pid, tmp_path, 3)
        assert [folder.name for folder in process.branded(tmp_path, 3)] == [str(child.pid)]
        process.end_branded(tmp_path)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and still to be reaped
        assert list(process.branded(tmp_path)) == []


@needs_proc
def test_the_watchdog_ends_what_the_tool_could_not_brand_before_it_died(make: Make) -> None:
    target = make("import time; print(1); time.sleep(60)")
    driver = f"""
import pathlib, sys, time
sys.path[:0] = {sys.path!r}
from gpuadvise.model import Target
from gpuadvise.observe import process, running
from gpuadvise.observe.sandbox import Sandbox
running.brand = lambda *of: None
def told(watchdog, pid):
    time.sleep(1)  # until the script is at work
    print(box.root, pid, flush=True)
process.Watchdog.add = told
target = Target(script=pathlib.Path({str(target.script)!r}), cwd=pathlib.Path({str(target.cwd)!r}),
                python=sys.executable)
with Sandbox(target) as box:
    box.run(box.command())
"""
    with subprocess.Popen([sys.executable, "-c", driver], stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        root, pid = tool.stdout.readline().decode().split()
        assert alive(int(pid)) and branded(Path(root)) == []
        tool.kill()
    wait_for(lambda: not at_work(int(pid)) and not Path(root).exists())


def at_work(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def branded(root: Path) -> list[str]:
    """The processes of a sandbox, but for those that init has still to reap."""
    from gpuadvise.observe.process import RUNS, brand_of

    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            limits = (folder / "limits").read_text().splitlines()
            status = (folder / "status").read_text()
        except OSError:
            continue
        words = next((k.split()[3] for k in limits if k.startswith("Max realtime timeout")), "")
        ours = words.isdigit() and int(words) // RUNS == brand_of(root)
        if ours and "\nState:\tZ" not in status:
            found.append(folder.name)
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("did not happen within 30 s")


@needs_proc
def test_shared_memory_of_a_killed_run_does_not_disturb_the_next(make: Make) -> None:
    name = f"gpuadvise_test_{os.getpid()}"
    target = make(
        f"""
        import os
        from multiprocessing import shared_memory
        block = shared_memory.SharedMemory(create=True, size=10, name={name!r})
        print("made", flush=True)
        os.killpg(0, 9)
        """
    )
    bystander = Path("/dev/shm", f"{name}_of_somebody")
    by_another = f"import os; os.system('touch {bystander}')"
    target.script.write_text(f"{by_another}\n{target.script.read_text()}")
    try:
        with Sandbox(target) as box:
            results = [box.run(box.command()) for _ in range(2)]
        assert [r.stdout for r in results] == [b"made\n"] * 2, results[1].stderr
        assert not Path("/dev/shm", name).exists()
        assert bystander.exists(), "not shared memory of the run: whose file it is, is not known"
    finally:
        bystander.unlink(missing_ok=True)


@needs_proc
def test_files_that_a_run_made_in_shared_memory_are_removed(make: Make) -> None:
    folder = Path("/dev/shm", f"gpuadvise_test_{os.getpid()}_results")
    older = Path("/dev/shm", f"gpuadvise_test_{os.getpid()}_older")
    older.write_text("of the user")
    target = make(
        f"""
        import os, pathlib
        pathlib.Path({str(older)!r}).open("a").close()
        place = pathlib.Path({str(folder)!r}, "of", "today")
        place.mkdir(parents=True, exist_ok=True)
        print(sorted(os.listdir(place)))
        (place / "draft").write_text("kept")
        (place / "draft").rename(place / "result")
        """
    )
    try:
        with Sandbox(target) as box:
            results = [box.run(box.command()) for _ in range(2)]
        assert [r.stdout for r in results] == [b"[]\n"] * 2, results[1].stderr
        assert not folder.exists()
        assert older.read_text() == "of the user"
    finally:
        older.unlink()
        shutil.rmtree(folder, ignore_errors=True)


@needs_proc
@pytest.mark.parametrize("end", ["by itself", "terminated", "killed"])
def test_semaphores_of_pools_are_removed(make: Make, end: str) -> None:
    target = make(
        """
        import multiprocessing, os, signal, sys, time
        if __name__ == "__main__":
            lock = multiprocessing.get_context("spawn").Lock()
            print(lock._semlock.name, flush=True)
            if sys.argv[1] == "killed": signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if sys.argv[1] != "by itself": time.sleep(60)
        """,
        end,
    )

    with Sandbox(target) as box:
        limit = None if end == "by itself" else 1.5
        names = [
            (box.run(box.command(), limit=limit, grace=0.1).stdout or b"").decode().strip()
            for _ in range(2)
        ]
    assert all(names), "the run did not come that far"
    assert not [name for name in names if Path(f"/dev/shm/sem.{name.strip('/')}").exists()]


# ------------------------------------------------------------ bounds
@needs_proc
def test_memory_is_bounded_and_no_core_is_dumped(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "available_memory", lambda: 2 << 30)
    target = make(
        """
        import mmap, resource
        print(resource.getrlimit(resource.RLIMIT_CORE)[0])
        reserved = mmap.mmap(-1, 8 << 30, mmap.MAP_PRIVATE, mmap.PROT_READ)  # as CUDA does
        try: bytearray(4 << 30)
        except MemoryError: print("refused")
        """
    )
    with Sandbox(target) as box:
        result = box.run(box.command())
    assert result.stdout == b"0\nrefused\n", result.stderr


@pytest.mark.parametrize("what", ["memory", "disk"])
def test_a_run_ends_before_the_machine_does(
    make: Make, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    target = make("import time; time.sleep(60)")
    with Sandbox(target) as box:
        if what == "memory":
            monkeypatch.setattr(limits, "MEMORY_LEFT", 1 << 60)
        else:
            monkeypatch.setattr(limits, "DISK_LEFT", 1 << 60)
        assert box.run(box.command()).end == Killed(signal.SIGKILL)
        assert any("a trial run was ended: only" in note for note in box.notes)


def test_no_room_for_the_copy_is_one_clear_line(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "DISK_LEFT", 1 << 60)
    box = Sandbox(make("pass"))
    with pytest.raises(UsageProblem, match=r"no room for the scratch copy in .*TMPDIR"):
        box.__enter__()
    assert not box.root.exists()


def test_what_cannot_be_copied_up_is_refused(make: Make, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(65 << 20)  # sparse
    target = make("open('HERE/huge', 'r+b').write(b'x')")
    with Sandbox(target) as box:
        assert box.run(box.command()).end == Exited(1)
        assert box.escapes == [tmp_path / "huge"]
    assert (tmp_path / "huge").stat().st_size == 65 << 20


def test_big_data_can_be_read_through_a_link_and_not_written(make: Make) -> None:
    target = make(
        """
        import mmap, os
        with open("big", "rb") as file: print(len(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)))
        os.system("echo x >> big")
        """
    )
    (target.cwd / "big").write_bytes(b"x" * 5000)
    inode = (target.cwd / "big").stat().st_ino
    with Sandbox(target, limits=Limits(file_bytes=1000), redirects=False) as box:
        assert (box.run(box.command()).stdout or b"").startswith(b"5000\n")
        place = box.path(target.cwd) / "big"
        assert place.is_symlink() or place.stat().st_ino != inode, "a hard link could be written"
    assert (target.cwd / "big").stat().st_size == 5000


def test_pipes_sockets_and_loops_in_the_folder_do_no_harm(make: Make) -> None:
    import socket

    target = make(
        "import os; print(sorted(os.listdir())); print(os.path.exists('loop/loop/script.py'))"
    )
    os.mkfifo(target.cwd / "pipe")
    (target.cwd / "loop").symlink_to(".")
    (target.cwd / "self").symlink_to("self")
    (target.cwd / "locked").mkdir(mode=0)
    with socket.socket(socket.AF_UNIX) as server, Sandbox(target) as box:
        server.bind(str(target.cwd / "socket"))
        result = box.run(box.command(), limit=20)
    assert result.stdout == b"['locked', 'loop', 'script.py', 'self']\nTrue\n", result.stderr


def test_a_run_notes_nothing_of_another(make: Make) -> None:
    assert running.STATES == "GPUADVISE_STATES"
    target = make("import sys, os\nif sys.argv[1:]: open('/', 'w')\nprint('fine')", "x")
    with Sandbox(target) as box:
        box.run(box.command())
        box.run([target.python, "script.py"])
        assert box.obstacle is None and box.escapes == []
