"""Which program states are held, and the fork that holds them.

The forked child keeps the whole state of the program, copy-on-write, for the time when candidates
are tried. The program must not notice: no child to wait for, no signal, no change of any random
generator, no pipe kept open.
"""

# In the program's process: descriptors and /proc, without objects around them.
# ruff: noqa: PTH115, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import types
import warnings
from _thread import get_ident
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .functions import call_arguments, live_function
from .instances import slots, stored
from .plan import SitePlan
from .values import numpy_of_program

MAX_HOLDERS = 4
"""Held states of one site, those that were replaced not counted."""
MAX_SIGNATURES = 3
"""Type signatures of one site that get a state of their own, the first call's included."""
GROWTH = 2.0
"""A call must be so many times as large as the largest held one to take its place."""
MEMORY = 0.25
"""Share of the free memory that the program may take and still be copied: a holder can come to
own a copy of every page that the program writes to later."""

_PLAIN = frozenset((bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set))
"""Types that no attributes are looked for in: most arguments are of one of them."""


class HolderPolicy:
    """Chooses the entries of one site whose states are held."""

    def __init__(self, plan: SitePlan, file: str, module_file: str, holders: Holders) -> None:
        self.plan = plan
        self.file = file
        self.module_file = module_file
        self.holders = holders
        self.held: list[str] = []
        self.signatures: set[object] = set()
        self.largest = 0.0
        self.counts: dict[str, float] = {}
        """Largest integer seen of each name."""
        self.next_late = 10

    def consider_call(self, entry: int, frame: types.FrameType) -> bool:
        """At the first line of a function: hold it if the policy says so; True if held."""
        arguments = frame.f_locals
        reason = self.choose(entry, arguments)
        if reason is None:
            return False
        function = live_function(frame)
        if function is None:
            self.holders.note(f"{self.plan.qualname}: the function object was not found")
            return False
        args, kwargs = call_arguments(frame)

        def state() -> Any:
            from ..verify.states_api import HeldCall

            return HeldCall(
                site=self.plan.key,
                file=self.file,
                module_file=self.module_file,
                qualname=self.plan.qualname,
                entry=entry,
                reason=reason,  # type: ignore[arg-type]
                function=function,
                args=args,
                kwargs=kwargs,
                namespace=frame.f_globals,
            )

        return self._hold(reason, state)

    def consider_statement(
        self, entry: int, frame: types.FrameType, found: Mapping[str, Any]
    ) -> bool:
        """Right before a loop at top level: hold the module's state; True if held."""
        reason = self.choose(entry, found)
        if reason is None:
            return False

        def state() -> Any:
            from ..verify.states_api import HeldStatement

            return HeldStatement(
                site=self.plan.key,
                file=self.file,
                module_file=self.module_file,
                line=self.plan.line,
                entry=entry,
                reason=reason,  # type: ignore[arg-type]
                namespace=frame.f_globals,
            )

        return self._hold(reason, state)

    def choose(self, entry: int, values: Mapping[str, Any]) -> str | None:
        """The reason to hold this entry, or None; takes note of what it saw."""
        size = elements_of(values)
        signature = signature_of(values)
        is_new = signature not in self.signatures
        grown = self._grown(values)
        if entry == 1:
            self.signatures.add(signature)
            self.largest = size
            return "first"
        if is_new and len(self.signatures) < MAX_SIGNATURES:
            self.signatures.add(signature)
            self.largest = max(self.largest, size)
            return "signature" if self._room("signature") else None
        if size >= GROWTH * max(self.largest, 1.0) or (grown and size >= self.largest):
            self.largest = size
            return "largest" if self._room("largest") else None
        if entry >= self.next_late:
            while self.next_late <= entry:
                self.next_late *= 10
            return "late" if self._room("late") else None
        return None

    def _grown(self, values: Mapping[str, Any]) -> bool:
        """Whether an integer is much larger than it ever was under its name.

        Counter-example: ``draw(123456789, 5)``, then ``draw(1, 20000)``: taken together, the seed
        of the first call hides that the second one takes 4000 times as long.
        """
        grown = False
        for name, value in values.items():
            count = _count(value)
            if count >= GROWTH * max(self.counts.get(name, 0.0), 1.0):
                grown, self.counts[name] = True, count
        return grown

    def _room(self, reason: str) -> bool:
        replaces = reason in self.held and reason != "signature"
        return replaces or len(self.held) < MAX_HOLDERS

    def _hold(self, reason: str, state: Callable[[], Any]) -> bool:
        if not self.holders.hold(state):
            return False
        if reason == "signature" or reason not in self.held:
            self.held.append(reason)
        return True


def signature_of(values: Mapping[str, Any]) -> object:
    """Types of arguments, with dtype and dimension of arrays, and of the attributes of objects."""
    return tuple((name, _type_of(value, 1)) for name, value in values.items())


def _type_of(value: Any, depth: int) -> object:
    kind = type(value)
    numpy = numpy_of_program()
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return kind, value.dtype, value.ndim
    if kind is list or kind is tuple:
        return kind, _type_of(value[0], depth) if value else None
    members = _members(value) if depth else None
    if members:
        return kind, tuple((name, _type_of(part, 0)) for name, part in members.items())
    return kind


def size_of(values: Mapping[str, Any]) -> float:
    """A rough measure of the work of a call: elements of its arrays, and its integers."""
    return elements_of(values) + sum(map(_count, values.values()))


def elements_of(values: Mapping[str, Any]) -> float:
    """Elements of arrays and lists, those of plain objects' attributes too."""
    return sum(_size(value, 1) for value in values.values())


def _count(value: Any) -> float:
    """An integer that may be a trip count; those of an object's attributes are summed."""
    if type(value) is int:
        return min(float(abs(value)) if abs(value) < 1 << 62 else 0.0, 1e12)
    members = _members(value)
    if not members:
        return 0.0
    return float(sum(min(abs(n), 10**12) for n in members.values() if type(n) is int))


def _size(value: Any, depth: int) -> float:
    kind = type(value)
    numpy = numpy_of_program()
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return float(value.size)
    if kind is list or kind is tuple:
        return (
            len(value) * max(1.0, _size(value[0], 0)) if value and _nests(value[0]) else len(value)
        )
    members = _members(value) if depth else None
    return sum(_size(part, 0) for part in members.values()) if members else 0.0


def _nests(value: Any) -> bool:
    return type(value) in (list, tuple)


def _members(value: Any) -> Mapping[str, Any] | None:
    """The attributes that a plain object stores, if they are few; never computed."""
    kind = type(value)
    if kind in _PLAIN or issubclass(kind, types.ModuleType | type | types.FunctionType):
        return None
    members = stored(value)
    if members is None:
        members = _in_slots(value, kind)
    return members if 0 < len(members) <= 50 else None


def _in_slots(value: Any, kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in slots(kind).items():
        with contextlib.suppress(AttributeError):  # nothing was assigned to it
            found[name] = member.__get__(value, kind)
    return found


class Holders:
    """Forks holders, where that is sound."""

    def __init__(
        self, address: str, note: Callable[[str], None], silence: Callable[[], None]
    ) -> None:
        """``silence`` switches all hooks and timers off in the child."""
        self.address = address
        self.note = note
        self.silence = silence
        self.lost: str | None = None
        self.main = get_ident()

    def hold(self, state: Callable[[], Any]) -> bool:
        """Fork; the child hands ``state()`` to the verifier and never comes back.

        False, and a note, if that cannot be done soundly.
        """
        obstacle = self.lost or self.obstacle()
        if obstacle is not None:
            self.note(f"a state was not held: {obstacle}")
            return False
        try:
            child = fork_unseen()
        except OSError as error:
            self.lost = f"fork failed ({error.strerror})"
            self.note(f"a state was not held: {self.lost}")
            return False
        if child == 0:
            self._become_holder(state)
        return True

    def obstacle(self) -> str | None:
        """Why the process cannot be forked soundly now; None if it can."""
        if get_ident() != self.main:
            return "the call was made outside the main thread"
        threads = len(sys._current_frames()) - 1
        if threads > 0:
            return f"{threads} other thread{'s were' if threads > 1 else ' was'} running"
        if _cuda_is_open():
            return "CUDA is initialised in the process"
        if _memory_short():
            return "the program's memory is too large for copies of it"
        return None

    def _become_holder(self, state: Callable[[], Any]) -> NoReturn:
        try:
            self.silence()
            _let_go_of_pipes()
            from ..verify.worker import hold

            hold(self.address, state())
        except BaseException:  # this process must never return into the user's program
            os._exit(1)
        os._exit(0)


def fork_unseen() -> int:
    """Fork a grandchild. Returns 0 in it, and in the program a positive number.

    The child in between ends at once and is waited for by its number, so that no ``os.wait`` of
    the program sees it; SIGCHLD is at its default meanwhile, so that no handler does. Fork hooks
    reseed ``random`` in the child: its state is put back. Raises OSError.
    """
    states = _random_state()
    leave = os._exit
    handler = signal.getsignal(signal.SIGCHLD)
    if callable(handler):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        child = _quiet_fork()
        if child == 0:
            # Out of the program's group: what is left of that is ended together with it.
            os.setsid()
            if _quiet_fork():
                leave(0)
            _set_random_state(states)
            return 0
        # Where the program ignores SIGCHLD, the system has reaped it already.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        return child
    finally:
        if callable(handler):
            signal.signal(signal.SIGCHLD, handler)


def _quiet_fork() -> int:
    """``os.fork`` without the warning of 3.12 and later about threads, such as those of BLAS."""
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _random_state() -> Any:
    module = sys.modules.get("random")  # not imported here: that would seed it
    generator = getattr(module, "_inst", None)
    return None if generator is None else generator.getstate()


def _set_random_state(state: Any) -> None:
    if state is not None:
        sys.modules["random"]._inst.setstate(state)


def _let_go_of_pipes() -> None:
    """Put /dev/null in place of pipes and sockets.

    Counter-example: the program talks to a child through a pipe and waits for it to end after
    closing its end; a holder with a copy of that end would keep both waiting for ever.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in _open_descriptors():
        if name <= 2 or name == nowhere:
            continue
        try:
            mode = os.fstat(name).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                os.dup2(nowhere, name)
        except OSError:
            continue
    os.close(nowhere)


def _open_descriptors() -> list[int]:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return [int(name) for name in os.listdir(folder)]
        except OSError:
            continue
    return list(range(3, 256))


def _cuda_is_open() -> bool:
    """Whether the process holds an NVIDIA device open: its context does not survive a fork."""
    if not any(name in sys.modules for name in ("torch", "cupy", "numba.cuda", "jax", "pycuda")):
        return False
    for number in _open_descriptors():
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("/dev/nvidia"):
                return True
        except OSError:
            continue
    return False


def _memory_short() -> bool:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return False  # not Linux: nothing known
    return resident > MEMORY * free
