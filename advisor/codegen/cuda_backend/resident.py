"""A time loop whose arrays stay on the device between the steps.

What the loop does to its arrays is followed over one step. Arrays that only trade names trade
their copies on the device; an array made anew in every step gets the memory of the one whose name
it takes over; the host sees an array where the loop keeps one, and at the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from ...loopnest.definite import bound_before
from ...loopnest.ir import Nest
from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import local_names, stored_names
from ...model import Basis, Condition, Edit, Exactness, Match, Region
from ...names import free_name
from ..nb_analyse import analyse_region
from ..nb_text import functions_block, replacement, top_level_statement
from ..nb_values import Unsupported
from .cover import is_covered, own_place
from .emit import WHY, CudaEmission
from .fate import follow, merged
from .inlined import renamed_copy
from .narrow import Narrow, narrowed
from .plan import plan
from .replay import Replay, pays, seen_steps
from .resident_text import ResidentText
from .text import names_in
from .timeloop import Host, Keep, Kernels, Look, Renamed, TimeLoop

_LOOSER = (Exactness.BITS, Exactness.LAST_DIGIT, Exactness.REASSOCIATED)
_CALLED = frozenset(("len", "max", "range", "type"))
"""Built-ins that the launcher calls."""
_LARGEST = "2**19"
"""Extents up to which a grid has enough blocks along y and z, 65535 of eight threads."""


def resident(region: Region) -> Match:
    """The time loop with its arrays on the device. Raises Unsupported with the reason."""
    return _Resident(region).match()


class _Resident(ResidentText):
    """One rewrite under way."""

    def __init__(self, region: Region) -> None:
        self.region, self.source = region, region.source
        self.time = TimeLoop(region)
        assert isinstance(region.loop, ast.For)
        self.loop = region.loop
        after = live_after(self.source, region.function, self.loop)
        if after is None:
            raise Unsupported("the scope's variables may be looked at", self.loop.lineno)
        if region.function is None:
            # whoever imports the module, or looks at it afterwards, finds its arrays as they were
            after |= stored_names(self.loop) & self.time.arrays
        self.after = after | frozenset(self.time.attributes)
        self.operations = list(merged(self.time.operations, self.after))
        self.fate = follow(self.operations, self.time, self.after)
        self.taken: set[str] = set()
        self.changing = self._changing()
        self._refuse_sizes()
        self.emissions: dict[int, CudaEmission] = {}
        for nest, names in self._nests():
            if id(nest) not in self.emissions:
                self.emissions[id(nest)] = self._emission(nest, names)
        self._refuse_unlike()
        self._refuse_unseen()
        arrays = (*self.fate.entry, *self.fate.fresh, *self.fate.scratch)
        self.device = {array: self._local(f"gpu_{array}") for array in arrays}
        self.handles = self._handles()
        self.grid, self.block = self._local("grid"), self._local("block")
        self.zeros = {
            name: self._local(f"{self.device[name]}_zeros")
            for name, fresh in self.fate.fresh.items()
            if self.needs_zeros(fresh)
        }
        self.narrow = self._narrow()
        self.cells = self._local("cells") if self.narrow else ""
        self.replay = self._replay()

    def _handles(self) -> dict[tuple[int, Renamed], dict[str, str]]:
        """Local names for the kernels of each use of a nest."""
        used = dict.fromkeys((id(o.region), o.renamed) for o in self._uses())
        count = sum(len(self.emissions[region].kernels) for region, _ in used)
        wanted = "step" if count == 1 else "kernel"
        return {
            use: {kernel.name: self._local(wanted) for kernel in self.emissions[use[0]].kernels}
            for use in used
        }

    def _uses(self) -> Iterator[Kernels]:
        for operation in self.operations:
            if isinstance(operation, Kernels):
                yield operation

    def _narrow(self) -> Narrow | None:
        """The arrays that may be int8 on the device."""
        nests = [(self.emissions[id(r)].nest, names) for r, names in self._nests()]
        found = narrowed(list(self.fate.entry), list(self.fate.fresh), nests)
        wide = self.fate.scratch or (found is not None and found.arrays & set(self.zeros))
        return None if wide else found

    def _replay(self) -> Replay | None:
        """How the steps are replayed as a CUDA graph; None where that cannot be, or gains nothing.

        The loop variable is none that anything reads afterwards: the steps are only counted.
        """
        assert self.region.observation is not None
        if self.time.index in self.after or not self.repeats():
            return None
        steps = seen_steps(self.loop, self.region.observation.values)
        emissions = self.emissions.values()
        if not pays(steps, [(k.launch, one.nest) for one in emissions for k in one.kernels]):
            return None
        return Replay(
            helper=self._local(f"_{self._owner()}_by_graph"),
            stream=self._local("stream"),
            run=self._local("run"),
            count=self._local("count"),
        )

    def _owner(self) -> str:
        return self.region.function.name.strip("_") if self.region.function else "main"

    def _nests(self) -> Iterator[tuple[Region, dict[str, str]]]:
        for operation in self.operations:
            if isinstance(operation, Kernels):
                yield operation.region, dict(operation.renamed)

    def _changing(self) -> frozenset[str]:
        hosted = [o.statement for o in self.operations if isinstance(o, Host | Look)]
        stored = {name for statement in hosted for name in stored_names(statement)}
        return frozenset((stored | {self.time.index}) - self.time.steady)

    def _local(self, wanted: str) -> str:
        name = free_name(self.source, wanted, self.taken)
        self.taken.add(name)
        return name

    def _refuse_sizes(self) -> None:
        """Raise Unsupported for arrays whose memory cannot be had before the first step.

        ``new = np.zeros(t + 2)`` is longer each time; ``second = np.zeros_like(new)`` needs new.
        """
        for name, fresh in self.fate.fresh.items():
            used = names_in([ast.unparse(fresh.value)])
            unknown = sorted(used & (self.changing | set(self.fate.fresh)))
            if unknown:
                text = f"{name} is made from {unknown[0]}, which is another one in each step"
                raise Unsupported(text, fresh.value.lineno)

    def _refuse_unseen(self) -> None:
        """Raise Unsupported for arrays of which no nest has asked the type."""
        asked = {
            renamed.get(path, path)
            for region, renamed in self._nests()
            for path in self.emissions[id(region)].nest.arrays
        }
        for name in sorted(set(self.fate.entry) - asked):
            raise Unsupported(f"{name} is used by no loop nest", self.loop.lineno)

    def _refuse_unlike(self) -> None:
        """Raise Unsupported where one kernel would have to do for arrays of two kinds.

        ``laplacian(u, out)`` where the step makes ``out``, and ``laplacian(v, kept)``.
        """
        seen: dict[int, frozenset[str]] = {}
        for region, renamed in self._nests():
            made = frozenset(
                path
                for path in self.emissions[id(region)].nest.arrays
                if renamed.get(path, path) in self.fate.fresh
            )
            other = seen.setdefault(id(region), made)
            repeated = sum(r is region for r, _ in self._nests()) > 1
            if other != made or (repeated and self.emissions[id(region)].zeroed):
                text = "a function is called twice in a step, with arrays of different origin"
                raise Unsupported(text, region.loop.lineno)

    # --------------------------------------------------------------- kernels
    def _emission(self, region: Region, renamed: dict[str, str]) -> CudaEmission:
        """The kernels of one nest. Arrays that the step makes need not be asked about."""
        assert isinstance(region.nest, Nest)
        step = plan(region.nest)
        emission = CudaEmission(region, analyse_region(region), step)
        emission.taken = self.taken
        arrays = {path: renamed.get(path, path) for path in emission.nest.arrays}
        known = frozenset(path for path, name in arrays.items() if name in self.fate.fresh)
        for path in sorted(known):
            name = arrays[path]
            if self.fate.fresh[name].zeros and self.is_first(region, name):
                place = own_place(path, step, emission.nest)
                if place is not None and not is_covered(path, step, emission.nest):
                    emission.zeroed[path] = place
        emission.prepare(known)
        if emission.flag and self._leaves_traces():
            text = "an exception may come when the host has seen some steps"
            raise Unsupported(text, region.loop.lineno)
        if emission.checks.before or emission.state.used_ranges or emission.rests_on_elements:
            raise Unsupported("the loop rests on what the arrays hold", region.loop.lineno)
        others = local_names(self.region.function) - local_names(region.function)
        for path in emission.names.params:
            if region.function is not self.region.function and path in others:
                raise Unsupported(f"{path} is a global and a local variable", region.loop.lineno)
        return emission

    def _leaves_traces(self) -> bool:
        """Whether the loop cannot run again from the start: it keeps arrays, or prints."""
        return any(
            isinstance(o, Keep)
            or (
                isinstance(o, Host | Look)
                and any(isinstance(n, ast.Call) for n in ast.walk(o.statement))
            )
            for o in self.operations
        )

    # ------------------------------------------------------------------ match
    def match(self) -> Match:
        """The finished rewrite."""
        emissions = list(self.emissions.values())
        params = self._params()
        returned = self._returned(params)
        owner = self._owner()
        run, wrapper = self._local(f"_{owner}_on_gpu"), self._local(f"_{owner}_time_loop")
        shadowed = sorted({*params, *self.time.looker.stored} & _CALLED)
        if shadowed:
            raise Unsupported(f"{shadowed[0]} is no built-in in the loop", self.loop.lineno)
        early, late = self._tests()
        parts = [part for one in emissions for part in one.parts]
        parts += [self.replay.text] if self.replay is not None else []
        parts.append(self.launcher(run, params, returned, late))
        parts.append(self.wrapper(wrapper, run, params, returned, early, self._local("result")))
        loops = [self.loop, *(one.loop for one in emissions)]
        tops = [top_level_statement(self.source, loop) for loop in loops]
        offset, block = functions_block(self.source, min(tops, key=lambda s: s.lineno), parts)
        call = f"{wrapper}({', '.join(params)})"
        return Match(
            edits=(
                *_merged_imports([e for one in emissions for e in one.edits]),
                Edit(offset, offset, block),
                *replacement(self.source, self.loop, returned, call),
            ),
            why=WHY,
            change="the time loop launches CUDA kernels, by numba.cuda, and its arrays stay there",
            needs=frozenset({"numba", "cuda"}),
            ledger=_each_once(self._ledger()),
            exactness=max((one.exactness() for one in emissions), key=_LOOSER.index),
            differences=tuple(dict.fromkeys(d for one in emissions for d in one.what_differs())),
        )

    def _ledger(self) -> Iterator[Condition]:
        for region, renamed in self._nests():
            one = self.emissions[id(region)]
            names = self.names_of(region, renamed)
            for condition in (*one.checks.ledger, *one._ledger(), *one.conditions()):
                yield self._in_caller(condition, names)
        for test in self._own_tests():
            yield Condition(test, Basis.OBSERVED, guarded=True, test=test)
        if self.narrow is not None:
            low, high = self.narrow.low, self.narrow.high
            text = f"whole numbers that start within {low} to {high} stay there: int8 holds them"
            yield Condition(text, Basis.PROVED, "ranges of all expressions")
        text = "no step writes an array that the host still has"
        yield Condition(text, Basis.PROVED, f"lines {self.loop.lineno}-{self.loop.end_lineno}")

    def _in_caller(self, condition: Condition, renamed: dict[str, str]) -> Condition:
        """A condition on a step function's arrays, by the names that they have in the loop."""
        if not condition.guarded:
            return condition
        test = condition.test or condition.text
        try:
            text = self._asked(test, renamed)[0]
        except SyntaxError:  # in words: the emission names the test otherwise
            return condition
        if text == test:
            return condition
        return replace(condition, text=text if not condition.test else condition.text, test=text)

    def _asked(self, test: str, renamed: dict[str, str]) -> tuple[str, bool]:
        """A nest's test by the names of the launcher, and whether it needs what a step makes."""
        text = _spelled(test, renamed)
        names = names_in([text])
        made = {name: self.device[name] for name in self.fate.fresh if name in names}
        if made or names & self.time.steady:
            return _spelled(text, made), True
        return _spelled(text, self.time.attributes), False

    def _params(self) -> list[str]:
        """What the loop needs from its scope, and what it hands back."""
        assert self.region.observation is not None
        seen = self.region.observation.values
        data = {n for n, info in seen.items() if info.kind not in ("function", "module", "class")}
        scope = local_names(self.region.function) if self.region.function else data
        wanted = set(read_before_assigned(self.loop)) & scope
        found = [n for n in seen if n in wanted] + sorted(wanted - set(seen))
        return found + sorted((stored_names(self.loop) & self.after) - set(found))

    def _returned(self, params: list[str]) -> tuple[str, ...]:
        names = sorted(stored_names(self.loop) & self.after, key=params.index)
        bound = bound_before(self.source, self.region.function, self.loop) or frozenset()
        for name in names:
            if name not in bound:
                text = f"{name} is read after the loop, which may not assign it"
                raise Unsupported(text, self.loop.lineno, f"assign {name} before the loop")
        return tuple(names)

    # ------------------------------------------------------------------ tests
    def _own_tests(self) -> list[str]:
        """Conditions of the loop as a whole, beside those of its nests."""
        paths = self.time.attributes
        numpy, entry = self.first.names.numpy, self.fate.entry
        tests = [f"type({k.holder}) is list" for k in self.operations if isinstance(k, Keep)]
        tests += [test for k in self.operations if isinstance(k, Look) for test in k.tests]
        changed = list(self.fate.returned_in_place)
        for one, two in combinations(entry, 2):
            if one in changed or two in changed:
                tests.append(f"not {numpy}.may_share_memory({one}, {two})")
        tests += [f"{a}.flags.writeable" for a in changed if a not in self.fate.written]
        # fewer steps leave a name with an array from before the loop
        tests.append(f"len({ast.unparse(self.loop.iter)}) >= {max(self.fate.depth, 1)}")
        tests += [f"max({array}.shape) <= {_LARGEST}" for array in entry]
        # type(plate.n) is int   and more is asked for the nest already
        asked = {test.partition(" and ")[0] for test in self._nest_tests()[0]}
        objects = [test for test in self.time.inlined.tests() if test not in asked]
        return list(dict.fromkeys([*objects, *(_spelled(test, paths) for test in tests)]))

    def _tests(self) -> tuple[list[str], list[str]]:
        """Tests that the wrapper asks, and those that need what the step computes first."""
        early, late = self._nest_tests()
        # first what objects are: nothing may look at their attributes before
        kinds = [t for t in self.time.inlined.tests() if t in self._own_tests()]
        return list(dict.fromkeys([*kinds, *early, *self._own_tests()])), list(dict.fromkeys(late))

    def _nest_tests(self) -> tuple[list[str], list[str]]:
        early: list[str] = []
        late: list[str] = []
        for region, given in self._nests():
            renamed = self.names_of(region, given)
            for test in self.emissions[id(region)].checks.tests:
                if names_in([_spelled(test, renamed)]) & self.changing:
                    raise Unsupported(f"`{test}` would have to hold in every step")
                text, steady = self._asked(test, renamed)
                (late if steady else early).append(text)
        return early, late


def _each_once(ledger: Iterator[Condition]) -> tuple[Condition, ...]:
    """The conditions without those that ask what another one asks."""
    found: dict[object, Condition] = {}
    for condition in ledger:
        asked = (condition.test or condition.text) if condition.guarded else condition
        found.setdefault(asked, condition)
    return tuple(found.values())


def _spelled(test: str, names: dict[str, str]) -> str:
    """A test with other names; as it stands where there are none of them."""
    if names_in([test]).isdisjoint(names):
        return test
    return ast.unparse(renamed_copy(ast.parse(test, mode="eval").body, names))


def _merged_imports(edits: Sequence[Edit]) -> list[Edit]:
    """Imports of one place in one edit, each line once."""
    found: dict[int, Edit] = {}
    for edit in edits:
        known = found.get(edit.start)
        if known is None:
            found[edit.start] = edit
            continue
        have = known.text.strip("\n").split("\n")
        more = [line for line in edit.text.strip("\n").split("\n") if line not in have]
        body = known.text.rstrip("\n")
        text = "\n".join([body, *more]) + known.text[len(body) :]
        found[edit.start] = replace(known, text=text)
    return list(found.values())
