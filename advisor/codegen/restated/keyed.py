"""Dictionaries under characters, pairs of them or small ints, read from arrays in compiled loops.

``SCORES[(a[i], b[j])]``, ``MASS[residue]``, ``PAIRS.get(base, "N")``: compiled code knows no
dictionary, but characters are numbers to it. What has no entry runs again in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.scope import own_nodes, stored_names
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ..nb_text import functions_block, top_level_statement
from .draft import Draft
from .own_loop import loop_lines

CHARACTERS = 128
"""Places for one character."""
MOST = 64
"""Ints up to which there is a place, on both sides of 0."""
_BITS = 30
_WIDTHS = {"char": CHARACTERS, "int": 2 * MOST + 1}
_LARGEST = 2
"""Parts that a key may have."""
_DTYPES = {"int": "int32", "float": "float64", "str": "uint8"}
_MISSING = {"int": f"-(2**{_BITS + 1})", "float": "nan", "str": "255"}
_IS_MISSING = {"int": f"found < -(2**{_BITS})", "float": "found != found", "str": "found > 127"}


@dataclass(frozen=True)
class _Read:
    """One ``name[key]``, or ``name.get(key, default)``."""

    node: ast.expr
    name: str
    key: ast.expr
    default: ast.expr | None = None

    @property
    def parts(self) -> list[ast.expr]:
        """The parts of the key."""
        return self.key.elts if isinstance(self.key, ast.Tuple) else [self.key]


@dataclass(frozen=True)
class _Table:
    """One dictionary that the loop reads."""

    name: str
    reads: tuple[_Read, ...]
    parts: tuple[str, ...]
    """``char`` or ``int``, each."""
    is_tuple: bool
    value: str
    """``int``, ``float`` or ``str``."""


def without_keyed_dicts(draft: Draft) -> Draft:
    """Each such dictionary as an array, made above the loop; the loop in Python stays as it is."""
    tables = list(_tables(draft))
    if not tables or not all(map(draft.is_builtin, ("ord", "chr", "type", "map", "all", "len"))):
        return draft
    own = loop_lines(draft.source, draft.loop)
    for name in [table.name for table in tables]:
        # the loop has moved: its nodes are others
        found = next(t for t in _tables(draft) if t.name == name)
        draft = _Writer(draft, found).written()
    return replace(draft, in_python=tuple(own))


# --------------------------------------------------------------------- search
def _tables(draft: Draft) -> Iterator[_Table]:
    reads: dict[str, list[_Read]] = {}
    for node in own_nodes(draft.loop):
        read = _read(node)
        if read is not None:
            reads.setdefault(read.name, []).append(read)
    stored = stored_names(draft.loop)
    for name, found in reads.items():
        seen = draft.values.get(name)
        if seen is None or seen.type_name != "builtins.dict" or name in stored:
            continue
        uses = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == name]
        called = (n for f in draft.region.functions.values() for n in ast.walk(f))
        if len(uses) != len(found) or any(isinstance(n, ast.Name) and n.id == name for n in called):
            continue
        table = _table(name, tuple(found), seen)
        if table is not None:
            yield table


def _read(node: ast.AST) -> _Read | None:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=key, ctx=ast.Load()) if not isinstance(
            key, ast.Slice
        ):
            return _Read(node, name, key)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="get"),
            args=[key, ast.Constant() | ast.UnaryOp(operand=ast.Constant()) as default],
            keywords=[],
        ):
            return _Read(node, name, key, default)
    return None


def _table(name: str, reads: tuple[_Read, ...], seen: ValueInfo) -> _Table | None:
    """What the dictionary is, from what was seen of it and how it is read; None for another."""
    members = dict(seen.members)
    keys, values = members.get("keys"), members.get("values")
    if keys is None or values is None or values.ndim != 1 or values.element is None:
        return None
    parts = _parts(keys)
    value = values.element.kind
    is_tuple = keys.ndim == 2
    if not parts or value not in ("int", "float", "str") or (value == "str" and is_tuple):
        return None
    for read in reads:
        if isinstance(read.key, ast.Tuple) != is_tuple or len(read.parts) != len(parts):
            return None
        if any(isinstance(p, ast.Starred) for p in read.parts):
            return None
        if read.default is not None and not _is_value(read.default, value):
            return None
    return _Table(name, reads, parts, is_tuple, value)


def _parts(keys: ValueInfo) -> tuple[str, ...]:
    """The kinds of the parts of the keys; empty for others than characters and ints."""
    element = keys.element
    known = {"str": "char", "int": "int"}
    if element is None:
        return ()
    if keys.ndim == 1:
        # numbers under ints: other passes know them
        return ("char",) if element.kind == "str" else ()
    width = keys.shape[1] if keys.ndim == 2 and keys.shape is not None else None
    if width is None or not 0 < width <= _LARGEST:
        return ()
    if element.kind == "mixed":
        kinds = [column.element.kind if column.element else "" for _, column in element.members]
    else:
        kinds = [element.kind] * width
    return tuple(known[k] for k in kinds) if all(k in known for k in kinds) else ()


def _is_value(default: ast.expr, kind: str) -> bool:
    """Whether a default has the type of the values, and is none that stands for no entry."""
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return False
    if type(value).__name__ != kind:
        return False
    if isinstance(value, str):
        return len(value) == 1 and value.isascii()
    return bool(abs(value) <= 2**_BITS)


# ----------------------------------------------------------------------- text
class _Writer:
    """One dictionary, made an array."""

    def __init__(self, draft: Draft, table: _Table) -> None:
        self.draft = draft
        self.table = table
        self.array = draft.free(f"{table.name}_table")
        self.function = draft.free(f"_entry_of_{table.name}")
        self.with_default = draft.free(f"_entry_or_of_{table.name}", self.function)

    def written(self) -> Draft:
        """The draft behind the change."""
        numpy, edit = import_edit(self.draft.source, "numpy", "np")
        edits = [*self.draft.above(self.draft.loop, list(self._above(numpy)))]
        for read in self.table.reads:
            edits.append(Edit(*self.draft.source.span(read.node), self._call(read)))
        draft = self.draft.advanced(edits, {self.array: self._info()})
        texts = dict(self._functions())
        top = top_level_statement(draft.source, draft.loop)
        offset, block = functions_block(draft.source, top, list(texts.values()))
        draft = draft.elsewhere([Edit(offset, offset, block)]).importing(edit)
        plain = {**draft.plain, **dict.fromkeys(texts, "raise NotImplementedError")}
        draft = replace(draft, plain=plain, names=draft.names | texts.keys() | {self.array})
        for test in self._tests():
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return draft

    def _above(self, numpy: str) -> Iterator[str]:
        table, key = self.table, self.draft.free("key")
        size = 1
        for part in table.parts:
            size *= _WIDTHS[part]
        missing = f"{numpy}." * (table.value == "float") + _MISSING[table.value]
        dtype = f", dtype={numpy}.{_DTYPES[table.value]}" if table.value != "float" else ""
        names = [f"{key}[{k}]" for k in range(len(table.parts))] if table.is_tuple else [key]
        numbers = [
            f"ord({name})" if part == "char" else f"{name} + {MOST}"
            for name, part in zip(names, table.parts, strict=True)
        ]
        found = f"{table.name}[{key}]"
        yield f"{self.array} = {numpy}.full({size}, {missing}{dtype})"
        yield f"for {key} in {table.name}:"
        value = f"ord({found})" if table.value == "str" else found
        yield f"    {self.array}[{self._place(numbers)}] = {value}"

    def _place(self, numbers: list[str]) -> str:
        if len(numbers) == 1:
            return numbers[0]
        first = numbers[0] if "+" not in numbers[0] else f"({numbers[0]})"
        return f"{_WIDTHS[self.table.parts[1]]} * {first} + {numbers[1]}"

    def _call(self, read: _Read) -> str:
        text = self.draft.source.text
        given = [self.array, *map(text, read.parts)]
        function = self.function
        if read.default is not None:
            function = self.with_default
            is_text = self.table.value == "str"
            given.append(f"ord({text(read.default)})" if is_text else text(read.default))
        call = f"{function}({', '.join(given)})"
        return f"chr({call})" if self.table.value == "str" else call

    def _functions(self) -> Iterator[tuple[str, str]]:
        reads = self.table.reads
        if any(read.default is None for read in reads):
            yield self.function, self._function(self.function, default=False)
        if any(read.default is not None for read in reads):
            yield self.with_default, self._function(self.with_default, default=True)

    def _function(self, name: str, *, default: bool) -> str:
        """The text of the lookup."""
        count = len(self.table.parts)
        keys = [f"key_{k}" for k in range(count)] if count > 1 else ["key"]
        absent = "default" if default else self._number("1 // 0")
        note = "" if default else "  # no entry: compiled code leaves it alone"
        parameters = ", ".join(["table", *keys, *(["default"] if default else [])])
        numbers, lines = [], []
        for key, part in zip(keys, self.table.parts, strict=True):
            number = key.replace("key", "number")
            if part == "char":
                lines.append(f"{number} = ord({key})")
                outside = f"{number} >= {CHARACTERS}"
            else:
                lines.append(f"{number} = int(max(-{MOST}, min({MOST}, {key}))) + {MOST}")
                outside = f"{number} != {key} + {MOST}"
            lines += [f"if {outside}:", f"    return {absent}{note}"]
            numbers.append(number)
        lines.append(f"found = table[{self._place(numbers)}]")
        lines.append(f"if {_IS_MISSING[self.table.value]}:")
        lines += [f"    return {absent}{note}", f"return {self._number('found')}"]
        body = "".join(f"    {line}\n" for line in lines)
        return (
            f'def {name}({parameters}):\n    """What {self.table.name} has under a key."""\n{body}'
        )

    def _number(self, text: str) -> str:
        if self.table.value == "str":
            return f"int({text}) & 127"  # the number of a character, as anyone can see
        return f"{'float' if self.table.value == 'float' else 'int'}({text})"

    def _info(self) -> ValueInfo:
        size = 1
        for part in self.table.parts:
            size *= _WIDTHS[part]
        return ValueInfo(
            "ndarray",
            "numpy.ndarray",
            dtype=_DTYPES[self.table.value],
            ndim=1,
            shape=(size,),
            min_shape=(size,),
            max_shape=(size,),
            c_contiguous=True,
            writeable=True,
        )

    # ------------------------------------------------------------------ guards
    def _tests(self) -> Iterator[str]:
        name, table = self.table.name, self.table
        yield f"type({name}) is dict"
        if table.is_tuple:
            yield f"set(map(type, {name})) == {{tuple}}"
            yield f"set(map(len, {name})) == {{{len(table.parts)}}}"
        for place, part in enumerate(table.parts):
            key = f"key[{place}]" if table.is_tuple else "key"
            yield f"all({self._is_part(key, part)} for key in {name})"
        yield f"set(map(type, {name}.values())) == {{{table.value}}}"
        match table.value:
            case "int":
                yield f"all(abs(value) <= 2**{_BITS} for value in {name}.values())"
            case "float":
                yield f"all(value == value for value in {name}.values())"
            case _:
                yield f"all({self._is_part('value', 'char')} for value in {name}.values())"
        for other in self._dicts():
            yield f"{name} is not {other}"

    @staticmethod
    def _is_part(text: str, part: str) -> str:
        if part == "char":
            return f"type({text}) is str and len({text}) == 1 and {text}.isascii()"
        return f"type({text}) is int and abs({text}) <= {MOST}"

    def _dicts(self) -> list[str]:
        """Other dictionaries that the user's loop names: it may change them."""
        seen = self.draft.region.observation
        assert seen is not None
        used = {n.id for n in ast.walk(self.draft.region.loop) if isinstance(n, ast.Name)}
        found = (n for n, info in seen.values.items() if info.type_name == "builtins.dict")
        return sorted(n for n in found if n in used and n != self.table.name)
