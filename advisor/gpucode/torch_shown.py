"""Lines that a loop prints of tensors in each step, and the loop that prints them in blocks."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..codegen import ast_tools as tools
from ..model import Basis, Condition, Match, Refusal, Region, Source
from ..names import free_name
from . import torch as values
from . import torch_fetch as fetched
from . import torch_loops as loops
from .quiet import loud
from .torch_blocks import Block, edits
from .torch_text import scope_of, uses

BLOCK = 100
HELPER = f'''\
def {{name}}(steps, lines, show):
    """The steps of a loop; what they put into lines is shown {BLOCK} steps at a time."""
    try:
        for number, step in enumerate(steps, 1):
            yield step
            if number % {BLOCK} == 0:
                show(lines)
    finally:
        show(lines)
'''
_FETCHES = frozenset({"item", "tolist"})
_NEW = frozenset({"sum", "mean", "norm", "std", "var", "prod"})
"""Methods whose result is a tensor of its own."""
_RECORDING = (
    *("nn", "Module", "Parameter", "optim", "backward", "requires_grad", "requires_grad_"),
    *("autograd", "grad", "func", "from_dlpack"),
)
"""Words of programs in which a tensor may record gradients."""
_NUMBERS = frozenset({"int", "float", "round", "abs", "len", "max", "min", "str", "bool"})
_PLAIN = (
    *(ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.Compare),
    *(ast.IfExp, ast.BoolOp, ast.Tuple),
)


@dataclass(frozen=True)
class Shown:
    """A ``print`` of a loop, and what has to be kept of a step to print its line later."""

    statement: ast.Expr
    kept: Mapping[str, str]
    """Name in the printing function -> expression in the loop."""
    text: str
    """The call of ``print`` over these names."""
    unchanged: tuple[str, ...] = ()
    """Names of which only the text suggests that the loop leaves what they stand for alone."""


@dataclass
class _Reading:
    """What was found out while a call of ``print`` is read."""

    source: Source
    loop: ast.For
    kept: dict[str, str] = field(default_factory=dict)
    replaced: dict[ast.expr, str] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)

    def tensor(self, node: ast.expr) -> bool:
        known = values.kind(self.source, node)
        learns = isinstance(node, ast.Name) and fetched.goes_backward(self.loop, node.id)
        return known.what == "tensor" or learns

    def keep(self, tensor: ast.expr) -> None:
        """A tensor as it is in this step: nothing that happens to it later is seen."""
        text = ast.unparse(tensor)  # within an f-string Python 3.11 knows no places
        if isinstance(tensor, ast.Name):
            self.kept[tensor.id] = f"{text}.detach().clone()"
            return
        name = free_name(self.source, "value", self.kept)
        self.replaced[tensor] = name
        text = f"({text})" if isinstance(tensor, ast.BinOp | ast.UnaryOp) else text
        self.kept[name] = f"{text}.detach(){'' if _is_new(tensor) else '.clone()'}"


def shown_later(region: Region, statement: ast.stmt) -> Shown | Refusal:
    """How the line of a ``print`` can be made later; why it cannot."""
    source, loop = region.source, region.loop
    if not isinstance(loop, ast.For) or loop.orelse or isinstance(loop.iter, ast.Tuple):
        return Refusal("only a plain for loop can hand its lines on", loop.lineno)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(statement, ast.Expr):
        return Refusal("the line is no statement of its own", statement.lineno)
    if statement not in loop.body or not tools.stands_alone(source, statement):
        return Refusal("the line is not printed in every step", statement.lineno)
    if not tools.stands_alone(source, loop):
        return Refusal("the loop shares its line", loop.lineno)
    scope = region.function or source.tree
    if tools.reads_frames(scope) is not None or not loops.only_known_imports(source):
        return Refusal("other code may see the loop's variables", loop.lineno)
    other = loud(source, loop, but=statement)
    if other is not None:
        line = getattr(other, "lineno", loop.lineno)
        return Refusal(f"something else may be written between these lines (line {line})", line)
    reading = _Reading(source, loop)
    for problem in _unreadable(reading, call):
        return Refusal(f"{ast.unparse(problem)} may be another value later", statement.lineno)
    if not any(".detach()" in value for value in reading.kept.values()):
        return Refusal("no tensor is in it", statement.lineno)
    text = _text(reading, call)
    return Shown(statement, reading.kept, text, tuple(dict.fromkeys(reading.unchanged)))


# --------------------------------------------------------------------- reading
def _unreadable(reading: _Reading, call: ast.Call) -> Iterator[ast.expr]:
    """Parts of a ``print`` that cannot be told to be the same when it runs later."""
    for keyword in call.keywords:
        if keyword.arg not in ("end", "sep", "flush") or not isinstance(
            keyword.value, ast.Constant
        ):
            yield keyword.value
    for argument in call.args:
        yield from _parts(reading, argument, whole=True)


def _parts(reading: _Reading, node: ast.expr, *, whole: bool = False) -> Iterator[ast.expr]:
    """``whole``: the value itself is shown, not a number that is computed of it."""
    tensor = _fetched(reading, node)
    if tensor is not None:
        reading.keep(tensor)
    elif reading.tensor(node):
        # A tensor that records gradients says so where it is printed; a copy does not.
        if not whole or not _without_gradients(reading.source):
            yield node
        else:
            reading.keep(node)
    elif isinstance(node, ast.FormattedValue) and _is_loss(reading, node):
        reading.keep(node.value)  # in an f-string a tensor without axes shows its number alone
    elif isinstance(node, ast.Name | ast.Attribute):
        yield from _name(reading, node)
    elif isinstance(node, ast.Call):
        yield from _call(reading, node)
    elif isinstance(node, ast.JoinedStr | ast.FormattedValue):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _parts(reading, child, whole=True)
    elif isinstance(node, _PLAIN):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _parts(reading, child)
    else:
        yield node


def _fetched(reading: _Reading, node: ast.expr) -> ast.expr | None:
    """The tensor whose number or numbers an expression fetches."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[], keywords=[]):
            return value if attr in _FETCHES and reading.tensor(value) else None
        case ast.Call(func=ast.Name(id="float" | "int" as name), args=[value], keywords=[]):
            known = tools.is_builtin(reading.source, name)
            return value if known and reading.tensor(value) else None
    return None


def _name(reading: _Reading, node: ast.expr) -> Iterator[ast.expr]:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        yield node
        return
    source, loop = reading.source, reading.loop
    if isinstance(node, ast.Name) and values.kind(source, node).what == "number":
        if tools.stores(loop, node.id):
            reading.kept[node.id] = node.id
        elif tools.deferred_uses(source, scope_of(source, node) or source.tree, node.id):
            yield node
    elif all(_only_reads(source, use) for use in tools.names_in(loop) if use.id == root.id):
        reading.unchanged.append(ast.unparse(node))  # epochs, options.steps
    else:
        yield node


def _only_reads(source: Source, use: ast.Name) -> bool:
    """Whether a use of a name takes a value and hands the object to nobody: ``range(epochs)``."""
    above = tools.parents(source)
    node: ast.AST = use
    while isinstance(above[node], ast.Attribute):
        node = above[node]
    if not isinstance(use.ctx, ast.Load) or not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    match above[node]:
        case ast.Call(func=ast.Name(id=name), args=args) if node in args:
            return name in (_NUMBERS | {"range", "print"}) and tools.is_builtin(source, name)
        case ast.BinOp() | ast.Compare() | ast.FormattedValue() | ast.UnaryOp():
            return True
    return False


def _call(reading: _Reading, node: ast.Call) -> Iterator[ast.expr]:
    match node.func:
        case ast.Attribute(value=ast.Constant(value=str()), attr="format"):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _parts(reading, argument)
            return
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _NUMBERS or node.keywords or not tools.is_builtin(reading.source, name):
        yield node
        return
    if name == "len" and len(node.args) == 1:
        sized = values.kind(reading.source, node.args[0]).what in ("loader", "dataset")
        if sized and isinstance(node.args[0], ast.Name):
            if tools.stores(reading.loop, node.args[0].id):
                yield node
            return
    for argument in node.args:
        yield from _parts(reading, argument)


def _is_loss(reading: _Reading, node: ast.FormattedValue) -> bool:
    value = node.value
    bare = isinstance(value, ast.Name) and node.conversion == -1
    return bare and isinstance(value, ast.Name) and fetched.goes_backward(reading.loop, value.id)


def _without_gradients(source: Source) -> bool:
    return not any(uses(source, *_RECORDING))


def _is_new(tensor: ast.expr) -> bool:
    if isinstance(tensor, ast.BinOp):
        return True
    return (
        isinstance(tensor, ast.Call)
        and isinstance(tensor.func, ast.Attribute)
        and tensor.func.attr in _NEW
    )


# --------------------------------------------------------------------- writing
def _text(reading: _Reading, call: ast.Call) -> str:
    """The call over the kept names: as it was written, where only names stand in it."""
    one_line = call.lineno == call.end_lineno
    parts = [("", argument) for argument in call.args]
    parts += [(f"{keyword.arg}=", keyword.value) for keyword in call.keywords]
    texts = []
    for head, part in parts:
        text = reading.source.text(part)
        if not one_line or any(node in reading.replaced for node in ast.walk(part)):
            text = _unparsed(_Renamed(reading.replaced).rename(part))
        texts.append(head + text)
    return f"print({', '.join(texts)})"


class _Renamed(ast.NodeTransformer):
    """A copy of an expression with some parts as names."""

    def __init__(self, names: Mapping[ast.expr, str]) -> None:
        self.names = names

    def rename(self, node: ast.expr) -> ast.expr:
        new = self.visit(_marked(node, self.names))
        assert isinstance(new, ast.expr)
        return new

    def visit(self, node: ast.AST) -> ast.AST:
        name = getattr(node, "kept_as", None)
        if name is not None:
            return ast.Name(name, ast.Load())
        changed = self.generic_visit(node)
        assert isinstance(changed, ast.AST)
        return changed


def _marked(node: ast.expr, names: Mapping[ast.expr, str]) -> ast.expr:
    twin = copy.deepcopy(node)
    for mine, other in zip(ast.walk(node), ast.walk(twin), strict=True):
        if isinstance(mine, ast.expr) and mine in names:
            other.kept_as = names[mine]  # type: ignore[attr-defined]
    return twin


def _unparsed(node: ast.expr) -> str:
    text = ast.unparse(node)
    plain = text.startswith("f'") and '"' not in text and "\\" not in text
    return f'f"{text[2:-1]}"' if plain and text.count("'") == 2 else text


def rewrite(region: Region, shown: Shown) -> Match | None:
    """The loop that keeps what its lines need on the device, and prints a hundred at a time."""
    source, loop = region.source, region.loop
    assert isinstance(loop, ast.For)
    if not all(tools.is_builtin(source, name) for name in ("enumerate", "print")):
        return None
    kept, lines = ", ".join(shown.kept.values()), free_name(source, "lines", shown.kept)
    block = Block(
        helper="in_blocks",
        text=HELPER,
        kept=lines,
        handler="show",
        body=((0, f"for {', '.join(shown.kept)} in {lines}:"), (1, shown.text)),
        value=f"({kept})" if len(shown.kept) > 1 else kept,
    )
    changes = edits(region, shown.statement, block, tuple(shown.kept))
    if changes is None:
        return None
    return Match(
        edits=changes,
        why="",
        change=f"what each line shows is kept on the device; {BLOCK} lines are printed at a time",
        ledger=_ledger(loop, shown),
        differences=(
            f"lines appear up to {BLOCK} steps later, and not at all if the process is killed",
            f"up to {BLOCK} steps' values stay in device memory",
            "an error in a line itself, a division by zero, is raised with its block",
        ),
    )


def _ledger(loop: ast.For, shown: Shown) -> tuple[Condition, ...]:
    place = f"lines {loop.lineno}-{loop.end_lineno}"
    line = f"line {shown.statement.lineno}"
    assumed = f"nobody needs a line before {BLOCK} steps are done"
    found = [
        Condition("the same lines in the same order: nothing else writes", Basis.PROVED, place),
        Condition(
            "what is left is printed when the loop ends, also by break, return or an exception",
            Basis.PROVED,
            place,
        ),
        Condition(assumed, Basis.ASSUMED, line),
    ]
    if shown.unchanged:
        names = ", ".join(shown.unchanged)
        found.append(Condition(f"the loop does not change {names}", Basis.ASSUMED, line))
    return tuple(found)
