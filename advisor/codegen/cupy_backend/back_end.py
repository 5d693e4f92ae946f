"""A loop of NumPy array statements with its arrays on the device over all passes."""

from __future__ import annotations

import ast
from itertools import combinations
from typing import TypeGuard

from ...layout import LEVEL, reindent, replace_statement
from ...loopnest.liveness import live_after
from ...loopnest.scope import stored_names
from ...model import Basis, Condition, Edit, Match, Refusal, Region
from ...names import import_edit
from .. import ast_tools as tools
from ..answers import answer
from ..bf_flow import Flow
from ..bf_inline import CannotInline, Inliner
from ..bf_plan import are_arrays, flow_of, may_look, nobody_looks, shapes_alike
from ..bf_text import header
from ..bf_values import DTYPES, Array, Scalar, dotted, value_of
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from ..wrapped import extents
from .expressions import Expressions
from .fused import Fuser
from .statements import Statements

FEWEST = 20_000
"""Elements below which the launches, 10 microseconds each, take longer than NumPy itself."""
SPARE = 2
"""Times the memory that arrays and temporaries should need: the pool rounds up, and splits."""
WHY = "every array operation runs on one core, and each moves whole arrays through memory"


def arrays_on_gpu(region: Region) -> Match | Refusal | None:
    """The loop's array statements in CuPy; the arrays go to the device before it and back after.

    None where the loop has no statement over whole arrays. Refuses, with the reason, what CuPy
    might compute differently, and arrays that are too small for a GPU.
    """
    if not _is_about_arrays(region):
        return None
    return answer(_written, region, "a CuPy form")


def _written(region: Region) -> Match:
    if not may_look(region):
        raise Unsupported("the file around the loop does more than can be followed")
    if not nobody_looks(region):
        raise Unsupported("a handler may see the arrays half-way")
    try:
        return _Resident(region).match()
    except CannotInline:
        raise Unsupported("a function that the loop calls cannot be written out in it") from None


def _is_about_arrays(region: Region) -> bool:
    """Whether some statement computes with whole arrays, and not only with their elements."""
    if region.observation is None or not isinstance(region.loop, ast.For):
        return False
    arrays = {n for n, v in region.observation.values.items() if v.kind == "ndarray"}
    loops = {n.id for n in ast.walk(region.loop) if isinstance(n, ast.Name) and _stored(n)}
    for node in ast.walk(region.loop):
        match node:
            case ast.Call(func=ast.Name()) | ast.Call(func=ast.Attribute()):
                if any(dotted(argument) in arrays for argument in node.args):
                    return True
            case ast.BinOp(left=left, right=right):
                if {dotted(left), dotted(right)} & arrays:
                    return True
            case ast.Subscript(value=base, slice=index) if dotted(base) in arrays:
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                names = {n.id for n in ast.walk(index) if isinstance(n, ast.Name)}
                if any(isinstance(part, ast.Slice) for part in parts) and not names & loops:
                    return True
    return False


def _is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and _stored(node)


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _refuse_dtypes(region: Region) -> None:
    """Raise Unsupported for arrays of types that a GPU lacks, or rounds otherwise."""
    assert region.observation is not None
    used = {
        (dotted(node), node.lineno)
        for node in ast.walk(region.loop)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    for name, line in sorted((n, at) for n, at in used if n is not None):
        info = region.observation.values.get(name)
        if info is None or info.kind != "ndarray" or info.dtype in DTYPES:
            continue
        if info.dtype == "object":
            text = f"{name} is an array of Python objects, which cannot go to a GPU"
            raise Unsupported(text, line, "make it an array of numbers")
        raise Unsupported(f"{name} is an array of {info.dtype}, which is not known on a GPU", line)


class _Resident:
    """One rewrite under way."""

    def __init__(self, region: Region) -> None:
        assert isinstance(region.loop, ast.For)
        self.region, self.source, self.loop = region, region.source, region.loop
        self.inliner = Inliner(region)
        self.body = self.inliner.block(region.loop.body)
        flow = flow_of(region, self.inliner, self.body)
        if flow is None:
            _refuse_dtypes(region)
            raise Unsupported("the arrays' types and shapes cannot be followed", region.loop.lineno)
        self.flow: Flow = flow
        self.cupy, self.edit = import_edit(self.source, "cupy", "cp")
        self.numpy = str(tools.module_alias(self.source, "numpy"))
        arrays = self._arrays()
        device = {name: self.inliner.name("gpu_" + name.replace(".", "_")) for name in arrays}
        self.expressions = Expressions(region, self.cupy, frozenset(arrays), device)
        self.fuser = Fuser(
            self.expressions,
            self.body,
            self._passing(),
            lambda: self.inliner.name(f"_{self._owner()}_cells"),
        )
        self.text = Statements(self.source, flow, self.expressions, self.inliner.name, self.fuser)

    def _owner(self) -> str:
        function = self.region.function
        return function.name.strip("_") if function is not None else "loop"

    def _passing(self) -> frozenset[str]:
        """Names that each pass binds anew, and that nothing reads outside the loop."""
        after = live_after(self.source, self.region.function, self.loop) or frozenset()
        bound = {n.id for s in self.body for n in ast.walk(s) if _is_bound(n)}
        if self.region.function is None:  # a module's names are anybody's
            after |= stored_names(self.source.tree)
        return frozenset(bound - after - set(self.flow.entry))

    def _arrays(self) -> list[str]:
        """Names that stand for an array somewhere in the loop."""
        environments = [self.flow.entry, *self.flow.before.values()]
        found = {n: None for env in environments for n, v in env.items() if isinstance(v, Array)}
        for node in (n for s in self.body for n in ast.walk(s)):
            env = self.flow.before.get(id(node))
            if env is None or not isinstance(node, ast.Assign):
                continue
            if isinstance(value_of(self.source, node.value, env), Array):
                found |= {name: None for t in node.targets if (name := dotted(t))}
        mentioned = {dotted(n) for s in self.body for n in ast.walk(s)}
        names = [name for name in found if name in mentioned]
        for name in names:
            if name.partition(".")[0] in self.flow.captured:
                text = f"{name} may be used by a function in the loop"
                raise Unsupported(text, self.loop.lineno)
        return names

    # ------------------------------------------------------------------ match
    def match(self) -> Match:
        """The rewrite. Raises Unsupported, PatchError."""
        body = self._body()
        entry = {
            name: value
            for name, value in self.flow.entry.items()
            if isinstance(value, Array) and self._is_used(name)
        }
        self._check_size(entry)
        guard, ledger = self._guard(entry)
        starts, back = self._fates(list(entry))
        text = [
            *guard,
            f"{LEVEL}# The arrays stay on the GPU over all passes of the loop.",
            *[LEVEL + line for line in starts],
            LEVEL + header(self.loop, self.source),
            *body,
            *[LEVEL + line for line in back],
            "else:",
            *reindent(self.source, self.loop, 1).split("\n"),
        ]
        edits: tuple[Edit, ...] = (replace_statement(self.source, self.loop, text),)
        if self.fuser.kernels:
            top = top_level_statement(self.source, self.loop)
            offset, block = functions_block(self.source, top, self.fuser.kernels)
            edits = (Edit(offset, offset, block), *edits)
        return Match(
            edits=edits if self.edit is None else (self.edit, *edits),
            why=WHY,
            change=f"{self.expressions.operations} array operations a pass by CuPy, "
            f"{', '.join(entry)} on the device meanwhile",
            needs=frozenset({"numpy", "cupy"}),
            ledger=ledger,
            exactness=self.expressions.exactness,
            reduction_length=self._longest(entry) if self.expressions.reduced else 1,
            differences=(
                "NumPy's warnings (overflow, invalid value, division by zero) are not shown",
            ),
        )

    def _body(self) -> list[str]:
        if self.loop.orelse:
            raise Unsupported("else after the loop", self.loop.lineno)
        for node in ast.walk(self.loop.iter):
            if dotted(node) in self.expressions.arrays and not isinstance(node, ast.Call):
                self.expressions.used.add(str(dotted(node)))
        match self.loop.iter:
            case ast.Call(func=ast.Name(id="range")):
                pass
            case _:
                raise Unsupported("a loop over something else than range()", self.loop.lineno)
        for node in ast.walk(self.loop.target):
            if isinstance(node, ast.Name):
                self.expressions.host.add(node.id)
        body = self.text.block(self.body, 2)
        if not self.expressions.operations:
            raise Unsupported("the loop computes nothing with whole arrays", self.loop.lineno)
        return body

    def _is_used(self, name: str) -> bool:
        used = name in self.expressions.used or name in self.text.written
        likes = {like for like, _ in self.text.buffers.values()}
        return used or name in self.text.rebound or name in likes

    def _elements(self, name: str) -> int:
        assert self.region.observation is not None
        size = 1
        for extent in self.region.observation.values[name].max_shape or (0,):
            size *= extent
        return size

    def _longest(self, entry: dict[str, Array]) -> int:
        return max(map(self._elements, entry))

    def _check_size(self, entry: dict[str, Array]) -> None:
        if not entry or self._longest(entry) < FEWEST:
            largest = self._longest(entry) if entry else 0
            raise Unsupported(
                f"arrays of {largest} elements: on a GPU each operation takes about 10 "
                "microseconds to launch, which is longer than NumPy needs",
                self.loop.lineno,
            )

    # ------------------------------------------------------- there and back
    def _groups(self) -> dict[str, frozenset[str]]:
        """Names that may come to stand for the same array, by name."""
        group = {name: {name} for name in self.expressions.arrays}
        for a, b in self.text.together:
            if a in group and b in group and group[a] is not group[b]:
                merged = group[a] | group[b]
                for name in merged:
                    group[name] = merged
        return {name: frozenset(names) for name, names in group.items()}

    def _live(self, after: frozenset[str]) -> list[str]:
        """Names bound to arrays in the loop that something may read after it."""
        everywhere = self.region.function is None  # a module's names are anybody's
        return [n for n in self.text.rebound if everywhere or "." in n or n in after]

    def _always_bound(self, name: str) -> bool:
        """Whether every pass binds the name, so that one pass is enough."""
        if any(isinstance(n, ast.Continue | ast.Break) for s in self.body for n in ast.walk(s)):
            return False
        assigned = [t for s in self.body if isinstance(s, ast.Assign) for t in s.targets]
        parts = [part for t in assigned for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
        return name in map(dotted, parts)

    def _entries_behind(self, name: str, entry: list[str]) -> set[str]:
        """Names whose array from before the loop the name may stand for in the loop."""
        found, new = {name}, {name}
        while new:
            new = {source for target, source in self.text.together if target in new} - found
            found |= new
        return found & set(entry)

    def _fates(self, entry: list[str]) -> tuple[list[str], list[str]]:
        """Lines in front of the loop, which copy to the device, and lines after it, back."""
        after = live_after(self.source, self.region.function, self.loop)
        if after is None:
            raise Unsupported("the scope's variables may be looked at", self.loop.lineno)
        line, groups, device = self.loop.lineno, self._groups(), self.expressions.device
        live = self._live(after)
        for name in live:
            if name not in entry and not self._always_bound(name):
                text = f"{name} is made in some passes of the loop only, and used after it"
                raise Unsupported(text, line)
            if name in self.text.views:
                raise Unsupported(f"{name} is part of another array after the loop", line)
        changed = {n for name in self.text.written for n in self._entries_behind(name, entry)}
        kept: dict[str, str] = {}
        starts: list[str] = []
        for name in entry:
            start = f"{device[name]} = {self.cupy}.asarray({name})"
            if name in self.text.rebound and (name in changed or groups[name] & set(live)):
                kept[name] = self.inliner.name("first_" + name.replace(".", "_"))
                start = f"{kept[name]} = {start}"
            starts.append(start)
        for name, (like, border) in self.text.buffers.items():
            shape = extents(device[like], border)
            starts.append(f"{name} = {self.cupy}.empty({shape}, {device[like]}.dtype)")
        back = [
            f"{kept.get(name, device[name])}.get(out={name})" for name in entry if name in changed
        ]
        done: set[str] = set()
        for name in live:
            if name in done:
                continue
            members = [n for n in live if n in groups[name]]
            done |= set(members)
            others = [n for n in entry if n in groups[name]]
            back += self._rebound(members, others, kept)
        return starts, back

    def _rebound(self, live: list[str], entry: list[str], kept: dict[str, str]) -> list[str]:
        """The names get the host's arrays: the ones from before the loop, or new ones."""
        device = self.expressions.device
        if live == entry and len(live) == 1:
            [name] = live
            test = f"if {device[name]} is not {kept[name]}:"
            return [test, f"{LEVEL}{name} = {device[name]}.get()"]
        # u and v may have changed places, or one of them may be an array of the last pass
        hosts, array = self.inliner.name("hosts"), self.inliner.name("array")
        pairs = ", ".join(f"({kept.get(n, device[n])}, {n})" for n in entry)
        ends = ", ".join(device[n] for n in live) + "," * (len(live) == 1)
        mine, host = self.inliner.name("known"), self.inliner.name("host")
        return [
            f"{hosts} = [{pairs}]",
            f"for {array} in ({ends}):",
            f"{LEVEL}if all({array} is not {mine} for {mine}, _ in {hosts}):",
            f"{LEVEL * 2}{hosts}.append(({array}, {array}.get()))",
            f"{', '.join(live)}{',' * (len(live) == 1)} = (",
            f"{LEVEL}next({host} for {mine}, {host} in {hosts} if {mine} is {array})",
            f"{LEVEL}for {array} in ({ends})",
            ")",
        ]

    # ------------------------------------------------------------------ guard
    def _guard(self, entry: dict[str, Array]) -> tuple[list[str], tuple[Condition, ...]]:
        tests = [f"{self.cupy}.cuda.is_available()", *self._tests(entry), self._room(entry)]
        observed = tuple(
            Condition(" ".join(test.split()), Basis.OBSERVED, guarded=True) for test in tests
        )
        ledger = (
            Condition("the same operations run in the same order", Basis.PROVED),
            Condition(
                "nothing but the loop's own statements sees the arrays meanwhile",
                Basis.PROVED,
                "lines {}-{}".format(*self.region.lines),
            ),
            *observed,
        )
        lines = ["if (", f"{LEVEL}{tests[0]}", *[f"{LEVEL}and {test}" for test in tests[1:]]]
        return [*lines, "):"], ledger

    def _tests(self, entry: dict[str, Array]) -> list[str]:
        tests = [f"type({name}) is {home}" for name, home in self.inliner.receivers.items()]
        for dtype in dict.fromkeys(value.dtype for value in entry.values()):
            names = [name for name, value in entry.items() if value.dtype == dtype]
            text = f"{self.numpy}.{dtype}{'_' if dtype == 'bool' else ''}"
            tests += are_arrays(self.inliner, names, text, self.numpy)
        tests += shapes_alike(entry)
        tests += self._indices(entry)
        after = live_after(self.source, self.region.function, self.loop) or frozenset()
        if any(name not in entry for name in self._live(after)):
            tests.append(f"len({ast.unparse(self.loop.iter)}) > 0")
        for a, b in combinations(entry, 2):
            if {a, b} & set(self.text.written):
                tests.append(f"not {self.numpy}.may_share_memory({a}, {b})")
        consulted = self.flow.consulted | self.expressions.numbers
        for name, value in self.flow.entry.items():
            if isinstance(value, Scalar) and name in consulted:
                kind = f"{self.numpy}.float64" if value.kind == "float64" else value.kind
                tests.append(f"type({name}) is {kind}")
        return tests

    def _indices(self, entry: dict[str, Array]) -> list[str]:
        tests = []
        for (base, axis), least in sorted(self.expressions.least.items()):
            for name, value in entry.items():
                if len(value.shape) > axis and value.shape[axis].base == base:
                    needed = least - value.shape[axis].cut
                    if needed > 0:
                        tests.append(f"{name}.shape[{axis}] >= {needed}")
                    break
            else:
                raise Unsupported("an index may be out of bounds", self.loop.lineno)
        return tests

    def _room(self, entry: dict[str, Array]) -> str:
        """Whether the device has memory for the arrays and for what a pass makes."""
        largest = max(entry, key=self._elements)
        arrays = len(entry) + len(self.text.rebound) + len(self.text.buffers)
        arrays += self.expressions.operations
        free = f"{self.cupy}.cuda.runtime.memGetInfo()[0]"
        return f"{SPARE * arrays} * {largest}.nbytes < {free}"
