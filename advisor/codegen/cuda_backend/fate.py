"""What becomes of a time loop's arrays over one step: made, written, exchanged, kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...loopnest.ir import Nest
from ...model import Region
from ..nb_values import Unsupported
from .timeloop import Exchange, Fresh, Keep, Kernels, Operation


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
    depth: int = 0
    """Steps after which no name that is bound anew stands for an array from before the loop."""

    @property
    def returned_in_place(self) -> Iterator[str]:
        """Arrays from before the loop whose elements come back."""
        traded = any(name in self.written for name in self.swapped)
        for name in self.entry:
            if name in self.written or (traded and name in self.swapped):
                yield name


def follow(operations: Iterable[Operation], region: Region, after: frozenset[str]) -> Fate:
    """The arrays of a step. Raises Unsupported where the device cannot hold them as the host does.

    ``after``: names that may be read after the loop.
    """
    follower = _Follower(region)
    for operation in operations:
        follower.see(operation)
    follower.check(after)
    return follower.fate


class _Follower:
    """Walks through one step."""

    def __init__(self, region: Region) -> None:
        self.region, self.line = region, region.loop.lineno
        self.fate = Fate()
        self.bound: set[str] = set()
        """Names bound in this step already."""
        self.older: set[str] = set()
        """Names that take over an array from an earlier step, or from before the loop."""
        self.taken: dict[str, str] = {}
        """Name that took over an array made in this step -> the name that had it."""
        self.rewritten: set[str] = set()
        """Those of them that are written afterwards."""
        self.gone: set[str] = set()
        """Names whose array has another name now, and whose memory is free."""

    def see(self, operation: Operation) -> None:
        """One operation of the step."""
        match operation:
            case Kernels(region=region, renamed=renamed):
                self._kernels(region, dict(renamed))
            case Fresh(name=name, copied=copied):
                if name in self.fate.fresh or name in self.fate.entry:
                    raise Unsupported(f"{name} is made twice in a step", self.line)
                if copied is not None:
                    self._use(copied)
                self.fate.fresh[name] = operation
                self.bound.add(name)
            case Exchange():
                self._exchange(operation)
            case Keep(array=array, copied=copied_):
                self._use(array)
                if not copied_:
                    self.fate.kept[array] = None

    def _use(self, name: str) -> None:
        if name in self.gone:
            raise Unsupported(f"{name} and another name are one array", self.line)
        if name not in self.bound:
            self.fate.entry.setdefault(name)

    def _kernels(self, region: Region, renamed: dict[str, str]) -> None:
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
        for name in targets:
            if name not in self.bound:
                self.fate.entry.setdefault(name)
        if taken:
            pairs = zip(targets, sources, strict=True)
            self.taken |= {t: s for t, s in pairs if s in self.bound}
            made = {t for t in targets if t in self.taken}
            # before, u = u, new   gives before an array from an earlier step
            self.older |= set(targets) - made
            self.bound = (self.bound | made) - (set(targets) - made)
        self.fate.pairs += [(t, s) for t, s in zip(targets, sources, strict=True) if t != s]

    def check(self, after: frozenset[str]) -> None:
        """What must hold of the step as a whole."""
        fate, line = self.fate, self.line
        for name in fate.rebound:
            if name in fate.written or name in fate.swapped:
                raise Unsupported(f"{name} is written in place and bound anew", line)
            if name in fate.fresh:
                raise Unsupported(f"{name} is made in the step and bound anew", line)
        for name in sorted(self.rewritten):
            if {name, self.taken[name]} & set(fate.kept):
                # u = step(u); u[0] = 0.0; frames.append(u)   is looked at when u is bound
                raise Unsupported(f"{name} is kept, and written in the same step", line)
        for name in sorted(self.older & set(fate.kept)):
            raise Unsupported(f"{name} is kept, and was another name's array before", line)
        for name in fate.kept:
            if name in fate.entry and name not in fate.rebound:
                raise Unsupported(f"{name} is kept in every step, and is one array", line)
        for name in sorted(self.gone & after):
            raise Unsupported(f"{name} and another name are one array after the loop", line)
        assert self.region.observation is not None
        for name in fate.entry:
            if name not in self.region.observation.values:
                raise Unsupported(f"nothing was observed of {name}", line)


def merged(operations: Iterable[Operation], after: frozenset[str]) -> Iterator[Operation]:
    """Exchanges that follow one another as one: ``t = u; u = v; v = t``."""
    operations = list(operations)
    used = set(after).union(*map(_arrays, operations))
    waiting: dict[str, str] = {}
    for operation in [*operations, None]:
        if isinstance(operation, Exchange):
            pairs = zip(operation.targets, operation.sources, strict=True)
            waiting |= {target: waiting.get(source, source) for target, source in pairs}
            continue
        real = {t: s for t, s in waiting.items() if t != s and t in used}
        if real:
            yield Exchange(tuple(real), tuple(real.values()))
        waiting = {}
        if operation is not None:
            yield operation


def _arrays(operation: Operation) -> set[str]:
    """Arrays that an operation uses, exchanges left out."""
    match operation:
        case Kernels(region=region, renamed=renamed):
            assert isinstance(region.nest, Nest)
            names = dict(renamed)
            return {names.get(a, a) for a in region.nest.arrays}
        case Keep(array=array):
            return {array}
        case Fresh(name=name, copied=copied):
            return {name, copied or name}
    return set()
