"""One attempt: a forked copy of a held state runs the original or a candidate, once.

Everything in this module happens in the grandchild, which ends with ``os._exit``: nothing has to
be undone, and no exit handler or buffered output of the user's program runs a second time.
"""

# pathlib would be one more module that the program has not imported itself
# ruff: noqa: PTH109, PTH118, PTH119, PTH123

from __future__ import annotations

import ast
import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

from . import capture, rebuild
from .states_api import Held, HeldCall
from .warmup import warm_up

OUTPUT_LIMIT = 16 << 20
"""Bytes of output compared per attempt."""
MEMORY_FLOOR = 4 << 30
"""Bytes of address space an attempt may always add."""


@dataclass(frozen=True)
class Request:
    """What the tool asks for."""

    side: str
    """``original`` or ``candidate``."""
    originals: Mapping[str, bytes]
    """Text of the user's files as the program was started with, by the path users know."""
    changed: Mapping[str, bytes]
    """New text of the files that the candidate changes."""
    warm: bool
    """Call once on a shuffled copy first, then on the state."""
    capture: bool
    limit: float
    trial: str
    """Folder in which the new text lies, and compiled code may be cached."""

    @classmethod
    def parse(cls, fields: Mapping[str, Any], trial: str) -> Request:
        """From the JSON of the tool."""

        def texts(key: str) -> dict[str, bytes]:
            return {path: text.encode("latin-1") for path, text in fields[key].items()}

        return cls(
            side=fields["side"],
            originals=texts("originals"),
            changed=texts("changed"),
            warm=fields["warm"],
            capture=fields["capture"],
            limit=fields["limit"],
            trial=trial,
        )


@dataclass(frozen=True)
class Streams:
    """File descriptors that the tool opened."""

    capture: int
    stdout: int
    stderr: int


class Files:
    """Where the user's files are in this process: live name of the code, namespace."""

    def __init__(self, state: Held, paths: Iterable[str]) -> None:
        root = state.module_file.removesuffix(state.file)
        live = {path: root + path for path in paths}
        live[state.file] = _live_name(state)
        self.filenames: Mapping[str, str] = live
        self.namespaces: dict[str, dict[str, Any]] = {state.file: state.namespace}
        by_file = {getattr(m, "__file__", None): m for m in list(sys.modules.values())}
        for path, name in live.items():
            module = by_file.get(name)
            if path != state.file and isinstance(module, types.ModuleType):
                self.namespaces[path] = module.__dict__


def _live_name(state: Held) -> str:
    if isinstance(state, HeldCall):
        code = getattr(state.function, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    return state.module_file


def restore_all(state: Held, originals: Mapping[str, bytes]) -> None:
    """Remove the instrumentation from the live code (once, in the holder)."""
    files = Files(state, originals)
    for path, text in originals.items():
        if path in files.namespaces:
            rebuild.restore(files.namespaces[path], text, files.filenames[path])


# -------------------------------------------------------------------- process
def isolate(streams: Streams, parent: int) -> None:
    """Own process group, no core files, bounded memory, output to files, dies with its parent."""
    os.setpgid(0, 0)
    die_with_parent(parent)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: _address_space()}
    for which, wanted in limits.items():
        hard = resource.getrlimit(which)[1]
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (bound, hard))
    os.dup2(streams.stdout, 1)
    os.dup2(streams.stderr, 2)


def die_with_parent(parent: int) -> None:
    """Linux: be killed as soon as the parent is gone. Elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _address_space() -> int:
    """What is mapped now, and most of the free memory on top."""
    page = resource.getpagesize()
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            now = int(statm.read().split()[0]) * page
        free = os.sysconf("SC_AVPHYS_PAGES") * page
    except (OSError, ValueError):
        return resource.RLIM_INFINITY
    return now + max(MEMORY_FLOOR, int(free * 0.8))


# ----------------------------------------------------------------------- code
Invoke = Callable[[], Any]


def prepare(state: Held, request: Request) -> Invoke:
    """Put the asked-for code in place. Raises rebuild.Unavailable."""
    files = Files(state, request.originals)
    changed = request.changed if request.side == "candidate" else {}
    shown = {path: _write_text(request.trial, path, text) for path, text in changed.items()}
    if isinstance(state, HeldCall):
        for path, text in changed.items():
            if path not in files.namespaces:
                raise rebuild.Unavailable(f"{path} is not loaded at this call")
            old, name = request.originals[path], files.filenames[path]
            rebuild.adopt(files.namespaces[path], old, text, name, shown[path])
        return lambda: state.function(*state.args, **state.kwargs)
    return _statement(state, request, changed, files, shown)


def _write_text(folder: str, path: str, text: bytes) -> str:
    name = os.path.join(folder, os.path.basename(path))
    with open(name, "wb") as stream:
        stream.write(text)
    return name


def _statement(
    state: Any, request: Request, changed: Mapping[str, bytes], files: Files, shown: dict[str, str]
) -> Invoke:
    old = request.originals[state.file]
    new = changed.get(state.file, old)
    setup, original, candidate = rebuild.statements(old, new, state.line)
    filename = shown.get(state.file, files.filenames[state.file])
    future = rebuild.future_imports(ast.parse(new))
    if changed:
        rebuild.execute(state.namespace, [*future, *setup], filename)
        rebuild.swap(old, new, files.filenames[state.file], filename)
    chosen = candidate if changed else original
    module = ast.Module(body=[*future, *chosen], type_ignores=[])
    code = rebuild.compiled(module, filename)

    return lambda: exec(code, state.namespace)


# --------------------------------------------------------------------- states
def state_roots(
    state: Held, files: Files, leave_out: Mapping[str, frozenset[str]] | None = None
) -> dict[str, Any]:
    """What a call can change and somebody can see afterwards.

    ``leave_out``: globals not to look at, by file.
    """
    hidden = leave_out or {}
    roots: dict[str, Any] = {
        "globals": _visible(state.namespace, hidden.get(state.file, frozenset())),
        "modules": {
            path: _visible(space, hidden.get(path, frozenset()))
            for path, space in files.namespaces.items()
            if path != state.file
        },
        "classes": {path: _class_data(space) for path, space in files.namespaces.items()},
    }
    if isinstance(state, HeldCall):
        roots["arguments"] = [*state.args, *state.kwargs.values()]
        cells = getattr(state.function, "__closure__", None) or ()
        roots["closure"] = [_cell(cell) for cell in cells]
    return roots


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _visible(namespace: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    return {
        name: value
        for name, value in list(namespace.items())
        if not (name.startswith("__") or "gpuadvise" in name or name in hidden)
    }


def _class_data(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Class attributes that are data: counters, caches, defaults."""
    hidden = (types.FunctionType, staticmethod, classmethod, property)
    found: dict[str, Any] = {}
    for name, cls in list(namespace.items()):
        if isinstance(cls, type) and cls.__module__ == namespace.get("__name__"):
            found[name] = {
                key: value
                for key, value in vars(cls).items()
                if not (key.startswith("__") or key == "_abc_impl")
                and not isinstance(value, hidden)
                and not hasattr(type(value), "__get__")
            }
    return found


@dataclass
class Outcome:
    """How the call ended."""

    result: Any = None
    exception: BaseException | None = None
    setup: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    faults: int = 0


def measure(invoke: Invoke, outcome: Outcome) -> None:
    """Call, with the clock running around nothing else.

    The clocks were bound when this module was imported: new code may replace ``time.perf_counter``.
    """
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    cpu, start = process_time(), perf_counter()
    try:
        outcome.result = invoke()
    except BaseException as problem:  # the user's code: whatever it raises is its result
        outcome.exception = problem
    outcome.seconds = perf_counter() - start
    outcome.cpu = process_time() - cpu
    outcome.faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults


def _flush() -> None:
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, sys.__stdout__)}.values():
        with contextlib.suppress(Exception):  # the user's own stream object may do anything
            if stream is not None:
                stream.flush()


def run(state: Held, request: Request, streams: Streams, loaded: frozenset[str]) -> dict[str, Any]:
    """Do what was asked; the answer is JSON-able. ``loaded``: modules before the attempt."""
    outcome = Outcome()
    files = Files(state, request.originals)
    names = {path: frozenset(space) for path, space in files.namespaces.items()}
    start = perf_counter()
    try:
        invoke = prepare(state, request)
    except rebuild.Unavailable as reason:
        return {"status": "unavailable", "why": str(reason)}
    except BaseException as problem:  # the new top-level code itself may raise anything
        return {"status": "crashed", "why": _words(problem)}
    outcome.setup = perf_counter() - start
    if request.warm:
        data: Any = state.namespace
        if isinstance(state, HeldCall):
            data = [*state.args, *state.kwargs.values()]
        added = {p: frozenset(space) - names[p] for p, space in files.namespaces.items()}
        spaces = [(space, added[path]) for path, space in files.namespaces.items()]
        obstacle = warm_up(lambda: state_roots(state, files, added), spaces, data, invoke)
        if obstacle is not None:
            return {"status": "cold only", "why": obstacle}
        _flush()
        for stream in (1, 2):
            os.ftruncate(stream, 0)
            os.lseek(stream, 0, os.SEEK_SET)
    measure(invoke, outcome)
    _flush()
    answer = {
        "status": "done",
        "setup": outcome.setup,
        "seconds": outcome.seconds,
        "cpu": outcome.cpu,
        "faults": outcome.faults,
        "raised": None if outcome.exception is None else _words(outcome.exception),
    }
    if request.capture:
        try:
            _write_capture(state, files, outcome, streams, loaded)
        except capture.TooLarge as reason:
            return {"status": "unavailable", "why": f"the state has {reason}"}
    return answer


def _words(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}" if text else type(problem).__name__


def _write_capture(
    state: Held, files: Files, outcome: Outcome, streams: Streams, loaded: frozenset[str]
) -> None:
    problem = outcome.exception
    roots = {
        "result": outcome.result,
        "exception": problem
        if problem is None
        else [capture.qualified(type(problem)), problem.args],
        "stdout": os.pread(streams.stdout, OUTPUT_LIMIT, 0),
        "folder": _folder(),
        **state_roots(state, files),
        "random": sys.modules["random"].getstate() if "random" in loaded else None,
        "numpy.random": (
            sys.modules["numpy.random"].get_state() if "numpy.random" in loaded else None
        ),
    }
    with os.fdopen(os.dup(streams.capture), "wb", buffering=1 << 20) as stream:
        capture.write(roots, lambda piece: (stream.write(piece), None)[1])


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the program removed it
        return ""


def answer_and_exit(pipe: int, answer: Mapping[str, Any]) -> None:
    """The last act of an attempt."""
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)
