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
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

from . import capture, compile_clock, rebuild, surroundings
from .cuda_kernels import compiled_kernels
from .perturb_replay import BYTE_LIMIT, NODE_LIMIT, Execute, Order, Replay, dirty_memory
from .perturb_slots import inputs_of
from .reached import Files, described, in_words, state_roots
from .states_api import Held, HeldCall
from .unreached import Hidden, reaches_for, unreached, words_of
from .warmup import Snapshot, other_number, returned_again, warm_up
from .widen import Impossible, widened

OUTPUT_LIMIT = 16 << 20
"""Bytes of output compared per attempt."""
MEMORY_FLOOR = 4 << 30
"""Bytes of address space an attempt may always add."""


@dataclass(frozen=True)
class Request:
    """What the tool asks for."""

    side: str
    """``original`` or ``candidate``, or ``wider``: the original on wider floats."""
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
    again: bool = False
    """Where it is warmed up: say whether another call returns an object that this one made."""
    one: bool = False
    """Where it is warmed up: by one call, as one takes long."""
    perturb: Order | None = None
    """Run on perturbed inputs instead of the recorded ones."""

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
            again=fields.get("again", False),
            one=fields.get("one", False),
            perturb=Order.parse(fields["perturb"]) if fields.get("perturb") else None,
        )


@dataclass(frozen=True)
class Streams:
    """File descriptors that the tool opened."""

    capture: int
    stdout: int
    stderr: int


def restore_all(state: Held, originals: Mapping[str, bytes]) -> None:
    """Remove the instrumentation from the live code (once, in the holder)."""
    files = Files(state, originals)
    for path, text in originals.items():
        words_of(text)  # looked up once: attempts are copies of this process
        if path in files.namespaces:
            rebuild.restore(files.namespaces[path], text, files.filenames[path])


# -------------------------------------------------------------------- process
def isolate(streams: Streams, parent: int) -> None:
    """Own process group, no core files, bounded memory, output to files, dies with its parent."""
    os.setpgid(0, 0)
    die_with_parent(parent)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_DATA: _data_limit()}
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


def _data_limit() -> int:
    """What is written to now, and most of the free memory on top.

    Not the address space: a CUDA context alone reserves more addresses than there is memory.
    """
    page = resource.getpagesize()
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            now = int(statm.read().split()[5]) * page
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
    # Not written again: compilers take a new time stamp for new code, and compile once more.
    with contextlib.suppress(OSError), open(name, "rb") as known:
        if known.read() == text:
            return name
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


@dataclass(frozen=True)
class Ready:
    """Code that is in place, and what of the process is looked at when it has run."""

    invoke: Invoke
    loaded: frozenset[str]
    """Modules with random generators that were there before the attempt."""
    hidden: Hidden
    """Globals that it cannot reach."""


@dataclass
class Outcome:
    """How the call ended."""

    result: Any = None
    exception: BaseException | None = None
    setup: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    faults: int = 0
    before: surroundings.Settings = field(default_factory=dict)
    """Settings of the process as the call began."""


def measure(invoke: Invoke, outcome: Outcome, settings: Collection[str] = ()) -> None:
    """Call, with the clock running around nothing else.

    ``settings``: which of the process are looked at; all if none is named.

    The clocks were bound when this module was imported: new code may replace ``time.perf_counter``.
    """
    outcome.before = surroundings.snapshot(settings)
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
    hidden = unreached(state, files.namespaces, request.originals)
    start = perf_counter()
    try:
        if request.side == "wider":
            state = widened(state, files.namespaces.values())
        invoke = prepare(state, request)
    except Impossible as reason:
        return {"status": "unavailable", "why": str(reason)}
    except rebuild.Unavailable as reason:
        return {"status": "unavailable", "why": str(reason)}
    except BaseException as problem:  # the new top-level code itself may raise anything
        return {"status": "crashed", "why": in_words(problem)}
    outcome.setup = perf_counter() - start
    if beyond := reaches_for(state, request.originals, request.changed, hidden):
        return {"status": beyond[0], "why": beyond[1]}
    ready = Ready(invoke, loaded, hidden)
    if request.perturb is not None:
        return _perturbed(state, request, request.perturb, streams, ready, outcome.setup)
    before: Snapshot | None = None
    if request.warm:
        data: Any = state.namespace
        other: Invoke | None = None
        if isinstance(state, HeldCall):
            data = [*state.args, *state.kwargs.values()]
            other = _with_other_numbers(state)
        added = {p: frozenset(space) - names[p] for p, space in files.namespaces.items()}
        spaces = [(space, added[path]) for path, space in files.namespaces.items()]

        leave_out = {path: names | hidden.get(path, names) for path, names in added.items()}

        def roots() -> dict[str, Any]:
            return state_roots(state, files, leave_out)

        found = warm_up(roots, spaces, data, invoke, other, one=request.one)
        if isinstance(found, str):
            return {"status": "cold only", "why": found}
        before = found
        _flush()
        for stream in (1, 2):
            os.ftruncate(stream, 0)
            os.lseek(stream, 0, os.SEEK_SET)
    compiling = compile_clock.started()
    measure(invoke, outcome)
    _flush()
    answer = _ended(outcome)
    answer["compiling"] = compiling()
    if request.side == "candidate" and "numba.cuda" in sys.modules:
        answer["kernels"] = compiled_kernels(files.namespaces.values())
    if request.capture:
        try:
            _write_capture(state, files, outcome, streams, ready)
        except capture.TooLarge as reason:
            return {"status": "unavailable", "why": f"the state has {reason}"}
    if request.again and before is not None:
        answer["kept"] = returned_again(outcome.result, before, invoke)
    return answer


def _with_other_numbers(state: HeldCall) -> Invoke:
    args = [other_number(value) for value in state.args]
    kwargs = {name: other_number(value) for name, value in state.kwargs.items()}
    return lambda: state.function(*args, **kwargs)


def _ended(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": "done",
        "setup": outcome.setup,
        "seconds": outcome.seconds,
        "cpu": outcome.cpu,
        "faults": outcome.faults,
        "raised": None if outcome.exception is None else in_words(outcome.exception),
    }


def _perturbed(
    state: Held,
    request: Request,
    order: Order,
    streams: Streams,
    ready: Ready,
    spent: float,
) -> dict[str, Any]:
    """Run the code that is in place on perturbed inputs; the answer has one entry for each."""
    text = request.originals[state.file]
    files = Files(state, request.originals)
    modules = {str(space.get("__name__")) for space in files.namespaces.values()}
    inputs = inputs_of(state, text, modules)
    if isinstance(inputs, str):
        return {"status": "unavailable", "why": inputs}
    execute = _executor(files, streams, ready)
    replay = Replay(inputs, order, execute, streams.capture, spent)
    runs = replay.run()
    return {"status": "done", "runs": runs, "base": replay.base and replay.base.plain()}


def _executor(files: Files, streams: Streams, ready: Ready) -> Execute:
    limits = {"node_limit": NODE_LIMIT, "byte_limit": BYTE_LIMIT}

    def execute(state: Held) -> dict[str, Any]:
        def call() -> Any:
            assert isinstance(state, HeldCall)
            return state.function(*state.args, **state.kwargs)

        outcome = Outcome()
        run = call if isinstance(state, HeldCall) else ready.invoke
        measure(run, outcome, surroundings.QUICK)
        dirty_memory(0)  # the buffers of the capture need no filling
        _flush()
        try:
            _write_capture(state, files, outcome, streams, ready, **limits)
        except capture.TooLarge as reason:
            return {"status": "too large", "why": str(reason)}
        return _ended(outcome)

    return execute


def _write_capture(
    state: Held,
    files: Files,
    outcome: Outcome,
    streams: Streams,
    ready: Ready,
    *,
    node_limit: int = capture.NODE_LIMIT,
    byte_limit: int = capture.BYTE_LIMIT,
) -> None:
    problem = outcome.exception
    roots = {
        "result": outcome.result,
        "exception": None if problem is None else described(problem),
        "stdout": os.pread(streams.stdout, OUTPUT_LIMIT, 0),
        "folder": _folder(),
        "process": surroundings.changed_since(outcome.before),
        **state_roots(state, files, ready.hidden),
        "random": sys.modules["random"].getstate() if "random" in ready.loaded else None,
        "numpy.random": (
            sys.modules["numpy.random"].get_state() if "numpy.random" in ready.loaded else None
        ),
    }
    with os.fdopen(os.dup(streams.capture), "wb", buffering=1 << 16) as stream:
        capture.write(
            roots,
            lambda piece: (stream.write(piece), None)[1],
            node_limit=node_limit,
            byte_limit=byte_limit,
            final=True,
        )


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
