"""The instrumented run itself, inside the script's process: set up, run, write down, end."""

# In the program's process: as few objects and imports as can be.
# ruff: noqa: PTH105, PTH109, PTH120, PTH123

from __future__ import annotations

import ast
import atexit
import importlib.machinery
import json
import os
import signal
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn

from .holders import HolderPolicy, Holders
from .hooks import FunctionSite, LoopSite, Recorder
from .instrument import MODULE, LoopHooks, Makers, instrument
from .linetimer import LineTimers
from .lookup import used_chains
from .plan import FilePlan, RunPlan, SitePlan, plan_from_json
from .records import observation_to_json

CompileFile = Callable[[bytes, str], types.CodeType | None]
"""The code object of a file's text, or None to leave it to Python."""
STATES = "GPUADVISE_STATES"
"""Environment variable: address of the socket that holders connect to."""


class Session:
    """Everything that is recorded in one run, and the ways in which a run can end."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.pid = os.getpid()
        self.written = False
        self.files = {os.path.realpath(file.path): file for file in plan.files}
        expected = plan.expected or float("inf")
        self.recorder = Recorder(user_files=frozenset(plan.user_files), expected=expected)
        started = time.monotonic() if plan.started is None else plan.started
        deadline = None if plan.limit is None else started + plan.limit
        beside = self.recorder.beside
        self.timers = LineTimers(plan.budget, deadline, self._expired, plan.expected, beside)
        address = os.environ.pop(STATES, None)
        self.holders = (
            Holders(address, self.recorder.note, self.silence) if address is not None else None
        )

    # ------------------------------------------------------------ instrumenting
    def compile(self, data: bytes, path: str) -> types.CodeType | None:
        """The instrumented code of a file of the plan; None for any other file.

        Raises SyntaxError as Python does.
        """
        file = self.files.get(os.path.realpath(path))
        if file is None:
            return None
        file = FilePlan(path, file.original, file.functions, file.sites)
        makers = Makers(
            site=lambda site, node: self._site(file, site, node), timer=self.timers.make
        )
        return instrument(data, file, makers)

    def _site(self, file: FilePlan, site: SitePlan, node: ast.stmt) -> LoopHooks | None:
        policy = None
        if self.holders is not None and (site.is_function or site.qualname == MODULE):
            policy = HolderPolicy(site, file.original, file.path, self.holders)
        record: LoopSite | FunctionSite
        if site.is_function:
            record = FunctionSite(site, self.recorder, policy)
        else:
            record = LoopSite(site, used_chains(node), self.recorder, policy)
        self.recorder.sites.append(record)
        return record.hooks()

    def hook_imports(self) -> None:
        """Compile the plan's files ourselves; cached bytecode of them has no hooks."""
        loader = importlib.machinery.SourceFileLoader
        original = loader.get_code
        compile_file = self.compile

        def get_code(self: Any, fullname: str) -> types.CodeType | None:
            path = self.get_filename(fullname)
            code = compile_file(self.get_data(path), path) if path.endswith(".py") else None
            return code if code is not None else original(self, fullname)

        loader.get_code = get_code  # type: ignore[method-assign]

    # ------------------------------------------------------------------ ending
    def silence(self) -> None:
        """Switch everything off: in children, in holders, before another program takes over."""
        self.timers.stop()
        self.recorder.stop()

    def write(self, ended: str) -> None:
        """Write the records, once, and only in the program's own process."""
        if self.written or os.getpid() != self.pid:
            return
        self.written = True
        lines = self.timers.records()
        self.silence()
        data = {
            "ended": ended,
            "lines": lines,
            "sites": {s.plan.key: observation_to_json(s.result()) for s in self.recorder.sites},
            "notes": self.recorder.notes,
            "cost": self.recorder.cost,
        }
        temporary = f"{self.plan.out}.part"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(temporary, self.plan.out)

    def _expired(self) -> NoReturn:
        """The time limit: end as if killed, but with the records written."""
        self.write("limit")
        os._exit(124)

    def _terminated(self, signum: int, frame: types.FrameType | None) -> None:
        self.write("limit")
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    def watch_the_ends(self) -> None:
        """Write the records however the process ends, a kill or a crash in C apart."""
        # Registered first, so run last: after the program's own handlers and its threads.
        atexit.register(self.write, "exit")
        os.register_at_fork(after_in_child=self.silence)
        leave = os._exit

        def _exit(status: int) -> NoReturn:
            self.write("_exit")
            leave(status)

        os._exit = _exit
        # An interval timer survives exec, its handler does not: it would kill the new program.
        # No audit hook: line timing is switched on and off by audited calls, and a tick that comes
        # while a hook runs inside one of them cannot switch.
        os.execv, os.execve = self._replacing(os.execv), self._replacing(os.execve)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _replacing(self, function: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        """One of the two calls that all of ``os.exec*`` end in, with the records written first."""

        def replace_process(*args: Any, **kwargs: Any) -> NoReturn:
            self.write("exec")
            function(*args, **kwargs)

        return replace_process


# -------------------------------------------------------------------- running
def run_script(plan: RunPlan, compile_file: CompileFile) -> None:
    """What ``python script.py`` does, ``__main__`` included."""
    sys.argv = [plan.argv0 or plan.script, *plan.args]
    sys.path.insert(0, os.path.dirname(os.path.realpath(plan.script)))
    with open(plan.script, "rb") as file:
        data = file.read()
    code = compile_file(data, plan.script) or compile(data, plan.script, "exec", dont_inherit=True)
    main = _fresh_main()
    loader = importlib.machinery.SourceFileLoader("__main__", plan.script)
    vars(main).update(__file__=plan.script, __cached__=None, __loader__=loader)
    exec(code, vars(main))


def _fresh_main() -> types.ModuleType:
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main
    return main


def run_module(plan: RunPlan) -> None:
    """What ``python -m module`` does."""
    import runpy

    assert plan.module is not None
    sys.argv = [plan.script, *plan.args]
    sys.path.insert(0, os.getcwd())
    _fresh_main()
    # The name is private, but it is what the interpreter itself calls.
    runpy._run_module_as_main(plan.module)  # type: ignore[attr-defined]


def main(path: str) -> None:
    """Run the plan in the file ``path``; the exit is the program's own."""
    with open(path, encoding="utf-8") as file:
        plan = plan_from_json(json.load(file))
    session = Session(plan)
    session.hook_imports()
    session.watch_the_ends()
    session.timers.start()
    run_as_main(plan, session.compile)


def run_as_main(plan: RunPlan, compile_file: CompileFile) -> None:
    """Run the program as ``__main__``; what it raises is printed as Python prints it.

    Raises SystemExit with the program's status.
    """
    try:
        if plan.module is None:
            run_script(plan, compile_file)
        else:
            run_module(plan)
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = _own_part(error.__traceback__)
        # Not raised again: our frames would be in the traceback that the program prints.
        sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        raise SystemExit(code) from None


def _own_part(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without the frames of the launcher."""
    here = {__file__, instrument.__code__.co_filename, ast.__file__}
    while trace is not None and trace.tb_frame.f_code.co_filename in here:
        trace = trace.tb_next
    return trace
