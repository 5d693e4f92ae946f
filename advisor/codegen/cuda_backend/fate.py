"""What becomes of a time loop's arrays over one step: made, written, exchanged, kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...loopnest.ir import Nest
from ..nb_values import Unsupported
from .timeloop import Exchange, Fresh, Keep, Kernels, Look, Operation, TimeLoop


@dataclass
class Fate:
    """The arrays of one step, by their names in the launcher; dicts for their order."""

    entry: dict[str, None] = field(default_factory=dict)
    """From before the loop."""
    fresh: dict[str, Fresh] = field(default_factory=dict)
    """Made anew in every step."""
    rebound: dict[str, None] = field(default_factory=dict)
    """Names that take over an array made in the step."""
    swapped: dict[str, None] = field(default_factory=dict)
    """Names that trade arrays from before the loop."""
    written: dict[str, None] = field(default_factory=dict)
    """Arrays from before the loop that kernels write."""
    kept: dict[str, None] = field(default_factory=dict)
    """Names whose array itself is kept by the host."""
    pairs: list[tuple[str, str]] = field(default_factory=list)
    """Names that must be arrays of one shape and type."""
    scratch: dict[str, str] = field(default_factory=dict)
    """Names that get an array in each step before they are used -> the name that had it."""
    depth: int = 0
    """Steps after which no name that is bound anew stands for an array from before the loop."""

    @property
    def returned_in_place(self) -> Iterator[str]:
        """Arrays from before the loop whose elements come back."""
        traded = any(name in self.written for name in self.swapped)
        for name in self.entry:
            if name in self.written or (traded and name in self.swapped):
                yield name


def follow(operations: Iterable[Operation], time: TimeLoop, after: frozenset[str]) -> Fate:
    """The arrays of a step. Raises Unsupported where the device cannot hold them as the host does.

    ``after``: names that may be read after the loop.
    """
    follower = _Follower(time, after)
    for operation in operations:
        follower.see(operation)
    follower.check(after)
    return follower.fate


class _Follower:
    """Walks through one step."""

    def __init__(self, time: TimeLoop, after: frozenset[str]) -> None:
        self.time, self.line, self.after = time, time.region.loop.lineno, after
        self.fate = Fate()
        self.bound: set[str] = set()
        """Names bound in this step already."""
        self.older: set[str] = set()
        """Names that take over an array from an earlier step, or from before the loop."""
        self.taken: dict[str, str] = {}
        """Name that took over an array made in this step -> the name that had it."""
        self.rewritten: set[str] = set()
        """Those of them that are written afterwards."""
        self.looked: dict[str, None] = {}
        """Names whose elements the host reads in some steps."""
        self.ended = False
        """The loop may have been left in this step."""
        self.gone: set[str] = set()
        """Names whose array has another name now, and whose memory is free."""

    def see(self, operation: Operation) -> None:
        """One operation of the step."""
        match operation:
            case Kernels():
                self._kernels(operation)
            case Fresh(name=name, copied=copied):
                if name in self.fate.fresh or name in self.fate.entry:
                    raise Unsupported(f"{name} is made twice in a step", self.line)
                if copied is not None:
                    self._use(copied)
                self.fate.fresh[name] = operation
                self.bound.add(name)
            case Exchange():
                self._exchange(operation)
            case Look():
                self._look(operation)
            case Keep(array=array, copied=copied_):
                self._use(array)
                if not copied_:
                    self.fate.kept[array] = None

    def _look(self, look: Look) -> None:
        for name in look.arrays:
            self._use(name)
            self.looked.setdefault(name)
        self.ended = self.ended or look.ends

    def _use(self, name: str) -> None:
        if name in self.gone:
            raise Unsupported(f"{name} and another name are one array", self.line)
        if name not in self.bound and name not in self.fate.scratch:
            self.fate.entry.setdefault(name)

    def _kernels(self, kernels: Kernels) -> None:
        region, renamed = kernels.region, dict(kernels.renamed)
        assert isinstance(region.nest, Nest)
        for path, array in region.nest.arrays.items():
            name = renamed.get(path, path)
            if "." in name or array.container != "ndarray":
                raise Unsupported(f"{path} is no array with a name of its own", region.loop.lineno)
            self._use(name)
            if array.written and name in self.fate.kept:
                # frames.append(u); u[0] = 0.0   changes what is in the list
                raise Unsupported(f"{name} is kept and then written", region.loop.lineno)
            if array.written and name not in self.bound:
                self.fate.written.setdefault(name)
            if array.written and name in self.taken:
                self.rewritten.add(name)

    def _exchange(self, exchange: Exchange) -> None:
        targets, sources = exchange.targets, exchange.sources
        if self.ended:
            # if err < tol: break; u = new   leaves u as it was before the step
            raise Unsupported("the loop may be left before arrays change hands", self.line)
        for name in sources:
            self._use(name)
        taken = [s for s in sources if s not in targets]
        listed = ", ".join(targets)
        if any(s not in self.bound for s in taken) or not set(targets) - set(taken):
            raise Unsupported(f"{listed}: two names for one array", self.line)
        if taken:
            lost = [t for t in targets if t not in sources]
            if len(lost) != len(taken) or self.fate.depth:
                raise Unsupported(f"{listed}: arrays change hands in odd ways", self.line)
            self.fate.rebound |= dict.fromkeys(targets)
            self.fate.depth = len(targets)
            self.gone |= set(taken)
        else:
            self.fate.swapped |= dict.fromkeys(targets)
        for name, source in zip(targets, sources, strict=True):
            if name in self.bound or name in self.fate.entry:
                continue
            if taken and name not in self.after and name not in sources:
                self.fate.scratch[name] = source
                self.bound.add(name)
            else:
                self.fate.entry.setdefault(name)
        if taken:
            given = zip(targets, sources, strict=True)
            self.taken |= {t: s for t, s in given if s in self.bound}
            made = {t for t in targets if t in self.taken}
            # before, u = u, new   gives before an array from an earlier step
            self.older |= set(targets) - made
            self.bound = (self.bound | made) - (set(targets) - made)
        pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s]
        self.fate.pairs += [(t, s) for t, s in pairs if t not in self.fate.scratch]

    def check(self, after: frozenset[str]) -> None:
        """What must hold of the step as a whole."""
        fate, line = self.fate, self.line
        for name in fate.rebound:
            if name in fate.written or name in fate.swapped:
                raise Unsupported(f"{name} is written in place and bound anew", line)
            if name in fate.fresh:
                raise Unsupported(f"{name} is made in the step and bound anew", line)
        fate.depth -= len(fate.scratch)  # what they held before is never read
        if self.ended and fate.depth > 1:
            # before, u = u, new; if done: break   leaves before with an array from before the loop
            raise Unsupported("the loop may be left in its first step", line)
        for name in sorted(self.rewritten):
            if {name, self.taken[name]} & set(fate.kept):
                # u = step(u); u[0] = 0.0; frames.append(u)   is looked at when u is bound
                raise Unsupported(f"{name} is kept, and written in the same step", line)
        for name in sorted(self.older & set(fate.kept)):
            raise Unsupported(f"{name} is kept, and was another name's array before", line)
        for name in sorted(set(self.looked) & set(fate.kept)):
            # frames.append(u); print(u.sum())   shows the array that is in the list
            raise Unsupported(f"{name} is kept, and looked at besides", line)
        for name in fate.kept:
            if name in fate.entry and name not in fate.rebound:
                raise Unsupported(f"{name} is kept in every step, and is one array", line)
        for name in sorted(self.gone & after):
            raise Unsupported(f"{name} and another name are one array after the loop", line)
        for name in fate.entry:
            if self.time.seen(name) is None:
                raise Unsupported(f"nothing was observed of {name}", line)


def merged(operations: Iterable[Operation], after: frozenset[str]) -> Iterator[Operation]:
    """Exchanges that follow one another as one: ``t = u; u = v; v = t``.

    ``before = u`` waits until ``u`` gets another array: till then both names mean the same.
    """
    operations = list(operations)
    used = set(after).union(*map(_arrays, operations))
    made = {operation.name for operation in operations if isinstance(operation, Fresh)}
    waiting: dict[str, str] = {}
    for operation in [*operations, None]:
        if isinstance(operation, Exchange):
            pairs = zip(operation.targets, operation.sources, strict=True)
            waiting |= {target: waiting.get(source, source) for target, source in pairs}
            continue
        real = {t: s for t, s in waiting.items() if t != s and t in used}
        if operation is not None and _may_wait(real, operation, made):
            waiting = real
            yield operation
            continue
        if real:
            yield Exchange(tuple(real), tuple(real.values()))
        waiting = {}
        if operation is not None:
            yield operation


def _may_wait(names: dict[str, str], operation: Operation, made: set[str]) -> bool:
    """Whether names for arrays that have names already may be given after an operation."""
    others = set(names.values()) - set(names)
    if not others or others & made or _arrays(operation) & set(names):
        return False
    return not isinstance(operation, Look) or not operation.ends


def _arrays(operation: Operation) -> set[str]:
    """Arrays that an operation uses, exchanges left out."""
    match operation:
        case Kernels(region=region, renamed=renamed):
            assert isinstance(region.nest, Nest)
            names = dict(renamed)
            return {names.get(a, a) for a in region.nest.arrays}
        case Keep(array=array):
            return {array}
        case Look(arrays=arrays):
            return set(arrays)
        case Fresh(name=name, copied=copied):
            return {name, copied or name}
    return set()
