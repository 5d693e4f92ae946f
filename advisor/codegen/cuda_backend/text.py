"""The text of kernels and of the function that launches them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...layout import comments_between, reindent
from ...loopnest.ir import For
from ...model import Source
from ..nb_state import TextEdit
from ..nb_text import LEVEL, Names, edited
from ..nb_values import Unsupported
from .plan import Launch, OnHost, Repeat, Step
from .replay import Replay

BLOCKS: Mapping[int, tuple[int, ...]] = {1: (128,), 2: (32, 8), 3: (32, 4, 2)}
"""Threads of a block along x, y and z: whole warps of 32 along x."""
MOST_BLOCKS = 65535
"""Of a grid along y and z; along x there are 2**31 - 1."""


@dataclass(frozen=True)
class Kernel:
    """One kernel as text, and how it is called."""

    name: str
    text: str
    arguments: tuple[str, ...]
    """Parameters, in order."""
    extents: tuple[str, ...]
    """Threads wanted along x, y, z, as expressions of the host."""
    launch: Launch


class LoopText:
    """The region's loop with its edits made, seen through the statements of the original."""

    def __init__(
        self, source: Source, loop: ast.For, edits: Iterable[TextEdit], names: Names
    ) -> None:
        self.source, root = edited(source, loop, edits, names)
        pairs = zip(_statements(loop), _statements(root), strict=True)
        self._new: dict[ast.stmt, ast.stmt] = dict(pairs)

    def new(self, node: ast.stmt) -> ast.stmt:
        """The statement in the edited copy."""
        return self._new[node]

    def bounds(self, loop: For) -> tuple[ast.expr, ast.expr]:
        """Start and stop of a ``range`` loop."""
        node = self.new(loop.node)
        assert isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
        match node.iter.args:
            case [stop]:
                return ast.Constant(0), stop
            case [start, stop, *_]:
                return start, stop
        raise Unsupported("range() without arguments", node.lineno)

    def header(self, loop: For) -> str:
        """``for t in range(steps):``."""
        node = self.new(loop.node)
        assert isinstance(node, ast.For)
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}:"

    # ---------------------------------------------------------------- bodies
    def thread(self, launch: Launch) -> list[str]:
        """What one thread does: the loop's body without the headers of the grid's loops."""
        gone = {self.new(node) for node in launch.unrolled}
        root = self.new(launch.root.node)
        assert isinstance(root, ast.For)
        return list(self._block(root.body, gone, 1))

    def _block(self, body: Sequence[ast.stmt], gone: set[ast.stmt], level: int) -> Iterator[str]:
        plain: list[ast.stmt] = []
        for statement in body:
            if gone.isdisjoint(ast.walk(statement)):
                plain.append(statement)
                continue
            yield from self._plain(plain, level)
            plain = []
            assert isinstance(statement, ast.For)
            if statement in gone:
                yield from self._comments(statement, level)
                yield from self._block(statement.body, gone, level)
            else:
                target, values = ast.unparse(statement.target), ast.unparse(statement.iter)
                yield f"{LEVEL * level}for {target} in {values}:"
                yield from self._block(statement.body, gone, level + 1)
        yield from self._plain(plain, level)

    def _plain(self, statements: list[ast.stmt], level: int) -> Iterator[str]:
        if statements:
            yield from reindent(self.source, statements, level).split("\n")

    def _comments(self, loop: ast.For, level: int) -> Iterator[str]:
        """Comments between a header that goes and the first statement below it."""
        start, end = self.source.span(loop.iter)[1], self.source.span(loop.body[0])[0]
        for comment in comments_between(self.source, start, end):
            yield f"{LEVEL * level}{comment}"


def continues_as_returns(source: Source, launch: Launch) -> Iterator[TextEdit]:
    """``continue`` in a loop that became the grid ends the thread."""
    for loop in launch.unrolled:
        assert isinstance(loop, ast.For)
        for node in _own(loop.body):
            if isinstance(node, ast.Continue):
                start, end = source.span(node)
                yield TextEdit(start, 0, end, "return")


def _own(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a loop's body without those of loops inside it."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _own([*statement.body, *statement.orelse])


def _statements(root: ast.stmt) -> list[ast.stmt]:
    return [node for node in ast.walk(root) if isinstance(node, ast.stmt)]


# ------------------------------------------------------------------ kernels
def kernel(
    name: str,
    launch: Launch,
    text: LoopText,
    candidates: Sequence[str],
    decorator: str,
    doc: str,
    zeroed: Sequence[str] = (),
    extents_of: Mapping[str, Sequence[tuple[str, int]]] | None = None,
) -> Kernel:
    """The kernel of a launch; ``candidates``: names that may become its parameters.

    ``zeroed``: elements, as text, that each thread sets to zero first. ``extents_of``: names that
    are extents of arrays, with array and axis: a kernel reads them off an array that it has, since
    each parameter costs the host two microseconds a launch.
    """
    cuda = decorator.removeprefix("@").partition(".jit")[0]
    fills = [f"{LEVEL}{element} = 0" for element in zeroed]
    lines = [*_indices(launch, text, cuda), *fills, *text.thread(launch)]
    body = ast.parse("def kernel():\n" + "\n".join(lines))
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    indices = {axis.index for axis in launch.axes}
    params = tuple(c for c in candidates if c in used and c not in indices)
    known = {
        p: next((place for place in (extents_of or {}).get(p, ()) if place[0] in params), None)
        for p in params
    }
    read = [f"{LEVEL}{p} = {a[0]}.shape[{a[1]}]" for p, a in known.items() if a is not None]
    params = tuple(p for p in params if known[p] is None)
    head = [decorator, f"def {name}({', '.join(params)}):", f'{LEVEL}"""{doc}"""', *read]
    extents = tuple(
        extent(*text.bounds(axis.loop), axis.loop.step) for axis in reversed(launch.axes)
    )
    return Kernel(name, "\n".join([*head, *lines]) + "\n", params, extents, launch)


def _indices(launch: Launch, text: LoopText, cuda: str) -> Iterator[str]:
    """Loop indices from the thread's place in the grid, and what is beyond the loops ends."""
    axes = tuple(reversed(launch.axes))
    yield f"{LEVEL}{', '.join(a.index for a in axes)} = {cuda}.grid({len(axes)})"
    tests = []
    for axis in launch.axes:
        start, stop = text.bounds(axis.loop)
        step, index, at = axis.loop.step, axis.index, _factor(start)
        if step not in (1, -1):
            yield f"{LEVEL}{index} *= {abs(step)}"
        if step < 0:
            yield f"{LEVEL}{index} = {at} - {index}"
        elif at != "0":
            yield f"{LEVEL}{index} += {at}"
        tests.append(f"{index} {'>=' if step > 0 else '<='} {_factor(stop)}")
    yield f"{LEVEL}if {' or '.join(tests)}:"
    yield f"{LEVEL * 2}return"


def _factor(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.IfExp | ast.Lambda | ast.BoolOp) else text


def extent(start: ast.expr, stop: ast.expr, step: int) -> str:
    """How many iterations ``range(start, stop, step)`` has, where it has any."""
    first, last = (start, stop) if step > 0 else (stop, start)
    size = abs(step)
    text = _difference(last, first)
    if size == 1:
        return text
    return f"({text} + {size - 1}) // {size}"


def _difference(last: ast.expr, first: ast.expr) -> str:
    """``n - 1`` less ``1`` is ``n - 2``."""
    match last, first:
        case _, ast.Constant(value=0):
            return ast.unparse(last)
        case ast.Constant(value=int(a)), ast.Constant(value=int(b)):
            return str(a - b)
        case (
            ast.BinOp(left=base, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(a))),
            ast.Constant(value=int(b)),
        ):
            rest = (a if isinstance(op, ast.Add) else -a) - b
            sign = "+" if rest > 0 else "-"
            return ast.unparse(base) + (f" {sign} {abs(rest)}" if rest else "")
    right = ast.unparse(first)
    simple = isinstance(first, ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call)
    return f"{ast.unparse(last)} - {right if simple else f'({right})'}"


# ----------------------------------------------------------------- launcher
@dataclass(frozen=True)
class Launcher:
    """What the function that launches needs to know."""

    name: str
    doc: str
    params: tuple[str, ...]
    on_device: Mapping[str, str]
    """Array parameter -> name of its copy on the device."""
    written: tuple[str, ...]
    """Those that come back."""
    covered: frozenset[str]
    """Those of which every element is written and none is read: not copied there."""
    configured: Mapping[str, str]
    """Kernel -> local name for it with its launch configuration."""
    grid: str
    block: str
    warnings: str
    cuda: str
    flag: str = ""
    """The array in which kernels note that Python would raise."""
    numpy: str = ""
    replay: Replay | None = None
    """How launches that are the same in every step are made by a CUDA graph."""

    @property
    def stream(self) -> str:
        """The stream of the launches, if it has a name."""
        return "" if self.replay is None else self.replay.stream


def launcher(made: Launcher, step: Step, kernels: Sequence[Kernel], text: LoopText) -> str:
    """The function that copies, launches, and copies back; False where it cannot."""
    arrays = list(made.on_device)
    lines = [f"def {made.name}({', '.join(made.params)}):", f'{LEVEL}"""{made.doc}"""']
    size = " + ".join(f"{a}.nbytes" for a in arrays)
    free = f"{made.cuda}.current_context().get_memory_info()[0]"
    lines += [f"{LEVEL}if {size} > 0.9 * {free}:", f"{LEVEL * 2}return False  # does not fit"]
    for array, copy in made.on_device.items():
        how = "device_array_like" if array in made.covered else "to_device"
        lines.append(f"{LEVEL}{copy} = {made.cuda}.{how}({array})")
    if made.flag:
        lines += [LEVEL + flag_made(made.flag, made.cuda, made.numpy)]
    by_launch = {id(k.launch): k for k in kernels}
    host = host_names(step)
    fixed = [k for k in kernels if host.isdisjoint(names_in(k.extents))]
    if made.replay is not None:
        lines.append(f"{LEVEL}{made.stream} = {made.cuda}.stream()")
    lines.append(f"{LEVEL}{_block_comment(kernels)}")
    for same in alike(fixed):
        lines += [LEVEL + line for line in configured(same, made)]
    writer = Steps(made, by_launch, {id(k.launch) for k in fixed}, text)
    lines += [(LEVEL + line).rstrip() for line in writer.loop(step)]
    if made.flag:
        lines += [LEVEL + line for line in flag_asked(made.flag, "False")]
    lines += [f"{LEVEL}{made.on_device[a]}.copy_to_host({a})" for a in made.written]
    lines.append(f"{LEVEL}return True")
    return "\n".join(lines) + "\n"


def alike(kernels: Sequence[Kernel]) -> Iterator[list[Kernel]]:
    """The kernels that have a launch configuration in common."""
    for extents in dict.fromkeys(k.extents for k in kernels):
        yield [k for k in kernels if k.extents == extents]


def flag_made(flag: str, cuda: str, numpy: str) -> str:
    """The flag in which kernels note that Python would raise."""
    return f"{flag} = {cuda}.to_device({numpy}.zeros(1, dtype={numpy}.int32))"


def flag_asked(flag: str, answer: str) -> Iterator[str]:
    """Leave, with all on the host as it was, if Python would raise."""
    yield f"if {flag}.copy_to_host()[0]:"
    yield f"{LEVEL}return {answer}  # the loop in Python raises it, as it did"


def _block_comment(kernels: Sequence[Kernel]) -> str:
    most = max(len(k.extents) for k in kernels)
    if most == 1:
        return "# blocks of 128 threads, as many as cover the loop"
    return "# a warp's 32 threads along x: they read and write neighbouring elements together"


def configured(same: Sequence[Kernel], made: Launcher, limits: bool = True) -> Iterator[str]:
    """``kernel = _f_kernel[grid, block]``, once: a launch then looks nothing up.

    ``limits``: ask whether the grid may have that many blocks.
    """
    extents = same[0].extents
    block = block_for(extents)
    for size, threads in list(zip(extents, block, strict=True))[1:]:
        if limits and not size.isdigit():
            yield f"if {size} > {threads} * {MOST_BLOCKS}:"
            yield f"{LEVEL}return False  # more blocks than a grid has along y"
    counts = [_count(size, threads) for size, threads in zip(extents, block, strict=True)]
    yield f"{made.block} = {', '.join(map(str, block))}"
    yield f"{made.grid} = {', '.join(counts)}"
    yield f"with {made.warnings}.catch_warnings():"
    yield f'{LEVEL}{made.warnings}.simplefilter("ignore")  # numba warns of grids below 128 blocks'
    for one in same:
        where = ", ".join(filter(None, (made.grid, made.block, made.stream)))
        yield f"{LEVEL}{made.configured[one.name]} = {one.name}[{where}]"


def block_for(extents: tuple[str, ...]) -> tuple[int, ...]:
    """Threads of a block along x, y, z; a short x, of three columns say, leaves more for y."""
    block = BLOCKS[len(extents)]
    if len(extents) == 1 or not extents[0].isdigit() or int(extents[0]) > 16:
        return block
    width = 1 << max(0, int(extents[0]) - 1).bit_length()
    return width, block[1] * (block[0] // width), *block[2:]


def _count(size: str, threads: int) -> str:
    if size.isdigit():
        return str(max(1, -(-int(size) // threads)))
    base, plus, rest = size.rpartition(" + ")
    if plus and rest.isdigit():
        return f"max(1, ({base} + {int(rest) + threads - 1}) // {threads})"
    base, minus, rest = size.rpartition(" - ")
    if minus and rest.isdigit() and int(rest) < threads - 1:
        return f"max(1, ({base} + {threads - 1 - int(rest)}) // {threads})"
    return f"max(1, ({size} + {threads - 1}) // {threads})"


@dataclass(frozen=True)
class Steps:
    """Writes the host's part of a plan."""

    made: Launcher
    kernels: Mapping[int, Kernel]
    fixed: set[int]
    text: LoopText

    def loop(self, step: Step) -> Iterable[str]:
        """The lines of a whole plan: its steps by a graph where that is wanted."""
        if self.made.replay is None:
            return self.lines(step)
        assert isinstance(step, Repeat)
        header, *body = self.lines(step)
        loop = ast.parse(f"{header}\n{LEVEL}pass").body[0]
        assert isinstance(loop, ast.For)
        return self.made.replay.lines(loop, [line.removeprefix(LEVEL) for line in body], ())

    def lines(self, step: Step) -> Iterator[str]:
        """The lines of a step, not indented."""
        match step:
            case Launch():
                kernel_ = self.kernels[id(step)]
                if id(step) not in self.fixed:
                    yield from configured([kernel_], self.made)
                given = [self.made.on_device.get(a, a) for a in kernel_.arguments]
                yield f"{self.made.configured[kernel_.name]}({', '.join(given)})"
            case OnHost(statement=statement):
                yield ast.unparse(self.text.new(statement.node))
            case Repeat(loop=loop, steps=steps):
                yield self.text.header(loop)
                seen: set[ast.stmt] = set()
                for inner in steps:
                    if isinstance(inner, OnHost):
                        # a, b = b + 1, a  is two assignments of one statement
                        if inner.statement.node in seen:
                            continue
                        seen.add(inner.statement.node)
                    yield from (LEVEL + line for line in self.lines(inner))


def host_names(step: Step) -> set[str]:
    """Names that change on the host while the plan runs."""
    match step:
        case Repeat(loop=loop, steps=steps):
            return {loop.index}.union(*map(host_names, steps))
        case OnHost(statement=statement):
            return {statement.name}
    return set()


def names_in(texts: Iterable[str]) -> set[str]:
    """Names that expressions use."""
    return {node.id for t in texts for node in ast.walk(ast.parse(t)) if isinstance(node, ast.Name)}
