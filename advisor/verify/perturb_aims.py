"""Perturbed inputs aimed at what the new text tests: one that violates exactly this test.

A dozen well aimed inputs tell more than two hundred blind ones: ``u.shape[0] > 0`` is violated by
an empty axis 0 of ``u`` alone, ``b.max() <= 31`` by one element 32 among those seen. What a test
is about is read off its text: the inputs that it names, what it asks of them (type, dtype, axes,
layout, size, range, memory), and the numbers that stand in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import Any

from .perturb_slots import Inputs, Slot, numpy_loaded

MAX_AIMS = 40
"""Tests looked at."""
FAR = 256
"""Narrow types wrap there."""

_WORDS = {
    "type": "type",
    "isinstance": "type",
    "dtype": "dtype",
    "kind": "dtype",
    "itemsize": "dtype",
    "ndim": "axes",
    "flags": "layout",
    "strides": "layout",
    "shape": "size",
    "size": "size",
    "len": "size",
    "min": "range",
    "max": "range",
    "abs": "range",
    "any": "range",
    "all": "range",
    "columns": "labels",
    "is_unique": "labels",
    "dtypes": "dtype",
    "notna": "range",
    "isfinite": "range",
    "isnan": "range",
    "shares_memory": "memory",
    "may_share_memory": "memory",
    "id": "memory",
}
_FORMS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "array": {
        "type": ("subclass", "list"),
        "dtype": ("float32", "int64", "float64", "int32", "uint8", "complex", "bool", "swapped"),
        "axes": ("other axis", "fewer axes"),
        "layout": ("strided", "fortran", "read-only", "reversed", "unaligned"),
    },
    "numbers": {
        "type": ("an int", "a float", "tuple", "a bool", "a numpy number", "array", "tuple row"),
        "size": ("shorter", "two shorter", "empty", "short row", "no columns", "longer"),
        "memory": ("one row",),
    },
    "frame": {
        "type": ("subclass",),
        "labels": ("column twice", "one column less", "one label"),
        "dtype": ("objects", "one column more"),
    },
    "column": {"dtype": ("float32", "int64", "float64", "missing", "object")},
    "number": {
        "type": ("float", "int", "np.float64", "np.int64", "bool", "np.float32", "complex"),
        "dtype": ("np.float32", "np.float64", "np.int32", "np.int64"),
    },
}
Aim = tuple[str, str, tuple[int, ...]]
"""(kind, change, positions of slots), as `perturb.Perturbation` has them."""


# ----------------------------------------------------------------- on the tool's side
def asked_anew(old: Mapping[Any, bytes], new: Mapping[Any, bytes]) -> tuple[str, ...]:
    """What the changed files ask that they did not ask before, as texts."""
    # Not imported above: the program's own process needs the rest of this module only.
    from .claims import asked, is_chain

    found: dict[str, None] = {}
    for path, text in new.items():
        before = {ast.dump(test) for test in asked(ast.parse(old[path]))}
        for test in asked(ast.parse(text)):
            compound = isinstance(test, ast.BoolOp | ast.UnaryOp) or is_chain(test)
            if not compound and ast.dump(test) not in before:
                found.update(dict.fromkeys(map(ast.unparse, _each(test))))
    return tuple(found)[:MAX_AIMS]


def _each(test: ast.expr) -> Iterator[ast.expr]:
    """``all(type(a) is np.ndarray for a in (u, v))``, once for ``u`` and once for ``v``."""
    match test:
        case ast.Call(
            func=ast.Name(id="all"),
            args=[
                ast.GeneratorExp(
                    elt=each,
                    generators=[ast.comprehension(target=ast.Name(id=name), iter=ast.Tuple() as t)],
                )
            ],
        ):
            for element in t.elts:
                yield _Put(name, element).visit(ast.parse(ast.unparse(each), mode="eval").body)
        case _:
            yield test


class _Put(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name else node


# ------------------------------------------------------------------ on the state's side
def aims(inputs: Inputs, tests: Iterable[str]) -> Iterator[Aim]:
    """What violates the tests, or just does not: dealt out, one of each test in turn."""
    done: set[Aim] = set()
    for dealt in zip_longest(*(_of_test(inputs.slots, test) for test in tests)):
        for aim in dealt:
            if aim is not None and aim not in done:
                done.add(aim)
                yield aim


def _of_test(slots: Sequence[Slot], test: str) -> Iterator[Aim]:
    tree = ast.parse(test, mode="eval").body
    named = [k for k in _named(slots, tree) if slots[k].free]
    topics = _topics(tree)
    numbers = _numbers(tree)
    queues = [_of_slot(slots[k], k, topics, numbers, len(named)) for k in named]
    if "memory" in topics:
        queues.append(_sharing(slots, named))
    for dealt in zip_longest(*queues):
        yield from (aim for aim in dealt if aim is not None)


def _named(slots: Sequence[Slot], tree: ast.expr) -> list[int]:
    """Positions of the inputs that a test names; in a helper, ``grid`` may be ``self.grid``.

    Who asks a frame asks all of its columns.
    """
    texts = {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute)}
    names = [slot.name if slot.whole else slot.name.rpartition("[")[0] for slot in slots]
    exact = [k for k, name in enumerate(names) if name in texts]
    if exact:
        return exact
    return [k for k, slot in enumerate(slots) if slot.name.rpartition(".")[2] in texts]


def _topics(tree: ast.expr) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        word = getattr(node, "id", None) or getattr(node, "attr", None) or ""
        if word in _WORDS:
            found.add(_WORDS[word])
        elif word.startswith("_is_"):  # a helper that looks at all of a list
            found |= {"type", "size", "range"}
        elif isinstance(node, ast.Is | ast.IsNot | ast.In | ast.NotIn):
            found.add("memory")
    return found


def _numbers(tree: ast.expr) -> list[float]:
    """Literals of a test; ``2**40`` and ``-(2**40)`` are one number each."""
    found: list[float] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        value = _constant(node)
        if value is None:
            pending.extend(ast.iter_child_nodes(node))
        elif value not in found:
            found.append(value)
    return found


def _constant(node: ast.AST) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _constant(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _constant(left), _constant(right)
            if base is not None and power is not None and 0 <= power < 64 and abs(base) <= 10:
                return float(base**power) if isinstance(base, float) else base ** int(power)
    return None


def _of_slot(
    slot: Slot, at: int, topics: set[str], numbers: Sequence[float], named: int
) -> Iterator[Aim]:
    if slot.kind == "array" and "size" in topics:
        for change in ("0", "-1", "-2", "+1"):
            yield from (("axis", f"{axis} {change}", (at,)) for axis in range(len(slot.shape)))
    forms = _FORMS.get(slot.kind, {})
    for topic in sorted(topics):
        yield from (("form", name, (at,)) for name in forms.get(topic, ()))
    plain = slot.kind == "number" and "type" not in topics
    if plain and named > 1:  # n <= u.shape[1]
        yield from (("step", change, (at,)) for change in ("+1", "-1", "+2"))
    if plain or ("range" in topics and slot.kind in ("array", "numbers", "column")):
        for number in numbers or (0,):
            for near in (number, number + 1, number - 1, number + FAR):
                yield "at", repr(near), (at,)


def _sharing(slots: Sequence[Slot], named: Sequence[int]) -> Iterator[Aim]:
    for one, other in combinations(named, 2):
        if slots[one].kind == slots[other].kind in ("array", "numbers"):
            yield from (
                ("share", kind, (one, other)) for kind in ("same", "ahead", "behind", "row")
            )


def in_words(slots: Sequence[Slot], aim: Aim) -> str:
    """For the report."""
    kind, change, positions = aim
    name = slots[positions[0]].name
    match kind:
        case "axis":
            axis, _, how = change.partition(" ")
            ways = {"0": "empty", "+1": "one longer", "-1": "one shorter", "-2": "two shorter"}
            return f"{name}: axis {axis} {ways[how]}"
        case "at":
            single = slots[positions[0]].kind == "number"
            return f"{name}: {change}" if single else f"{name}: {change} among its values"
        case "step":
            return f"{name}: {change}"
    return name


# ------------------------------------------------------------------------- applied
def apply_aim(slot: Slot, kind: str, change: str) -> bool:
    """Change one input as ``axis``, ``at`` or ``step`` say; False if that does not apply."""
    value = slot.get()
    new = {"axis": _axis, "at": _at, "step": _step}[kind](value, change)
    if new is None:
        return False
    slot.put(new)
    return True


def _axis(value: Any, change: str) -> Any:
    np = numpy_loaded()
    axis, _, how = change.partition(" ")
    size = value.shape[int(axis)]
    new = 0 if how == "0" else size + int(how)
    if new < 0 or new == size or size == 0:
        return None
    return np.take(value, np.arange(new) % size, axis=int(axis))


def _step(value: Any, change: str) -> Any:
    return value + int(change) if type(value) in (int, float) else None


def _at(value: Any, change: str) -> Any:
    number = ast.literal_eval(change)
    np = numpy_loaded()
    if type(value) in (int, float):
        return type(value)(number)
    if np is not None and isinstance(value, np.ndarray):
        return _at_in_array(value, number)
    return _at_in_list(value, number)


def _at_in_array(value: Any, number: float) -> Any:
    np = numpy_loaded()
    if value.size == 0 or value.dtype.kind not in "iuf":
        return None
    if value.dtype.kind in "iu":
        limits = np.iinfo(value.dtype)
        if number != int(number) or not limits.min <= number <= limits.max:
            return None
    new = value.copy()
    new.reshape(-1)[new.size // 2] = number
    return new


def _at_in_list(value: Any, number: float) -> Any:
    """The middle number of a list, or of its middle row."""
    row = value
    while row and isinstance(row, list) and isinstance(row[len(row) // 2], list):
        row = row[len(row) // 2]
    if not row or not isinstance(row, list):
        return None
    middle = len(row) // 2
    if type(row[middle]) not in (int, float) or number != type(row[middle])(number):
        return None
    row[middle] = type(row[middle])(number)
    return value
