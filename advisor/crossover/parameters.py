"""The numbers in a program, or on its command line, that say how large its problem is.

A size parameter is a whole number that can be replaced by another one: a literal in the source
(``N = 200``, ``default=200``, ``np.zeros((200, 200))``, the 200 of ``int(sys.argv[1]) if ... else
200``), or an argument that the program was started with. Which of them is *the* problem size is
told by what the hot loops work on: the number that is an extent of their arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model import Edit, Region, Source, Target, ValueInfo

LEAST = 4
"""Smaller numbers are counts of dimensions, indices and the like, not sizes."""
COUNTS = re.compile(
    r"steps?|iter|epoch|generations?|repeat|rounds?|trials?|frames?|seed|runs?|times?\b|every|port",
    re.IGNORECASE,
)
"""Names of what is repeated, and of what is no amount: taken only if nothing else fits."""
_ALLOCATE = frozenset({"zeros", "ones", "empty", "full", "arange", "linspace", "random", "rand"})
_FOLDED = (ast.Mult, ast.Pow, ast.LShift)


@dataclass(frozen=True)
class Literal:
    """A number in a file: bytes ``[start, end)`` of its UTF-8 text."""

    file: Path
    start: int
    end: int
    line: int

    @property
    def where(self) -> str:
        """For people."""
        return f"{self.file.name}, line {self.line}"


@dataclass(frozen=True)
class Argument:
    """A word of the command line, by its place among the program's arguments."""

    position: int
    prefix: str = ""
    """What stands before the number in the same word: ``"--size="``."""

    @property
    def where(self) -> str:
        """For people."""
        return f"argument {self.position + 1} of the command line"


Place = Literal | Argument


@dataclass(frozen=True)
class Parameter:
    """A number that can be replaced, in all of its places at once."""

    name: str
    value: int
    places: tuple[Place, ...]

    @property
    def where(self) -> str:
        """Where it stands, for people."""
        return " and ".join(dict.fromkeys(place.where for place in self.places))

    def edits(self, size: int) -> dict[Path, tuple[Edit, ...]]:
        """The edits of each file that set it to ``size``."""
        found: dict[Path, tuple[Edit, ...]] = {}
        for place in self.places:
            if isinstance(place, Literal):
                edit = Edit(place.start, place.end, str(size))
                found[place.file] = (*found.get(place.file, ()), edit)
        return found

    def arguments(self, given: Sequence[str], size: int) -> tuple[str, ...]:
        """The program's arguments with it set to ``size``."""
        words = list(given)
        for place in self.places:
            if isinstance(place, Argument):
                words[place.position] = f"{place.prefix}{size}"
        return tuple(words)


# ------------------------------------------------------------------- finding
def find(sources: Mapping[Path, Source], target: Target) -> tuple[Parameter, ...]:
    """All numbers that may be sizes, in the order of the command line and of the text."""
    found = list(_of_command_line(sources.get(target.script), target))
    for source in sources.values():
        found += _Finder(source).run()
    return tuple(p for p in found if p.value >= LEAST)


def _of_command_line(source: Source | None, target: Target) -> Iterator[Parameter]:
    named = _argument_names(source) if source is not None else {}
    option = ""
    for position, word in enumerate(target.args):
        match = re.fullmatch(r"(--?[A-Za-z][\w-]*=)?(\d[\d_]*)", word)
        if match:
            prefix = match[1] or ""
            name = prefix.strip("-=") or option or named.get(position) or f"argument {position + 1}"
            yield Parameter(name, int(match[2]), (Argument(position, prefix),))
        option = word.strip("-") if re.fullmatch(r"--?[A-Za-z][\w-]*", word) else ""


def _argument_names(source: Source) -> dict[int, str]:
    """Names by position: of ``n = int(sys.argv[1])``, and of argparse's positional arguments."""
    names: dict[int, str] = {}
    positional: list[str] = []
    for node in source.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            for part in ast.walk(node.value):
                position = _argv(part)
                if position is not None:
                    names.setdefault(position - 1, node.targets[0].id)
        first = _first_text(node) if _called(node) == "add_argument" else None
        if first is not None and not first.startswith("-"):
            positional.append(first)
    return names or dict(enumerate(positional))


def _argv(node: ast.AST) -> int | None:
    """The k of ``sys.argv[k]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    base = node.value
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    index = node.slice.value
    return index if name == "argv" and isinstance(index, int) and index > 0 else None


def _called(node: ast.AST) -> str:
    """The last name of what is called; empty if nothing is."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _first_text(node: ast.AST) -> str | None:
    """The longest text among a call's positional arguments: ``--cells`` of ``-c, --cells``."""
    if not isinstance(node, ast.Call):
        return None
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str]
    return max(texts, key=len, default=None)


class _Finder(ast.NodeVisitor):
    """The literals of one file, each with the name that its context gives it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Parameter] = []
        self.taken: set[int] = set()
        self.parameters = {
            node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            for node in source.nodes
            if isinstance(node, ast.FunctionDef)
        }

    def run(self) -> list[Parameter]:
        """All of them."""
        self.visit(self.source.tree)
        return self.found

    def _take(self, name: str, *nodes: ast.expr | None) -> None:
        """One parameter for each value among the nodes; equal ones vary together."""
        places: dict[int, list[Place]] = {}
        for node in nodes:
            value = None if node is None else _whole(node)
            if node is None or value is None:
                continue
            start, end = self.source.span(node)
            if start in self.taken:
                continue
            self.taken.add(start)
            literal = Literal(self.source.path, start, end, node.lineno)
            places.setdefault(value, []).append(literal)
        self.found += [Parameter(name, value, tuple(where)) for value, where in places.items()]

    # ------------------------------------------------------------- assignments
    def visit_Assign(self, node: ast.Assign) -> None:
        names = [n for target in node.targets if (n := _name(target))]
        if names and not isinstance(node.value, ast.Tuple):
            for literal in _chosen(node.value):
                self._take(names[0], literal)
        pair = node.targets[0]
        if isinstance(pair, ast.Tuple) and isinstance(node.value, ast.Tuple):
            self._pairs(pair.elts, node.value.elts)
        self.generic_visit(node)

    def _pairs(self, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> None:
        """``rows, cols = 200, 200``: equal numbers in one statement are one size."""
        if len(targets) != len(values):
            return
        groups: dict[int, list[tuple[str, ast.expr]]] = {}
        for target, value in zip(targets, values, strict=True):
            for literal in _chosen(value):
                number, name = _whole(literal), _name(target)
                if number is not None and name:
                    groups.setdefault(number, []).append((name, literal))
        for group in groups.values():
            self._take("+".join(name for name, _ in group), *(literal for _, literal in group))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        name = _name(node.target)
        for literal in _chosen(node.value) if node.value is not None and name else ():
            self._take(name, literal)
        self.generic_visit(node)

    # ----------------------------------------------------------------- calls
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        positional = [*node.args.posonlyargs, *node.args.args]
        defaults = node.args.defaults
        for argument, default in zip(positional[-len(defaults) :], defaults, strict=False):
            self._take(argument.arg, default)
        for argument, other in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            self._take(argument.arg, other)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = _called(node)
        if called == "add_argument":
            default = next((k.value for k in node.keywords if k.arg == "default"), None)
            self._take((_first_text(node) or "").lstrip("-"), default)
        elif called in self.parameters:
            names = self.parameters[called]
            if isinstance(node.func, ast.Attribute) and names[:1] == ["self"]:
                names = names[1:]
            for position, value in enumerate(node.args):
                name = names[position] if position < len(names) else f"{called}() {position + 1}"
                self._take(name, value)
            for keyword in node.keywords:
                self._take(keyword.arg or "", keyword.value)
        elif called in _ALLOCATE or called == "range":
            first = node.args[:1]
            shape = first[0].elts if first and isinstance(first[0], ast.Tuple) else node.args
            self._take(f"extent in line {node.lineno}", *shape)
        else:
            for keyword in node.keywords:
                if keyword.arg in ("size", "shape"):
                    inside = keyword.value
                    shape = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                    self._take(f"extent in line {node.lineno}", *shape)
        self.generic_visit(node)


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _chosen(value: ast.expr) -> Iterator[ast.expr]:
    """The number that an expression falls back to: ``... else 200``, ``get("N", 200)``, 200."""
    if _whole(value) is not None:
        yield value
    elif isinstance(value, ast.IfExp):
        yield from _chosen(value.body)
        yield from _chosen(value.orelse)
    elif isinstance(value, ast.BoolOp):
        yield from _chosen(value.values[-1])
    elif isinstance(value, ast.Call):
        inside = [a for a in value.args if not isinstance(a, ast.Starred)]
        if _called(value) in ("int", "float") and len(inside) == 1:
            yield from _chosen(inside[0])
        elif _called(value) in ("get", "getenv") and len(inside) == 2:
            yield from _chosen(inside[1])


def _whole(node: ast.expr) -> int | None:
    """The value of a whole number as people write it: ``200``, ``10**6``, ``1 << 20``, ``1e6``."""
    if isinstance(node, ast.Constant):
        value = node.value
        if type(value) is int:
            return value
        return int(value) if type(value) is float and 1 <= value == int(value) < 1e12 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, _FOLDED):
        left, right = _whole(node.left), _whole(node.right)
        if left is None or right is None or left > 10**12 or right > 10**12:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if right > 40:
            return None
        return left**right if isinstance(node.op, ast.Pow) else left << right
    return None


# -------------------------------------------------------------------- choice
def rank(parameters: Iterable[Parameter], regions: Iterable[Region]) -> tuple[Parameter, ...]:
    """Those that the hot loops depend on, the likeliest first; equal ones of one kind joined."""
    extents: set[int] = set()
    numbers: set[int] = set()
    for region in regions:
        values = region.observation.values if region.observation else {}
        for value in values.values():
            extents |= set(_extents(value))
            numbers |= set(_number(value))
    scored = [(_score(p, extents, numbers), p) for p in parameters]
    likely = sorted((s for s in scored if s[0] > 0), key=lambda s: -s[0])
    return tuple(parameter for _, parameter in likely)


def _score(parameter: Parameter, extents: set[int], numbers: set[int]) -> float:
    value = parameter.value
    score = 0.0
    if value in extents:
        score = 4.0
    elif any(near in extents for near in (value + 1, value + 2, value - 1, value - 2, value**2)):
        score = 3.0
    elif value in numbers or value - 1 in numbers or value + 1 in numbers:
        score = 2.0
    if score and COUNTS.search(parameter.name):
        score = 0.5
    return score


def _extents(value: ValueInfo) -> Iterator[int]:
    for shape in (value.shape, value.max_shape):
        yield from (extent for extent in shape or () if extent is not None and extent >= LEAST)


def _number(value: ValueInfo) -> Iterator[int]:
    if value.kind == "int" and value.constant and isinstance(value.maximum, int):
        yield value.maximum


def joined(chosen: Parameter, others: Sequence[Parameter]) -> Parameter:
    """With the numbers that must follow it: equal ones, with the same likelihood, beside it.

    ``ROWS = 200`` and ``COLS = 200`` on the next line are one size. Numbers that are equal by
    chance, far away, are not.
    """
    if isinstance(chosen.places[0], Argument):
        return chosen
    lines = [place.line for place in chosen.places if isinstance(place, Literal)]
    near = [
        other
        for other in others
        if other != chosen
        and other.value == chosen.value
        and not COUNTS.search(other.name)
        and all(
            isinstance(place, Literal)
            and place.file == getattr(chosen.places[0], "file", None)
            and min(abs(place.line - line) for line in lines) <= 2
            for place in other.places
        )
    ]
    names = "+".join(dict.fromkeys([chosen.name, *(other.name for other in near)]))
    places = tuple(place for parameter in (chosen, *near) for place in parameter.places)
    return Parameter(names, chosen.value, places) if near else chosen
