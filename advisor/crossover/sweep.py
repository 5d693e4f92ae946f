"""Running every version at every size, in fresh processes, compared before it is timed.

The original at a size is the oracle there. Where it would take too long, versions are compared with
one another, and the point says so; a version with another result is not timed, nor run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import log
from pathlib import Path
from statistics import median

from ..deadline import Deadline
from ..model import Mismatch, RunResult, Source, Target, Verdict
from ..observe.sandbox import Sandbox
from ..patch import PatchError
from ..report.words import verdict as words
from ..verify.agreement import end_words
from ..verify.runs import compiles
from ..verify.script import OutOfTime, ScriptTrials
from .curves import Condition, Curves, Growth, Point, exponent, predicted
from .parameters import LEAST, Parameter
from .versions import Kind, Version

REPEATS = ((1.0, 3), (4.0, 2))
"""(up to seconds of a run, runs of it at a size); longer ones are run once."""
SHARE = 0.2
NAMED_SHARE = 0.45
"""Part of the time left that all runs of one version at one size may take."""
STOP = 2.0
"""A run that takes so many times what it may is stopped: what it takes was predicted badly."""
DOWN, UP = 16, 1024
"""Sizes are tried from so many times less than the user's up to so many times more."""
STEP, LEAP = 2, 4
"""Factor between sizes; the larger one where the fastest version takes little longer for it."""
OUT_OF_REACH = 2.0
"""A version that takes so many times as long as the fastest is run once; and if it is compiled, not
at smaller sizes: what it has lost is start-up, which does not shrink."""
FLAT = 1.15
"""Start-up is all there is where half the size takes no less by this factor."""
SWEEP_SHARE = 0.65
"""Part of the budget for the geometric sweep; the rest is for the sizes where the lead changes."""
RESOLUTION = 1.15
"""Neighbouring sizes around a change of lead come as close as this."""

SURE = 1.2
"""How far apart the ends of a change's interval may be; wider ones are worth more runs."""
MOST_RUNS = 9
"""Of a version at one size."""

FIRST, LATER = Condition.FIRST, Condition.LATER
Progress = Callable[[str], None]


@dataclass(eq=False)
class Sweep:
    """The measurements of one program, as they come."""

    box: Sandbox
    target: Target
    stdin: Path | None
    sources: Mapping[Path, Source]
    parameter: Parameter
    versions: Sequence[Version]
    deadline: Deadline
    unsafe: bool = False
    progress: Progress = lambda text: None
    curves: Curves = field(default_factory=Curves)
    wrong: dict[Kind, str] = field(default_factory=dict)
    """Versions that gave another result at some size, and which."""
    unchecked: set[int] = field(default_factory=set)
    """Sizes at which the original was not run: versions were compared with one another."""
    share: float = SHARE
    cut: bool = False
    """The budget ended the geometric sweep, or left a rewrite out of it."""
    silent: bool = False
    """The program writes nothing, so that only its end could be compared."""

    def __post_init__(self) -> None:
        """Measure what starting Python takes: that part of every time does not grow."""
        self.box.compiles_anew = True  # a first run is one that finds nothing compiled
        packages = {Kind.CUPY: "cupy", Kind.CUDA: "numba.cuda"}
        imports = any(b"numpy" in source.data for source in self.sources.values())
        self.start: dict[Kind, float] = {}
        for version in self.versions:
            package = packages.get(version.kind, "numba" if version.kind.compiled else "numpy")
            code = f"import {package}" if imports or version.candidates else "pass"
            self.start[version.kind] = self._takes(code)

    @lru_cache  # noqa: B019  (a sweep lives as long as its command)
    def _takes(self, code: str) -> float:
        return self.box.run([self.target.python, "-c", code], limit=60.0).wall

    # ------------------------------------------------------------------- plans
    def at(self, sizes: Sequence[int]) -> None:
        """The sizes that the user named: each is worth more of the budget than a guessed one."""
        self.share = NAMED_SHARE
        for size in sizes:
            self.measure(size)

    def around(self, base: int) -> None:
        """Sizes a factor of two apart, down and up from the user's in turn, then refined.

        Smaller ones first: they cost least, and two points tell what larger ones will cost.
        """
        whole = self.deadline.remaining()
        up = down = self.measure(base)
        while up or down:
            if self.deadline.remaining() < (1.0 - SWEEP_SHARE) * whole:
                self.cut = True
                break
            if down:
                down //= STEP
                if down < LEAST or down * DOWN < base or self._flat(self.measure(down)):
                    down = 0
            if up:
                up *= self._step(up)
                if up > UP * base or not self._worth_measuring(self.measure(up)):
                    up = 0
        self.refine()

    def _step(self, size: int) -> int:
        """How much larger the next size is: far where it costs little to go far."""
        leader = self.curves.fastest(size, LATER)
        if leader is None:
            return STEP
        now = self.curves.seconds(leader, size, LATER)
        growth = Growth(self.start[leader])
        then = predicted(self.curves, leader, LEAP * size, LATER, growth)
        return LEAP if now and then and then < STEP * now else STEP

    def refine(self) -> None:
        """Halve the gaps in which a lead changes, the widest first."""
        while not self.deadline.over:
            pair = self.curves.widest(RESOLUTION, tuple(Condition))
            middle = round((pair[0] * pair[1]) ** 0.5) if pair else 0
            if pair is None or middle in pair or not self._worth_measuring(self.measure(middle)):
                break
        self.settle()

    def settle(self) -> None:
        """Run both sides of a change of lead again where its place is not sure, a pair at a time.

        Where the two take nearly the same over many sizes, the interval stays wide, and says so.
        """
        while not self.deadline.over:
            found = self.curves.vaguest(SURE, MOST_RUNS, tuple(Condition))
            if found is None or not self._again(found[1], (found[0].before, found[0].after)):
                return

    def _again(self, size: int, kinds: Sequence[Kind]) -> bool:
        """One more run of some versions at a size; whether there was time for it."""
        row = self.curves.rows[size]
        chosen = [(version, 1) for version in self.versions if version.kind in kinds]
        if sum(2.0 * self._expected(v, size) for v, _ in chosen) > self.deadline.remaining():
            return False
        known = {kind: row[kind] for kind in kinds}
        points = self._race(size, chosen, known)
        self.curves = Curves({**self.curves.rows, size: {**row, **points}})
        return not any(point.why for point in points.values())

    def _worth_measuring(self, size: int) -> bool:
        """Whether two versions at least could be measured at the size."""
        return sum(bool(point.first) for point in self.curves.rows[size].values()) > 1

    def _flat(self, size: int) -> bool:
        """Whether less than the size would take no less time: nothing but start-up is left."""
        larger = [s for s in self.curves.sizes if s > size]
        if not larger:
            return False  # the user's own size took too long; a smaller one may not
        pairs = [
            (self.curves.seconds(version.kind, s, FIRST) for s in (size, larger[0]))
            for version in self.versions
        ]
        times = [(small, large) for small, large in pairs if small and large]
        return all(large < FLAT * small for small, large in times)

    # ------------------------------------------------------------ measurements
    def measure(self, size: int) -> int:
        """Run all versions that are affordable at a size; returns the size."""
        points: dict[Kind, Point] = {}
        chosen: list[tuple[Version, int]] = []
        for version in self.versions:
            why = (
                self.wrong.get(version.kind)
                or self._out_of_reach(version, size)
                or self._too_slow(version, size)
            )
            if why:
                points[version.kind] = Point(why=why)
            else:
                chosen.append((version, self._repeats(version, size)))
        if chosen and chosen[0][0].kind is not Kind.ORIGINAL:
            self.unchecked.add(size)
            if len(chosen) == 1:  # nothing to compare it with
                self.cut = True
                points[chosen.pop()[0].kind] = Point(
                    why="the original was too slow to compare with"
                )
        points |= self._race(size, chosen)
        ordered = {v.kind: points[v.kind] for v in self.versions}
        self.curves = Curves({**self.curves.rows, size: ordered})
        return size

    def _race(
        self,
        size: int,
        chosen: Sequence[tuple[Version, int]],
        known: Mapping[Kind, Point] | None = None,
    ) -> dict[Kind, Point]:
        """All chosen versions in turn: each once, each again, and so on; after what is known."""
        if not chosen:
            return {}
        arguments = self.parameter.arguments(self.target.args, size)
        self.box.target = replace(self.target, args=arguments)
        patches: dict[Kind, dict[Path, bytes]] = {}
        points = {version.kind: (known or {}).get(version.kind, Point()) for version, _ in chosen}
        for version, _ in chosen:
            try:
                patches[version.kind] = version.patch(self.sources, self.parameter.edits(size))
            except PatchError as problem:
                points[version.kind] = Point(why=f"the size cannot be changed in it: {problem}")
        runners = [(v, count) for v, count in chosen if v.kind in patches]
        if not runners:
            return points
        trials = ScriptTrials(
            self.box,
            self.box.target,
            self.stdin,
            STOP * self.share * self.deadline.remaining(),
            base=patches[runners[0][0].kind],
            deadline=self.deadline,
        )
        for turn in range(max(count for _, count in runners)):
            for version, count in runners:
                point = points[version.kind]
                if turn < count and not point.why and _contends(point, points.values()):
                    self.progress(f"size {size}: {version.kind}, run {turn + 1} of {count}")
                    points[version.kind] = self._run(
                        trials, version, patches[version.kind], point, size
                    )
            if points[runners[0][0].kind].why:
                break  # without its oracle nothing at this size can be compared
        return points

    def _run(
        self,
        trials: ScriptTrials,
        version: Version,
        patch: dict[Path, bytes],
        point: Point,
        size: int,
    ) -> Point:
        """One more run of a version, and one that finds its compiled code."""
        goal = replace(version.goal, unsafe=self.unsafe)
        walls: list[float] = []
        try:
            for run in self._runs(trials, version, patch):
                comparison = trials.compare(run, goal)
                if comparison.problem is not None:
                    return self._refuted(version, size, comparison.problem)
                if not run.ok:
                    return Point(why=f"the program {end_words(run.end)} at this size")
                self.silent |= comparison.nothing
                walls.append(run.wall)
        except OutOfTime:
            return replace(point, why="the time budget ran out")
        return Point((*point.first, walls[0]), (*point.later, *walls[1:]))

    def _runs(
        self, trials: ScriptTrials, version: Version, patch: dict[Path, bytes]
    ) -> Iterator[RunResult]:
        """A first run, and where something is compiled a later one. Raises OutOfTime."""
        yield trials.run(patch) if trials.original_walls else trials.original
        if version.kind.compiled and compiles(patch):
            yield trials.later(patch)

    def _refuted(self, version: Version, size: int, problem: Verdict) -> Point:
        why = f"at {self.parameter.name} = {size}: {words(problem)}"
        if isinstance(problem, Mismatch):
            self.wrong[version.kind] = why
        return Point(why=why)

    # ---------------------------------------------------------------- planning
    def _expected(self, version: Version, size: int) -> float:
        """Seconds of one first run; 0.0 where nothing is known yet.

        What it takes to compile does not grow; and where a version was measured at one size only,
        it is taken to grow as the original does.
        """
        kind, original = version.kind, Kind.ORIGINAL
        power = exponent(self.curves, original, size, LATER, self.start[original])
        growth = Growth(self.start[kind], 2.0 if power is None else power)
        later = predicted(self.curves, kind, size, LATER, growth)
        if later is None:
            return 0.0
        near = min(
            (s for s in self.curves.sizes if self.curves.rows[s][kind].first),
            key=lambda s: abs(log(s / size)),
        )
        first, again = (self.curves.seconds(kind, near, c) or 0.0 for c in (FIRST, LATER))
        return later + max(0.0, first - again)

    def _out_of_reach(self, version: Version, size: int) -> str:
        """A compiled version that is behind by far at a larger size, where it is at its best."""
        larger = min((s for s in self.curves.sizes if s > size), default=None)
        if larger is None or not version.kind.compiled:
            return ""
        leader = self.curves.fastest(larger, LATER)
        mine = self.curves.seconds(version.kind, larger, LATER)
        best = leader and self.curves.seconds(leader, larger, LATER)
        if not mine or not best or mine < OUT_OF_REACH * best:
            return ""
        return f"not run: {mine / best:.2g} times as slow as {leader} at {larger} already"

    def _too_slow(self, version: Version, size: int) -> str:
        expected = self._expected(version, size)
        if expected <= self.share * self.deadline.remaining() / (2 if version.kind.compiled else 1):
            return ""
        self.cut |= version.kind is not Kind.ORIGINAL
        return f"would take about {expected:.3g} s a run"

    def _repeats(self, version: Version, size: int) -> int:
        expected = self._expected(version, size)
        most = next((count for upto, count in REPEATS if expected <= upto), 1)
        room = self.share * self.deadline.remaining()
        return max(1, min(most, int(room / max(expected, 1e-3))))


def _contends(point: Point, others: Iterable[Point]) -> bool:
    """Whether more runs of a version can matter: it is not behind by far under both conditions."""
    if not point.first:
        return True
    known = [other for other in others if other.first]
    return any(
        median(point.times(c)) < OUT_OF_REACH * min(median(other.times(c)) for other in known)
        for c in Condition
    )
