"""The text around the kernels of a time loop: the function on the device, and its wrapper."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from ...layout import LEVEL, reindent
from ...loopnest.scope import stored_names
from ...model import Region, Source
from .cover import is_covered
from .emit import CudaEmission
from .fate import Fate
from .inlined import renamed_copy
from .looks import look_lines
from .narrow import WIDE, Narrow
from .plan import Launch
from .replay import Replay, turns
from .text import (
    Kernel,
    Launcher,
    Steps,
    alike,
    configured,
    flag_asked,
    flag_made,
    names_in,
)
from .timeloop import Exchange, Fresh, Host, Keep, Kernels, Look, Operation, Renamed, TimeLoop

COMMENT = "# a warp's 32 threads along x: they read and write neighbouring elements together"


class ResidentText:
    """Writes the functions of one time loop."""

    region: Region
    source: Source
    loop: ast.For
    time: TimeLoop
    operations: list[Operation]
    fate: Fate
    emissions: Mapping[int, CudaEmission]
    """By the identity of their regions."""
    device: Mapping[str, str]
    """Array -> name of its copy on the device."""
    handles: Mapping[tuple[int, Renamed], Mapping[str, str]]
    """For each use of a nest: kernel -> local name for it with its launch configuration."""
    zeros: Mapping[str, str]
    """Arrays that start each step with zeros -> array of zeros on the device."""
    grid: str
    block: str
    changing: frozenset[str]
    """Scalars that differ from step to step."""
    narrow: Narrow | None
    """Arrays that may be int8 on the device."""
    cells: str
    """What their type is called."""
    replay: Replay | None
    """How launches that are the same in every step are made by a CUDA graph."""

    @property
    def first(self) -> CudaEmission:
        """Any of the nests: all call packages by the same names."""
        return next(iter(self.emissions.values()))

    @property
    def cuda(self) -> str:
        """What ``numba.cuda`` is called."""
        return self.first.names.njit.removesuffix(".jit")

    # --------------------------------------------------------------- launcher
    def launcher(
        self, run: str, params: Sequence[str], returned: Sequence[str], tests: Sequence[str]
    ) -> str:
        """The function that runs the loop on the device."""
        where = f"{self.region.function.name}()" if self.region.function else "this script"
        doc = f"The time loop of {where} with its arrays on the GPU; None, and nothing done, else."
        setup, steps, synced = self._steps()
        body = list(self._preface(tests))
        if self.replay is not None:
            traded = {name: None for left, _ in self.exchanges() for name in left}
            body += [f"{self.replay.stream} = {self.cuda}.stream()", *setup]
            body += self.replay.lines(self.loop, steps, list(traded))
        else:
            body += setup
            body.append(f"for {ast.unparse(self.loop.target)} in {ast.unparse(self.loop.iter)}:")
            body += [LEVEL + line for line in steps]
        fate = self.fate
        for flag in self._flags():
            body += flag_asked(flag, "None")
        body += [self._into(name) for name in fate.returned_in_place]
        body += self._objects_set(synced)
        for name in returned:
            if (name in fate.rebound or name in fate.fresh) and name not in synced:
                body.append(f"{name} = {self._fetched(name)}")
        comma = "," if len(returned) == 1 else ""
        body.append(f"return {', '.join(returned)}{comma}" if returned else "return True")
        head = f"def {run}({', '.join(params)}):"
        body = [f'"""{doc}"""', *self._objects_read(body), *body]
        return "\n".join([head, *((LEVEL + line).rstrip() for line in body)]) + "\n"

    def _objects_read(self, body: Sequence[str]) -> Iterator[str]:
        """The attributes that the loop uses, as variables."""
        used = names_in(["\n".join(body).replace("return ", "")])
        for name, path in self.time.attributes.items():
            if name in used and name not in self.fate.fresh:
                yield f"{name} = {path}"

    def _objects_set(self, synced: set[str]) -> Iterator[str]:
        """Attributes that the loop binds get what the variables hold in the end."""
        hosted = [o.statement for o in self.operations if isinstance(o, Host | Look)]
        stored = {name for statement in hosted for name in stored_names(statement)}
        fate = self.fate
        for name, path in self.time.attributes.items():
            if (name in fate.rebound or name in fate.fresh) and name not in synced:
                yield f"{path} = {self._fetched(name)}"
            elif name in fate.rebound or name in fate.swapped or name in stored:
                yield f"{path} = {name}"

    def names_of(self, region: Region, renamed: Mapping[str, str]) -> dict[str, str]:
        """What the names in a nest's new text are in the launcher; attributes are parameters."""
        params = self.emissions[id(region)].names.params
        given = {param: renamed.get(path, path) for path, param in params.items() if param != path}
        return {old: new for old, new in {**renamed, **given}.items() if old != new}

    def _is_narrow(self, name: str) -> bool:
        return self.narrow is not None and name in self.narrow.arrays

    def _fetched(self, name: str) -> str:
        """A new array of the host with what is on the device."""
        fetched = f"{self.device[name]}.copy_to_host()"
        if not self._is_narrow(name):
            return fetched
        return f"{fetched}.astype({self.first.names.numpy}.{WIDE}, copy=False)"

    def _shown(self, name: str) -> str | None:
        """The statement after which the host has what the array holds in the step."""
        fate = self.fate
        if name in fate.rebound or name in fate.fresh:
            return f"{name} = {self._fetched(name)}"
        return self._into(name) if name in fate.returned_in_place else None

    def _into(self, name: str) -> str:
        """The statement that brings an array back into the host's own."""
        if self._is_narrow(name):
            return f"{name}[...] = {self.device[name]}.copy_to_host()"
        return f"{self.device[name]}.copy_to_host({name})"

    def _cell_type(self) -> Iterator[str]:
        """Which type whole numbers have on the device."""
        if self.narrow is None:
            return
        numpy = self.first.names.numpy
        test = self.narrow.test(list(self.fate.entry), "each")
        low, high = self.narrow.low, self.narrow.high
        yield f"# what is within {low} to {high} stays there: a byte holds it, of eight to be moved"
        yield f"{self.cells} = {numpy}.int8 if {test} else {numpy}.{WIDE}"

    def _preface(self, tests: Sequence[str]) -> Iterator[str]:
        """Sizes, memory, copies to the device, and the tests that need them."""
        for operation in self.operations:
            if isinstance(operation, Host) and operation.once:
                yield ast.unparse(operation.statement)
        # an array made in the step is as large as one of those it comes from
        size = " + ".join(f"{a}.nbytes" for a in self.fate.entry)
        made = len(self.fate.fresh) + len(self.fate.scratch)
        if made:
            size = f"{1 + made} * " + (f"({size})" if " + " in size else size)
        yield f"if {size} > 0.9 * {self.cuda}.current_context().get_memory_info()[0]:"
        yield f"{LEVEL}return None  # does not fit"
        yield from self._cell_type()
        for array in self.fate.entry:
            given = f"{array}.astype({self.cells}, copy=False)" if self._is_narrow(array) else array
            yield f"{self.device[array]} = {self.cuda}.to_device({given})"
        for fresh in self.fate.fresh.values():
            yield from self._buffer(fresh)
        for name, source in self.fate.scratch.items():
            yield f"{self.device[name]} = {self.cuda}.device_array_like({self.device[source]})"
        for flag in self._flags():
            yield flag_made(flag, self.cuda, self.first.names.numpy)
        asked = list(dict.fromkeys([*tests, *self._made_wide(), *self._types(), *self._alike()]))
        if asked:
            yield "if not ("
            yield from (f"{LEVEL}{'and ' if k else ''}{test}" for k, test in enumerate(asked))
            yield "):"
            yield f"{LEVEL}return None"

    def _flags(self) -> list[str]:
        return [one.flag for one in self.emissions.values() if one.flag]

    def _buffer(self, fresh: Fresh) -> Iterator[str]:
        """Memory for an array that the step makes."""
        copy = self.device[fresh.name]
        like = fresh.copied if fresh.copied in self.fate.entry else ast.unparse(fresh.value)
        if self._is_narrow(fresh.name):
            yield f"{copy} = {self.cuda}.device_array({like}.shape, {self.cells})"
            return
        if fresh.name in self.zeros:
            yield f"{self.zeros[fresh.name]} = {self.cuda}.to_device({like})"
            like = self.zeros[fresh.name]
        yield f"{copy} = {self.cuda}.device_array_like({like})"

    def _made_wide(self) -> Iterator[str]:
        """That the program's own arrays are as wide as those that it starts with."""
        for name, fresh in self.fate.fresh.items():
            if self._is_narrow(name) and fresh.copied is None:
                yield f"{ast.unparse(fresh.value)}.dtype == {self.first.names.numpy}.{WIDE}"

    def _alike(self) -> Iterator[str]:
        """Arrays that change hands are of one shape and type."""
        for one, two in self.fate.pairs:
            a, b = self.device[one], self.device[two]
            yield f"{a}.shape == {b}.shape and {a}.dtype == {b}.dtype"

    def _types(self) -> Iterator[str]:
        """What was seen of arrays that the step makes otherwise than as a copy of another."""
        paired = {name for pair in self.fate.pairs for name in pair}
        for operation in self.operations:
            if not isinstance(operation, Kernels):
                continue
            emission, renamed = self.emissions[id(operation.region)], dict(operation.renamed)
            for path, array in emission.nest.arrays.items():
                name = renamed.get(path, path)
                made = self.fate.fresh.get(name)
                if made is None or made.copied is not None or name in paired:
                    continue
                copy, dtype = self.device[name], array.element.dtype
                if self._is_narrow(name):
                    yield f"{copy}.ndim == {array.ndim}"
                    continue
                kind = f"{emission.names.numpy}.{dtype}{'_' if dtype == 'bool' else ''}"
                yield f"{copy}.dtype == {kind} and {copy}.ndim == {array.ndim}"

    def needs_zeros(self, fresh: Fresh) -> bool:
        """Whether an array must be filled before its first kernel, which does not do it itself."""
        if not fresh.zeros:
            return False
        for operation in self.operations:
            if isinstance(operation, Kernels) and self.is_first(operation.region, fresh.name):
                back = {new: old for old, new in operation.renamed}
                path = back.get(fresh.name, fresh.name)
                emission = self.emissions[id(operation.region)]
                covered = is_covered(path, emission.step, emission.nest)
                return path not in emission.zeroed and not covered
        return True

    def is_first(self, region: Region, array: str) -> bool:
        """Whether a nest is the first to use an array after it was made."""
        made = False
        for operation in self.operations:
            if isinstance(operation, Fresh) and operation.name == array:
                made = True
            elif made and isinstance(operation, Kernels):
                names = dict(operation.renamed)
                arrays = getattr(operation.region.nest, "arrays", {})
                if array in {names.get(a, a) for a in arrays}:
                    return operation.region is region
            elif made and isinstance(operation, Keep | Exchange):
                return False
        return False

    # ------------------------------------------------------------------ steps
    def _steps(self) -> tuple[list[str], list[str], set[str]]:
        """Lines in front of the loop, the loop's, and names whose array the host has then."""
        setup: list[str] = []
        lines: list[str] = []
        synced = set(self.fate.kept)
        done: set[tuple[int, Renamed]] = set()
        for operation in self.operations:
            match operation:
                case Kernels(region=region, renamed=renamed):
                    if (id(region), renamed) not in done:
                        done.add((id(region), renamed))
                        setup += self._configured(region, dict(renamed))
                    lines += self._launches(region, dict(renamed))
                case Fresh(name=name, copied=copied):
                    source = self.device.get(copied or "") or self.zeros.get(name)
                    if source is not None:
                        where = f", {self.replay.stream}" if self.replay is not None else ""
                        lines.append(f"{self.device[name]}.copy_to_device({source}{where})")
                case Exchange():
                    lines += self._exchange(operation, synced)
                case Keep():
                    lines += self._keep(operation)
                case Look(statement=statement):
                    lines += look_lines(statement, frozenset(self.device), self._shown)
                case Host(statement=statement, once=False):
                    lines += ast.unparse(statement).split("\n")
        return ([COMMENT, *setup] if setup else setup), lines, synced

    def _launches(self, region: Region, renamed: dict[str, str]) -> list[str]:
        emission = self.emissions[id(region)]
        names = self.names_of(region, renamed)
        names = self._on_device(names)  # the host has no array that the step makes
        fixed = {id(k.launch) for k in emission.kernels if self._is_fixed(k, names)}
        kernels = {id(k.launch): k for k in emission.kernels}
        writer = Steps(self._made(emission, renamed), kernels, fixed, emission.text)
        return _renamed("\n".join(writer.lines(emission.step)), names)

    def _configured(self, region: Region, renamed: dict[str, str]) -> Iterator[str]:
        """Launch configurations that hold for the whole loop."""
        emission = self.emissions[id(region)]
        names = self.names_of(region, renamed)
        names = self._on_device(names)
        fixed = [k for k in emission.kernels if self._is_fixed(k, names)]
        for same in alike(fixed):
            lines = configured(same, self._made(emission, renamed), limits=False)
            yield from _with_comments("\n".join(lines), names)

    def _on_device(self, names: Mapping[str, str]) -> dict[str, str]:
        """The names, arrays that the step makes by those of their memory on the device."""
        made = {name: self.device[name] for name in self.fate.fresh}
        return {**made, **{old: made.get(new, new) for old, new in names.items()}}

    def _is_fixed(self, kernel: Kernel, renamed: dict[str, str]) -> bool:
        used = {renamed.get(n, n) for n in names_in(kernel.extents)}
        return used.isdisjoint(self.changing)

    def _made(self, emission: CudaEmission, renamed: dict[str, str]) -> Launcher:
        """What the kernels are called with."""
        on_device = {
            param: self.device[renamed.get(path, path)]
            for path, param in emission.names.params.items()
            if path in emission.nest.arrays
        }
        # exponents are arguments: as literals they would be multiplied out
        for key, text in emission.state.exponents.items():
            on_device[emission.names.arguments[key]] = emission._spelled(text, emission.names)
        return Launcher(
            name="",
            doc="",
            params=(),
            on_device=on_device,
            written=(),
            covered=frozenset(),
            configured=self.handles[id(emission.region), tuple(sorted(renamed.items()))],
            grid=self.grid,
            block=self.block,
            warnings=emission.warnings,
            cuda=self.cuda,
            replay=self.replay,
        )

    def repeats(self) -> bool:
        """Whether every step launches the same, with nothing of the host in between."""
        for operation in self.operations:
            match operation:
                case Keep() | Look() | Host(once=False):
                    return False
                case Kernels(region=region, renamed=renamed):
                    emission = self.emissions[id(region)]
                    names = self.names_of(region, dict(renamed))
                    if not isinstance(emission.step, Launch):
                        return False
                    for kernel in emission.kernels:
                        used = {names.get(a, a) for a in kernel.arguments}
                        if not self._is_fixed(kernel, names) or used & self.changing:
                            return False
        return turns(self.exchanges()) is not None

    def exchanges(self) -> Iterator[tuple[list[str], list[str]]]:
        """The names that are bound anew in a step, and those whose arrays they get."""
        for operation in self.operations:
            if isinstance(operation, Exchange):
                yield self._sides(operation)

    def _sides(self, exchange: Exchange) -> tuple[list[str], list[str]]:
        """Both sides of the statement that trades arrays of the device."""
        device = self.device
        taken = [s for s in exchange.sources if s not in exchange.targets]
        lost = [t for t in exchange.targets if t not in exchange.sources]
        left = [device[n] for n in (*exchange.targets, *taken)]
        right = [device[n] for n in (*exchange.sources, *lost)]
        if taken:
            return left, right
        return [*exchange.targets, *left], [*exchange.sources, *right]

    def _exchange(self, exchange: Exchange, synced: set[str]) -> Iterator[str]:
        """Names trade their copies; memory that no name has any more goes to the next step."""
        fate = self.fate
        left, right = self._sides(exchange)
        yield f"{', '.join(left)} = {', '.join(right)}"
        if set(exchange.sources) <= set(exchange.targets):
            synced |= set(exchange.targets)
            return
        for target, source in zip(exchange.targets, exchange.sources, strict=True):
            if source in fate.fresh and source in fate.kept:
                synced.add(target)
                yield f"{target} = {source}"
            elif target in fate.kept:
                yield f"{target} = {self._fetched(target)}"

    def _keep(self, keep: Keep) -> Iterator[str]:
        """The host's copy of an array goes into its list."""
        if keep.copied:
            yield f"{keep.holder}.append({self._fetched(keep.array)})"
            return
        if keep.array in self.fate.fresh:
            yield f"{keep.array} = {self._fetched(keep.array)}"
        yield f"{keep.holder}.append({keep.array})"

    # ---------------------------------------------------------------- wrapper
    def wrapper(
        self,
        name: str,
        run: str,
        params: Sequence[str],
        returned: Sequence[str],
        tests: Sequence[str],
        result: str,
    ) -> str:
        """The function that asks, and else runs the loop as it was."""
        many = f" {result}" if len(returned) > 1 else f" {result}[0]" if returned else ""
        lines = [
            f"def {name}({', '.join(params)}):",
            f'{LEVEL}"""Run the time loop on the GPU where that is equal, else as it was."""',
            f"{LEVEL}if (",
            *(f"{LEVEL * 2}{'and ' if k else ''}{test}" for k, test in enumerate(tests)),
            f"{LEVEL * 2}and {self.cuda}.is_available()",
            f"{LEVEL}):",
            f"{LEVEL * 2}{result} = {run}({', '.join(params)})",
            f"{LEVEL * 2}if {result} is not None:",
            f"{LEVEL * 3}return{many}",
            reindent(self.source, self.loop, 1),
        ]
        if returned:
            lines.append(f"{LEVEL}return {', '.join(returned)}")
        return "\n".join(lines) + "\n"


def _renamed(text: str, names: dict[str, str]) -> list[str]:
    if not names or not text.strip():
        return text.split("\n") if text.strip() else []
    found: list[str] = []
    for statement in ast.parse(text).body:
        found += ast.unparse(renamed_copy(statement, names)).split("\n")
    return found


def _with_comments(text: str, names: dict[str, str]) -> list[str]:
    """The same, with comments at the ends of lines that stay as they are."""
    notes = dict(line.split("  # ", 1) for line in text.split("\n") if "  # " in line)
    lines = _renamed(text, names)
    if not names:
        return lines
    return [f"{line}  # {notes[line]}" if line in notes else line for line in lines]
