"""Statements over whole arrays, written so that every result goes into an array made before."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..layout import LEVEL, comments_between, reindent
from ..model import Source
from . import ast_tools as tools
from .bf_flow import Flow
from .bf_halo import Halo, halos
from .bf_inline import WRITTEN_OUT
from .bf_values import (
    Array,
    Axis,
    Env,
    chosen_arrays,
    copied_array,
    dotted,
    filled_array,
    is_made,
    operation,
)
from .wrapped import Border, wrap_border

WIDTH = 88
IN_PLACE = {
    "add": "+=",
    "subtract": "-=",
    "multiply": "*=",
    "divide": "/=",
    "bitwise_and": "&=",
    "bitwise_or": "|=",
    "bitwise_xor": "^=",
}
ANY_ORDER = frozenset({*IN_PLACE, "negative", "absolute", "abs", "square", "sqrt", "maximum"})
ANY_ORDER |= {"minimum", "invert"}
"""Functions that give the same bits in place; ``exp`` may take another path through memory."""
PLAIN_SUMS = frozenset({"add", "subtract", "negative"})

Key = tuple[tuple[Axis, ...], str]
"""Shape and dtype."""


@dataclass(frozen=True)
class Operand:
    """An operand as text, and the buffer it lies in, if it is a temporary."""

    text: str
    buffer: str | None = None
    key: Key | None = None


@dataclass
class Writer:
    """Writes the new loop; ``made`` are the arrays it needs, in order."""

    source: Source
    flow: Flow
    name: Callable[[str], str]
    may_write_early: bool
    """Nobody sees an array that was half written when an operation raised."""
    made: dict[str, Key] = field(default_factory=dict)
    _free: dict[Key, list[str]] = field(default_factory=dict)
    bordered: dict[str, tuple[Key, Border]] = field(default_factory=dict)
    """Arrays with a border around them: name, inner shape and dtype, cells on each side."""
    rewritten: int = 0
    _halos: dict[str, Halo] = field(default_factory=dict)
    """Those in use in the statement that is being written."""

    # ------------------------------------------------------------------ blocks
    def block(self, statements: Sequence[ast.stmt], depth: int) -> list[str]:
        """The statements as lines, ``depth`` levels of four spaces to the right."""
        lines: list[str] = []
        for statement in statements:
            new = self.statement(statement, depth)
            lines += [LEVEL * depth + c for c in self._comments(statement) if c not in str(new)]
            lines += new
        return lines

    def _comments(self, statement: ast.stmt) -> list[str]:
        """Comments above a statement of the file, below the one before, and on its own lines."""
        if statement not in tools.parents(self.source):
            return WRITTEN_OUT.get(statement, [])
        block = tools.block_of(self.source, statement)
        at = block.index(statement)
        above = tools.parents(self.source)[statement]
        start = block[at - 1].end_lineno if at else getattr(above, "lineno", 1)
        first = self.source.line_starts[int(start or 1)]
        simple = isinstance(statement, ast.Assign | ast.AugAssign)
        last = statement.end_lineno if simple else statement.lineno - 1
        return list(comments_between(self.source, first, self.source.line_starts[int(last or 1)]))

    def statement(self, statement: ast.stmt, depth: int) -> list[str]:
        """One statement: rewritten, or as it was."""
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
            return self._compound(statement, depth)
        env = self.flow.before.get(id(statement))
        if env is not None and isinstance(statement, ast.Assign | ast.AugAssign):
            made, bordered = dict(self.made), dict(self.bordered)
            free = {key: list(names) for key, names in self._free.items()}
            new = self._simple(statement, env)
            if new is None:
                self.made, self.bordered, self._free = made, bordered, free
            else:
                self.rewritten += 1
                return [LEVEL * depth + line for entry in new for line in entry.split("\n")]
        return self._as_it_was(statement, depth)

    def _as_it_was(self, statement: ast.stmt, depth: int) -> list[str]:
        if statement in tools.parents(self.source):
            return reindent(self.source, statement, depth).split("\n")
        text = ast.unparse(statement)
        match statement:
            case ast.Assign(targets=[target], value=ast.Tuple(elts=[_, _, *_] as values)):
                text = f"{_bare(target)} = {', '.join(map(ast.unparse, values))}"
        return [LEVEL * depth + line for line in text.split("\n")]

    def _compound(
        self, statement: ast.If | ast.For | ast.While | ast.With, depth: int
    ) -> list[str]:
        before = self.rewritten
        body = self.block(statement.body, depth + 1)
        orelse = getattr(statement, "orelse", [])
        other = self.block(orelse, depth + 1)
        if self.rewritten == before and statement in tools.parents(self.source):
            return self._as_it_was(statement, depth)
        lines = [LEVEL * depth + header(statement, self.source), *body]
        if other:
            lines += [LEVEL * depth + "else:", *other]
        return lines

    # -------------------------------------------------------------- statements
    def _simple(self, statement: ast.Assign | ast.AugAssign, env: Env) -> list[str] | None:
        value = statement.value
        known = self.flow.value(value, env)
        if not isinstance(known, Array):
            return None
        if not is_made(self.source, value) or chosen_arrays(self.source, value) is not None:
            return None  # np.where() has no out=
        lines = self._wrap(value, env)
        filled = len(lines)
        last: Operand | None
        if isinstance(statement, ast.AugAssign):
            target = self._text(statement.target)
            mark = f"{_symbol(statement.op)}="
            last = self._into(value, env, lines, None)
            lines.append(f"{target} {mark} {last.text}")
        elif len(statement.targets) != 1:
            return None
        elif isinstance(statement.targets[0], ast.Subscript):
            last = self._store(statement.targets[0], value, known, env, lines)
        elif dotted(statement.targets[0]):
            last = self._name(statement, known, env, lines)
        else:
            return None
        if last is None or len(lines) == filled:
            return None
        self._release(last)
        return lines

    def _wrap(self, value: ast.expr, env: Env) -> list[str]:
        """Fill the copies with a border that the statement takes slices of."""
        self._halos = {}
        lines: list[str] = []
        for halo in halos(self.source, value, env):
            known = env[halo.base]
            assert isinstance(known, Array)
            wanted = ((known.shape, known.dtype), halo.border)
            same = (n for n, had in self.bordered.items() if had == wanted)
            name = next((n for n in same if n not in self._halos), None)
            if name is None:
                name = self.name("wrapped")
                self.bordered[name] = wanted
            self._halos[name] = halo
            lines += wrap_border(halo.base, name, halo.border)
        return lines

    def _store(
        self, target: ast.Subscript, value: ast.expr, known: Array, env: Env, lines: list[str]
    ) -> Operand:
        place = self.flow.value(target, env)
        text = self._text(target)
        fits = isinstance(place, Array) and (place.shape, place.dtype) == (known.shape, known.dtype)
        done = operation(self.source, value)
        direct = fits and done is not None and _any_order(done.name, known.dtype)
        if direct and self.may_write_early and self._reads_apart(target, done):
            return self._into(value, env, lines, text)
        last = self._into(value, env, lines, None)
        lines.append(f"{text} = {last.text}")
        return last

    def _reads_apart(self, target: ast.Subscript, done: object) -> bool:
        """Whether no operand is a shifted part of the target, which would be copied first."""
        base, text = dotted(target.value), ast.unparse(target)
        operands: tuple[ast.expr, ...] = getattr(done, "operands", ())
        for operand in operands:
            if operation(self.source, operand) is not None:
                continue
            inside = {dotted(n) for n in ast.walk(operand)}
            if base in inside and ast.unparse(operand) != text:
                return False
        return True

    def _name(
        self, statement: ast.Assign, known: Array, env: Env, lines: list[str]
    ) -> Operand | None:
        """``u = a + b``: into one of the arrays that take turns, or into a new one."""
        target = ast.unparse(statement.targets[0])
        value = statement.value
        done = operation(self.source, value)
        apart = done is not None and not _any_order(done.name, known.dtype)
        count = self.flow.buffers(statement, apart=apart)
        copied, filled = copied_array(self.source, value), filled_array(self.source, value)
        if count is None or ("." in target and not self.may_write_early):
            whole = copied is not None or filled is not None
            last = [] if whole else self._operands(value, env, lines)
            if not any(operand.buffer for operand in last) and not self._halos:
                return None
            lines.append(f"{target} = {_call_text(value, last, self._slice)}")
            for operand in last:
                self._release(operand)
            return Operand(target)
        stem = target.rpartition(".")[2].lstrip("_")
        endings = ("buffer",) if count == 1 else ("a", "b", "c")[:count]
        names = [self._make(f"{stem}_{ending}", known) for ending in endings]
        if copied is not None:
            lines.append(f"{self.numpy}.copyto({names[0]}, {ast.unparse(copied)})")
            lines.append(f"{target} = {names[0]}")
        elif filled is not None:
            lines.append(f"{names[0]}.fill({filled[1]})")
            lines.append(f"{target} = {names[0]}")
        else:
            self._into(value, env, lines, names[0])
            lines[-1] = f"{target} = {lines[-1]}"
        if count > 1:
            lines.append(f"{', '.join(names)} = {', '.join([*names[1:], names[0]])}")
        return Operand(target)

    # ------------------------------------------------------------- expressions
    @property
    def numpy(self) -> str:
        """What the file calls NumPy."""
        return str(tools.module_alias(self.source, "numpy"))

    def _operands(self, node: ast.expr, env: Env, lines: list[str]) -> list[Operand]:
        done = operation(self.source, node)
        if done is None:
            return [self._into(node, env, lines, None)]
        return [self._into(operand, env, lines, None) for operand in done.operands]

    def _slice(self, node: ast.expr) -> str | None:
        every = (halo.slice_of(node, name) for name, halo in self._halos.items())
        return next((text for text in every if text is not None), None)

    def _into(self, node: ast.expr, env: Env, lines: list[str], out: str | None) -> Operand:
        """Compute a node: statements that do it, and where its value is then."""
        known = self.flow.value(node, env)
        rolled = self._slice(node)
        if rolled is not None:
            return Operand(rolled)
        copied = copied_array(self.source, node)
        done = operation(self.source, node)
        if not isinstance(known, Array) or (done is None and copied is None):
            return Operand(self._text(node))
        key = (known.shape, known.dtype)
        if done is None:
            assert copied is not None
            name = out or self._take(key)
            lines.append(f"{self.numpy}.copyto({name}, {ast.unparse(copied)})")
            return Operand(name, None if out else name, key)
        operands = [self._into(operand, env, lines, None) for operand in done.operands]
        reusable = _any_order(done.name, known.dtype) and out is None
        first = operands[0]
        if reusable and first.buffer and first.key == key and done.name in IN_PLACE:
            lines.append(f"{first.text} {IN_PLACE[done.name]} {operands[1].text}")
            self._release(operands[1])
            return first
        again = next((o for o in operands if o.buffer and o.key == key and reusable), None)
        name = out or (str(again.buffer) if again else self._take(key))
        texts = [operand.text for operand in operands]
        lines.append(_call(f"{self.numpy}.{done.name}", [*texts, f"out={name}"]))
        for operand in operands:
            if operand.buffer != name:
                self._release(operand)
        return Operand(name, None if out else name, key)

    def _text(self, node: ast.expr) -> str:
        """As the user wrote it, if it is one line of the file."""
        if node in tools.parents(self.source) and node.lineno == node.end_lineno:
            return self.source.text(node)
        return ast.unparse(node)

    # ----------------------------------------------------------------- buffers
    def _take(self, key: Key) -> str:
        free = self._free.setdefault(key, [])
        if free:
            free.sort(key=list(self.made).index)
            return free.pop(0)
        return self._make("mask" if key[1] == "bool" else "work", Array(*key))

    def _make(self, wanted: str, like: Array) -> str:
        name = self.name(wanted)
        self.made[name] = (like.shape, like.dtype)
        return name

    def _release(self, operand: Operand) -> None:
        if operand.buffer and operand.key:
            self._free.setdefault(operand.key, []).append(operand.buffer)


def _any_order(name: str, dtype: str) -> bool:
    # complex products may be fused where memory is contiguous and nothing overlaps
    return name in (PLAIN_SUMS if dtype.startswith("complex") else ANY_ORDER)


def header(statement: ast.stmt, source: Source) -> str:
    """The first line of a compound statement, with its comment where it is one line."""
    if statement in tools.parents(source):
        line = source.lines[statement.lineno - 1].strip()
        try:
            ast.parse(f"{line}\n    pass")
        except SyntaxError:
            pass  # it goes on below, or is an elif
        else:
            return line
    alone = copy.copy(statement)
    alone.body = [ast.Pass()]  # type: ignore[attr-defined]
    if hasattr(alone, "orelse"):
        alone.orelse = []
    return ast.unparse(alone).rpartition("\n")[0]


def _bare(target: ast.expr) -> str:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return ", ".join(map(ast.unparse, parts))


def _symbol(op: ast.operator) -> str:
    text = ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))
    return text[2:-2]


def _call(function: str, arguments: list[str]) -> str:
    text = f"{function}({', '.join(arguments)})"
    if len(text) <= WIDTH:
        return text
    return f"{function}(\n{LEVEL}{', '.join(arguments[:-1])},\n{LEVEL}{arguments[-1]},\n)"


def _call_text(
    node: ast.expr, operands: list[Operand], slice_of: Callable[[ast.expr], str | None]
) -> str:
    """The last operation of a node with its operands computed already."""
    names = [ast.Name(operand.text, ast.Load()) for operand in operands]
    match node:
        case ast.BinOp(op=op, left=left, right=right):
            parts = [
                new if operand.buffer or slice_of(old) else old
                for new, operand, old in zip(names, operands, (left, right), strict=False)
            ]
            # u**2: one operand, the exponent is not computed
            parts += [right] if len(parts) == 1 else []
            return ast.unparse(ast.BinOp(parts[0], op, parts[1]))
        case ast.UnaryOp(op=op):
            return ast.unparse(ast.UnaryOp(op, names[0]))
        case ast.Compare(ops=ops):
            return ast.unparse(ast.Compare(names[0], ops, [names[1]]))
        case ast.Call(func=func):
            return ast.unparse(ast.Call(func, list(names), []))
    return ast.unparse(node)
