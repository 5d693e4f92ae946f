"""The real run, in a tool process of its own, on pipes, files and pseudo-terminals."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from gpuadvise.observe.terminal import LineRecorder

DRIVER = """
import sys
from pathlib import Path
from gpuadvise.model import Target
from gpuadvise.observe.bare import real_run

limit = float(sys.argv[1]) or None
target = Target(script=Path("script.py").absolute(), args=tuple(sys.argv[2:]), cwd=Path.cwd(),
                python=sys.executable)
try:
    result = real_run(target, limit=limit, record=Path("record"))
except KeyboardInterrupt:
    Path("result").write_text("interrupted")
    sys.exit(130)
Path("result").write_text(f"{result.end} {result.stdout} {result.files}")
Path("numbers").write_text(f"{result.wall} {result.cpu} {result.max_rss} {result.page_faults}")
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "driver.py").write_text(DRIVER)
    return tmp_path


def tool(limit: float = 0.0, *args: str) -> list[str]:
    return [sys.executable, "driver.py", str(limit), *args]


def write(here: Path, text: str) -> None:
    (here / "script.py").write_text(textwrap.dedent(text))


def run(here: Path, *, limit: float = 0.0, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Raises TimeoutExpired if the tool waits for what never comes."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        tool(limit), cwd=here, capture_output=True, timeout=60, check=False, **options
    )


def result(here: Path) -> str:
    return (here / "result").read_text()


def record(here: Path) -> bytes:
    return (here / "record").read_bytes()


def test_streams_arguments_and_exit_are_the_scripts_own(here: Path) -> None:
    write(
        here,
        """
        import sys
        print(sys.argv[1:], sys.stdin.isatty(), sys.stdout.isatty(), __name__, sys.path[0])
        print("warn", file=sys.stderr)
        open("made", "w")
        sys.exit(3)
        """,
    )
    done = subprocess.run(
        tool(0, "-x", "--y=1"), cwd=here, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.stdout.decode() == f"['-x', '--y=1'] False False __main__ {here}\n"
    assert done.stderr == b"warn\n"
    assert result(here) == "Exited(code=3) None None"
    assert (here / "made").exists() and record(here) == b""


def test_wall_cpu_and_memory_are_measured(here: Path) -> None:
    write(
        here,
        """
        import time
        block = bytearray(60 << 20)
        while time.process_time() < 0.3: pass
        time.sleep(0.3)
        """,
    )
    run(here)
    wall, cpu, memory, faults = map(float, (here / "numbers").read_text().split())
    assert wall >= 0.6 and 0.3 <= cpu < wall
    assert memory > 60 << 20 and faults > 1000


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("raise ValueError", "Exited(code=1)"),
        ("import os; os.kill(os.getpid(), 9)", "Killed(signal=9)"),
        ("import os; os.remove(__file__)", "Exited(code=0)"),
    ],
)
def test_ends(here: Path, code: str, end: str) -> None:
    write(here, code)
    run(here, stdin=subprocess.DEVNULL)
    assert result(here).startswith(end)


def test_input_from_a_file_is_shared_and_recorded_from_its_offset(here: Path) -> None:
    write(here, "import os; print(os.read(0, 6)); os.remove('input')")
    (here / "input").write_bytes(b"skip\nline1\nline2\n")
    with (here / "input").open("rb", buffering=0) as stdin:
        stdin.read(5)
        done = run(here, stdin=stdin)
        assert done.stdout == b"b'line1\\n'\n"
        assert stdin.read() == b"line2\n"  # the script's reading moved the shared offset
    assert record(here) == b"line1\nline2\n"


def test_input_from_a_pipe_is_fed_and_recorded(here: Path) -> None:
    write(here, "import sys; print(len(sys.stdin.buffer.read()))")
    data = os.urandom(3_000_000)
    done = run(here, input=data)
    assert done.stdout == b"3000000\n"
    assert record(here) == data


def test_piped_input_arrives_as_it_is_typed(here: Path) -> None:
    write(here, "while True:\n    print('got', input(), flush=True)")
    with subprocess.Popen(
        tool(), cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for word in (b"one", b"two"):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"got " + word + b"\n"
        process.communicate()
    assert record(here) == b"one\ntwo\n"


def test_child_that_never_reads_does_not_block_nor_swallow(here: Path) -> None:
    write(here, "print('done')")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    total = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            total += os.write(writer, b"y" * 1024)
    assert run(here, stdin=reader).stdout == b"done\n"
    os.close(writer)
    left = 0
    while data := os.read(reader, 1 << 20):
        left += len(data)
    os.close(reader)
    assert total - left <= 16384
    assert len(record(here)) == total - left


def test_open_pipe_without_data_does_not_hold_us(here: Path) -> None:
    write(here, "print('done')")
    reader, writer = os.pipe()
    assert run(here, stdin=reader).stdout == b"done\n"
    os.close(reader)
    os.close(writer)


def test_closed_input(here: Path) -> None:
    write(here, "import sys; print(sys.stdin)")
    line = f"{sys.executable} driver.py 0 <&-"
    done = subprocess.run(["sh", "-c", line], cwd=here, capture_output=True, check=False)
    assert done.stdout == b"None\n", done.stderr


@pytest.mark.parametrize(
    ("handler", "least"),
    [
        ("", 2.0),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", 6.6),
    ],
)
def test_limit_interrupts_then_terminates(here: Path, handler: str, least: float) -> None:
    write(
        here,
        f"""
        import signal, time
        {handler}
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            open("tidy", "w")
            raise
        """,
    )
    began = time.monotonic()
    run(here, limit=2.0, stdin=subprocess.DEVNULL)
    assert least <= time.monotonic() - began
    assert result(here).startswith("Stopped(limit=2.0)")
    assert (here / "tidy").exists() is not bool(handler)


@contextlib.contextmanager
def started(here: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The tool in a session of its own, where no terminal can interrupt anything."""
    process = subprocess.Popen(
        tool(),
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_for(lambda: (here / "pid").exists() and bool((here / "pid").read_text()))
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("did not happen within a minute")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


SLEEPER = """
import os, signal, time
{handler}
try:
    open("pid", "w").write(str(os.getpid()))
    time.sleep(600)
finally:
    open("tidy", "a").write("x")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_tool_reach_the_script(here: Path, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored where these tests were started (nohup)")
    write(here, SLEEPER.format(handler="signal.signal(signal.SIGTERM, signal.default_int_handler)"))
    with started(here) as process:
        child = int((here / "pid").read_text())
        process.send_signal(number)
        code = process.wait(60)
        assert not alive(child)
    assert code == 128 + number
    if number != signal.SIGHUP:
        assert (here / "tidy").read_text() == "x"
    assert (here / "result").exists() is (number == signal.SIGINT)


def test_script_dies_with_a_killed_tool(here: Path) -> None:
    write(here, SLEEPER.format(handler=""))
    with started(here) as process:
        child = int((here / "pid").read_text())
        process.kill()
        process.wait()
        wait_for(lambda: not alive(child))


# ------------------------------------------------------------ terminals
def spawn(here: Path, limit: float = 0.0) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        tool(limit)[1:],
        cwd=str(here),
        encoding="utf-8",
        timeout=60,
        dimensions=(31, 77),
    )


ASK = """
import os, sys
print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size())
print("hello", input("name? "))
print(sys.stdin.read().upper())
"""


def test_terminal_is_relayed_and_lines_are_recorded(here: Path) -> None:
    write(here, ASK)
    terminal = spawn(here)
    terminal.expect_exact("True True True os.terminal_size(columns=77, lines=31)\r\n")
    terminal.expect_exact("name? ")
    terminal.send("boby\x7f\x7fx\r")
    terminal.expect_exact("hello box\r\n")
    terminal.send("second\r\x04")
    terminal.expect_exact("SECOND")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert result(here).startswith("Exited(code=0)")
    assert record(here) == b"box\nsecond\n"


CONTROL = termios.tcgetattr(pty.openpty()[1])[6]


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        ("abc\r", "abc\n"),
        ("é\x7f\x7fa\n", "a\n"),
        ("one two\x17three\r", "one three\n"),
        ("lost\x15kept\r", "kept\n"),
        ("lost\x03kept\r", "kept\n"),
        ("no newline\x04", "no newline"),
        ("not sent", ""),
    ],
)
def test_recorder_follows_line_editing(keys: str, lines: str) -> None:
    recorder = LineRecorder(CONTROL, utf8=True)
    recorder.feed(keys.encode())
    assert recorder.lines.decode() == lines


def test_recorder_erases_bytes_where_the_terminal_does() -> None:
    recorder = LineRecorder(CONTROL, utf8=False)
    recorder.feed("é\x7f\r".encode())
    assert bytes(recorder.lines) == "é".encode()[:1] + b"\n"


def test_control_c_at_the_terminal_ends_the_script_once(here: Path) -> None:
    write(here, SLEEPER.format(handler=""))
    terminal = spawn(here)
    wait_for((here / "pid").exists)
    time.sleep(0.2)
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert result(here) == "interrupted"
    assert (here / "tidy").read_text() == "x"


def test_resizing_reaches_the_script(here: Path) -> None:
    write(
        here,
        """
        import os, signal, time
        seen = []
        def resized(*_):
            seen.append(os.get_terminal_size())
            print("now", seen[-1])
        signal.signal(signal.SIGWINCH, resized)
        print("ready")
        while (90, 40) not in seen:
            time.sleep(0.05)
        """,
    )
    terminal = spawn(here)
    terminal.expect_exact("ready")
    terminal.setwinsize(40, 90)
    terminal.expect_exact("now os.terminal_size(columns=90, lines=40)")
    terminal.expect(pexpect.EOF)
    terminal.close()


def test_terminal_settings_are_restored(here: Path) -> None:
    write(here, "import sys; sys.stdin.readline(); raise SystemExit(1)")
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(
        ["setsid", "-c", *tool()], cwd=here, stdin=slave, stdout=slave, stderr=slave
    )
    wait_for(lambda: termios.tcgetattr(slave) != before)
    os.write(master, b"x\r")
    process.wait(60)
    after = termios.tcgetattr(slave)
    os.close(slave)
    os.close(master)
    assert after == before


def test_output_stays_a_pipe_when_only_the_input_is_a_terminal(here: Path) -> None:
    write(here, "import sys; print(input(), sys.stdin.isatty(), sys.stdout.isatty())")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", *tool()],
        cwd=here,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    os.close(slave)
    time.sleep(0.3)
    os.write(master, b"typed\r")
    assert process.communicate(timeout=60)[0] == b"typed True False\n"
    os.close(master)
    assert record(here) == b"typed\n"


@pytest.mark.parametrize("by_terminal", [True, False])
def test_sentinel_tells_control_c_from_kill(here: Path, by_terminal: bool) -> None:
    (here / "sentinel.py").write_text(
        "import signal, time\n"
        "from gpuadvise.observe.bare import _Sentinel\n"
        "sentinel = _Sentinel()\n"
        "signal.signal(signal.SIGINT, lambda *_: print('told', sentinel.child_was_told()))\n"
        "print('ready')\n"
        "time.sleep(60)\n"
        "sentinel.close()\n"
    )
    terminal = pexpect.spawn(sys.executable, ["sentinel.py"], cwd=str(here), timeout=60)
    terminal.expect_exact("ready")
    if by_terminal:
        terminal.sendintr()
    else:
        os.kill(terminal.pid, signal.SIGINT)
    terminal.expect_exact(f"told {by_terminal}")
    terminal.close(force=True)


def test_control_c_when_the_input_is_no_terminal_interrupts_the_script_once(here: Path) -> None:
    write(
        here,
        """
        import time
        try:
            open("pid", "w").write("x")
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(1.2)  # a second interrupt would break this off
            open("tidy", "w")
        """,
    )
    line = " ".join(tool()) + " < /dev/null"
    terminal = pexpect.spawn("sh", ["-c", f"exec {line}"], cwd=str(here), timeout=60)
    wait_for((here / "pid").exists)
    time.sleep(0.3)
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert (here / "tidy").exists()
    assert result(here) == "interrupted"


def test_kill_of_the_tool_in_the_foreground_is_passed_on(here: Path) -> None:
    write(here, SLEEPER.format(handler=""))
    line = " ".join(tool()) + " < /dev/null"
    terminal = pexpect.spawn("sh", ["-c", f"exec {line}"], cwd=str(here), timeout=60)
    wait_for((here / "pid").exists)
    time.sleep(0.3)
    os.kill(terminal.pid, signal.SIGINT)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert (here / "tidy").read_text() == "x"


def test_control_z_stops_script_and_tool_and_both_go_on(here: Path) -> None:
    write(
        here,
        """
        import os, time
        open("pid", "w").write(str(os.getpid()))
        for number in range(60):
            print("tick", number, flush=True)
            time.sleep(0.1)
            if input() == "end": break
        print("over")
        """,
    )
    shell = pexpect.spawn("sh", ["-i", "-m"], cwd=str(here), encoding="utf-8", timeout=60)
    shell.sendline("PS1='@ '")
    shell.expect_exact("\n@ ")
    shell.sendline(" ".join(tool()))
    shell.expect_exact("tick 0")
    shell.send("\x1a")
    shell.expect_exact("@ ")
    shell.sendline("echo in the $((40 + 2)) shell")
    shell.expect_exact("in the 42 shell")
    state = Path(f"/proc/{(here / 'pid').read_text()}/stat").read_text().rpartition(")")[2]
    assert state.split()[0] == "T"
    shell.sendline("fg")
    shell.sendline("a")
    shell.expect_exact("tick 1")
    shell.sendline("end")
    shell.expect_exact("over")
    shell.expect_exact("@ ")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    shell.close()
    assert result(here).startswith("Exited(code=0)")


def test_long_output_to_a_slow_terminal_is_complete(here: Path) -> None:
    write(here, "for i in range(3000): print('line', i)")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", *tool()], cwd=here, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    seen = b""
    while select.select([master], [], [], 10)[0]:
        try:
            seen += os.read(master, 500)
        except OSError:
            break
    process.wait(60)
    os.close(master)
    assert seen.split() == [word for i in range(3000) for word in (b"line", b"%d" % i)]
