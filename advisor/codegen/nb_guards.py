"""What must be asked before the compiled loops run, and list conversion at their edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from ..loopnest.affine import Affine, extent_of
from ..loopnest.ir import CHAR, PY_BOOL, PY_FLOAT, PY_INT, Nest, Scalar
from ..loopnest.text import LAST_ASCII, STRINGS
from ..model import Basis, Condition, Region
from .made_lists import MadeTable, dead_after, made_table
from .nb_analyse import Analysed
from .nb_chars import room_of, strings_grown
from .nb_growth import unread_lists
from .nb_lists import BY_DEPTH, TABLE, different, helper_for, write_back
from .nb_scope import literal_of, observed, proved_size, rounded_range
from .nb_text import Names, with_params
from .nb_values import Num, Unsupported, View, compiled
from .text_edge import array_of, short_number, short_test, string_test

_PY_NAMES = {PY_BOOL: "bool", PY_INT: "int", PY_FLOAT: "float"}


@dataclass
class Guards:
    """Conditions in the order they are asked, conversions, and the ledger."""

    tests: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    """Lines of the wrapper that turn lists into arrays."""
    after: list[str] = field(default_factory=list)
    """Lines that write them back."""
    arguments: dict[str, str] = field(default_factory=dict)
    """Parameter -> what the kernel is called with."""
    ledger: list[Condition] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    numpy: bool = False

    def ask(self, test: str, text: str, evidence: str) -> None:
        """A condition that was observed and is tested."""
        self.tests.append(test)
        self.ledger.append(Condition(text, Basis.OBSERVED, evidence, guarded=True, test=test))

    def proved(self, text: str, evidence: str = "") -> None:
        """A condition the code proves."""
        self.ledger.append(Condition(text, Basis.PROVED, evidence))


def type_name(type_: Scalar, numpy: str) -> str:
    """How the type of a scalar is spelled."""
    if type_.is_python:
        return type_.kind.value
    name = "bool_" if type_.dtype == "bool" else type_.dtype
    return f"{numpy}.{name}"


def guards(
    found: Analysed, names: Names, apart: bool, known: frozenset[str] = frozenset()
) -> Guards:
    """Everything that was only observed, as tests.

    ``apart``: the arrays must not share memory, for iterations run in another order. ``known``:
    arrays whose type, and that they are apart, need not be asked.
    """
    region = found.state.region
    result = Guards()
    evidence = ""  # how often it was seen is filled in for all rules alike
    arrays = {
        n: v
        for n, v in found.entry.items()
        if n in names.params and isinstance(v, View) and n not in known
    }
    _array_types(result, found, arrays, names, evidence)
    _lists(result, found, arrays, names, evidence)
    _scalar_types(result, found, names, evidence)
    _extents(result, found, names, evidence)
    _sizes(result, found, names, evidence)
    _ranges(result, found, names, evidence)
    for text in found.state.trip_guards:
        spelled = with_params(text, names.params)
        result.ask(spelled, f"the loops run at least once: {text}", evidence)
    if apart:
        _distinct(result, region, arrays, found.state.written, names, evidence)
    return result


def _array_types(
    result: Guards, found: Analysed, arrays: dict[str, View], names: Names, evidence: str
) -> None:
    region, written = found.state.region, found.state.written
    groups: dict[tuple[str, int, bool], list[str]] = {}
    for path, view in arrays.items():
        if observed(region, path).kind != "ndarray":
            continue
        if _allocated(region, path):
            result.proved(f"{path} is an array made just before the loop")
            continue
        groups.setdefault((compiled(view.element), view.ndim, path in written), []).append(path)
    for (dtype, ndim, stored), paths in groups.items():
        result.numpy = True
        kind = f"{names.numpy}.{dtype + '_' if dtype == 'bool' else dtype}"
        params = [names.params[p] for p in paths]
        test = "type({0}) is {1}.ndarray and {0}.dtype == {2} and {0}.ndim == {3}"
        # numba refuses to compile a store into a read-only array; the loop raises at the store
        test += " and {0}.flags.writeable" if stored else ""
        if len(params) == 1:
            text = test.format(params[0], names.numpy, kind, ndim)
        else:
            a = _unused("a", names)
            each = test.format(a, names.numpy, kind, ndim)
            text = f"all({each} for {a} in ({', '.join(params)}))"
        writable = ", writable" if stored else ""
        result.ask(text, f"{_listed(paths)}: {dtype} array, {ndim}-D{writable}", evidence)


def _unused(wanted: str, names: Names) -> str:
    """A name for a comprehension that no input has: ``for k in (lo, hi, k)`` reads badly."""
    while wanted in names.params.values():
        wanted += "_"
    return wanted


def free_local(wanted: str, found: Analysed, names: Names) -> str:
    """A name for a variable of the wrapper: none of its inputs and results.

    ``for row, values in zip(b, ..)`` would lose a list ``values`` that is written back next.
    """
    while wanted in names.params.values() or wanted in found.live_out:
        wanted += "_"
    return wanted


def _allocated(region: Region, path: str) -> bool:
    nest = region.nest
    if not isinstance(nest, Nest) or path not in nest.arrays:
        return False
    allocation = nest.arrays[path].allocation
    return allocation is not None and allocation.function.startswith("numpy.")


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(paths)


def _lists(
    result: Guards, found: Analysed, arrays: dict[str, View], names: Names, evidence: str
) -> None:
    region, written = found.state.region, found.state.written
    lists = {p: v for p, v in arrays.items() if observed(region, p).kind in ("list", "tuple")}
    buffers = {p: v for p, v in arrays.items() if observed(region, p).kind == "bytearray"}
    for path in buffers:
        _bytes(result, found, path, names, evidence)
    for path in arrays:
        if path in strings_grown(region):
            test = f"type({names.params[path]}) is str"
            result.ask(test, f"{path} is a str", evidence)
        elif observed(region, path).kind in STRINGS:
            _string(result, found, path, names, evidence)
    for path in unread_lists(found.state) & set(lists):
        view = lists.pop(path)
        if view.ndim == 2 and not view.element.is_python:
            raise Unsupported(f"rows of {view.element} are appended to {path}")
        param = names.params[path]
        result.ask(f"type({param}) is list", f"{path} is a list", evidence)
    made = _made_tables(region, lists)
    for path, view in lists.items():
        param = names.params[path]
        info = observed(region, path)
        changed = path in written or path in found.state.grown
        helper = helper_for(path, info, view.ndim, changed)
        dtype = "bool" if view.element == PY_BOOL else compiled(view.element)
        if dtype not in ("bool", "int64", "float64"):
            raise Unsupported(f"{path} holds {view.element} numbers")
        result.numpy = True
        kind = type_name(view.element, names.numpy)
        array = free_local(f"{param}_array", found, names)
        suffix = "_" if dtype == "bool" else ""
        result.arguments[param] = array
        if path in written and not (path in made and dead_after(region, path)):
            free, long = partial(free_local, found=found, names=names), (info.max_shape or (0,))[-1]
            result.after += write_back(param, array, view.ndim, free, long)
        if path in made:
            _made_table(result, found, made[path], param, array, f"{dtype}{suffix}", names)
            continue
        result.helpers.add(helper)
        container = f", {info.kind}" if view.ndim == 1 and info.kind == "tuple" else ""
        function = names.functions[helper]
        what = info.kind + (" of tuples" if helper == TABLE else " of lists" * (view.ndim - 1))
        result.ask(
            f"{function}({param}, {kind}{container})",
            f"{path} is a {what} that holds exactly {kind}s",
            evidence,
        )
        result.before.append(
            f"{array} = {names.numpy}.array({param}, dtype={names.numpy}.{dtype}{suffix})"
        )
    grown = set(found.state.grown)
    lists = {p: v for p, v in arrays.items() if observed(region, p).kind in ("list", "tuple")}
    for group in (lists, buffers):
        for first, second in combinations(group, 2):
            if not {first, second}.isdisjoint(made):
                result.proved(f"{first} and {second} are different lists")
            elif not {first, second}.isdisjoint(grown | written):
                _different_lists(result, found, group, first, second, names, evidence)


def _made_tables(region: Region, lists: dict[str, View]) -> dict[str, MadeTable]:
    found = {p: made_table(region, p) for p, view in lists.items() if view.ndim == 2}
    return {path: made for path, made in found.items() if made is not None}


def _made_table(
    result: Guards,
    found: Analysed,
    made: MadeTable,
    param: str,
    array: str,
    dtype: str,
    names: Names,
) -> None:
    """A table that the code makes just before: one element is looked at, none is copied."""
    vector = BY_DEPTH[1]
    if made.first_row or made.first_column:
        result.helpers.add(vector)
    bits, kind = found.state.assumption.list_bits, dtype.rstrip("_").rstrip("0123456789")
    tests = made.tests(param, kind, names.functions[vector], bits)
    for test in tests:
        result.ask(test, test, "")
    result.before += made.array(param, array, names.numpy, f"{names.numpy}.{dtype}")
    result.proved(f"{param} is made just before the loop, with distinct rows of one value")


def _bytes(result: Guards, found: Analysed, path: str, names: Names, evidence: str) -> None:
    """A bytearray becomes an array of ints, and is overwritten by it afterwards."""
    param, numpy = names.params[path], names.numpy
    result.numpy = True
    result.ask(f"type({param}) is bytearray", f"{path} is a bytearray", evidence)
    array = free_local(f"{param}_array", found, names)
    result.before.append(f"{array} = {numpy}.array({param}, dtype={numpy}.int64)")
    result.arguments[param] = array
    if path in found.state.written:
        result.after.append(f"{param}[:] = {array}.astype({numpy}.uint8).tobytes()")


def _string(result: Guards, found: Analysed, path: str, names: Names, evidence: str) -> None:
    """A string becomes an array of code points, bytes one of ints."""
    param, kind = names.params[path], observed(found.state.region, path).kind
    room = room_of(found.state.region, path)
    result.numpy = True
    ascii_only = "ASCII " if kind == "str" and room.high == LAST_ASCII else ""
    result.ask(string_test(param, kind, room), f"{path}: {ascii_only}{kind}", evidence)
    array = free_local(f"{param}_array", found, names)
    text = array_of(param, kind, room, names.numpy)
    if kind == "bytes":
        text += f".astype({names.numpy}.int64)"
    result.before.append(f"{array} = {text}")
    result.arguments[param] = array


def _short_text(result: Guards, found: Analysed, path: str, names: Names, evidence: str) -> None:
    """A character becomes its code point; where the code shows the text, nothing is asked."""
    param, nest = names.params[path], found.state.region.nest
    assert isinstance(nest, Nest)
    given = nest.scalars[path]
    if given.literal is not None:
        result.arguments[param] = str(given.literal)
        return
    test = short_test(param, given.interval)
    result.ask(test, f"{path}: one character, or none", evidence)
    result.arguments[param] = short_number(param, given.interval)


def _different_lists(
    result: Guards,
    found: Analysed,
    lists: dict[str, View],
    first: str,
    second: str,
    names: Names,
    evidence: str,
) -> None:
    """The same list under two names would be copied twice and lose one half of the writes."""
    a, b = names.params[first], names.params[second]
    grown = unread_lists(found.state)
    depth = [1 if p in grown else lists[p].ndim for p in (first, second)]
    test = different((a, depth[0]), (b, depth[1]), names.functions.get("_rows", ""))
    kind = "bytearrays" if observed(found.state.region, first).kind == "bytearray" else "lists"
    result.ask(test, f"{first} and {second} are different {kind}", evidence)


def _scalar_types(result: Guards, found: Analysed, names: Names, evidence: str) -> None:
    region = found.state.region
    groups: dict[str, list[str]] = {}
    ints: list[str] = []
    for path, param in names.params.items():
        value = found.entry.get(path)
        if not isinstance(value, Num):
            continue
        proved = literal_of(region, path) is not None or proved_size(region, path)
        if proved and value.type != CHAR:
            continue
        if path in found.state.kept and path not in found.state.read:
            continue  # only the loop in Python gets it
        if value.type == CHAR:
            _short_text(result, found, path, names, evidence)
            continue
        if value.type == PY_INT:
            ints.append(param)
            continue
        if not value.type.is_python:
            result.numpy = True
        groups.setdefault(type_name(value.type, names.numpy), []).append(param)
    for kind, params in groups.items():
        test = " and ".join(f"type({p}) is {kind}" for p in params)
        result.ask(test, f"{_listed(params)}: {kind}", evidence)
    if ints:
        _int_ranges(result, found, ints, names, evidence)


def _int_ranges(
    result: Guards, found: Analysed, ints: list[str], names: Names, evidence: str
) -> None:
    bits = found.state.assumption.int_bits
    paths = {param: path for path, param in names.params.items()}
    groups: dict[str, list[str]] = {}
    for param in ints:
        value = found.entry[paths[param]]
        assert isinstance(value, Num)
        low = "0" if value.low == 0 else f"-(2**{bits})"
        groups.setdefault(low, []).append(param)
    for low, params in groups.items():
        if len(params) == 1:
            test = f"type({params[0]}) is int and {low} <= {params[0]} <= 2**{bits}"
        else:
            listed, k = ", ".join(params), _unused("k", names)
            test = f"all(type({k}) is int and {low} <= {k} <= 2**{bits} for {k} in ({listed}))"
        result.ask(test, f"{_listed(params)}: int within [{low}, 2**{bits}]", evidence)


def _extents(result: Guards, found: Analysed, names: Names, evidence: str) -> None:
    for pair in sorted(found.state.used_equal, key=sorted):
        first, second = (_symbol_text(s, found, names) for s in sorted(pair))
        result.ask(f"{first} == {second}", f"{first} equals {second}", evidence)


def _sizes(result: Guards, found: Analysed, names: Names, evidence: str) -> None:
    """``n <= u.shape[0]``: sizes that keep every index in bounds."""
    for form in sorted(found.state.used_sizes, key=str):
        if any(form != other and _implies(other, form) for other in found.state.used_sizes):
            continue
        sides: tuple[list[str], list[str]] = ([], [])
        for symbol, factor in form.pairs:
            text = _symbol_text(symbol, found, names)
            size = abs(factor)
            sides[factor < 0].append(text if size == 1 else f"{size} * {text}")
        if form.const:
            sides[form.const < 0].append(str(abs(form.const)))
        left, right = (" + ".join(side) or "0" for side in sides)
        result.ask(f"{left} <= {right}", f"{left} <= {right}", evidence)


def _implies(first: Affine, second: Affine) -> bool:
    """``first <= 0`` gives ``second <= 0``: they differ by a constant."""
    difference = second - first
    return difference.is_const and difference.const <= 0


def _symbol_text(symbol: str, found: Analysed, names: Names) -> str:
    for path, param in names.params.items():
        if found.state.find(path) == symbol:
            return param  # n, rather than the extent it is proved to be
    extent = extent_of(symbol)
    if extent is None:
        return names.params[symbol]
    array, axis = extent
    param = names.params[array]
    if observed(found.state.region, array).kind == "ndarray":
        return f"{param}.shape[{axis}]"
    return f"len({param}{'[0]' * axis})"


def _ranges(result: Guards, found: Analysed, names: Names, evidence: str) -> None:
    region, assumption = found.state.region, found.state.assumption
    for path in sorted(found.state.used_ranges):
        if path not in names.params:
            continue
        view = found.entry[path]
        assert isinstance(view, View)
        low, high = rounded_range(observed(region, path), view.element)
        param = names.params[path]
        result.numpy = True
        size = f"{param}.size" if observed(region, path).kind == "ndarray" else f"len({param})"
        low_text, high_text = _bound(low), _bound(high)
        numpy = names.numpy
        result.ask(
            f"{size} and {low_text} <= {numpy}.min({param})"
            f" and {numpy}.max({param}) <= {high_text}",
            f"{path} holds values within [{low_text}, {high_text}]",
            evidence,
        )
    for path in sorted(assumption.floats & set(names.params)):
        value = found.entry[path]
        assert isinstance(value, Num)
        if value.low is not None:
            param = names.params[path]
            test = f"{_bound(value.low)} <= {param} <= {_bound(value.high)}"
            result.ask(test, f"{path} within [{_bound(value.low)}, {_bound(value.high)}]", evidence)


def _bound(value: int | float | None) -> str:
    assert value is not None
    size = abs(value)
    if size > 4096 and float(size).is_integer() and int(size) & (int(size) - 1) == 0:
        text = f"2**{int(size).bit_length() - 1}"
        return f"-({text})" if value < 0 else text
    return repr(value)


def _distinct(
    result: Guards,
    region: Region,
    arrays: dict[str, View],
    written: set[str],
    names: Names,
    evidence: str,
) -> None:
    # a list becomes an array of its own, and two lists are asked to be different
    real = [path for path in arrays if observed(region, path).kind == "ndarray"]
    for first, second in combinations(real, 2):
        if first not in written and second not in written:
            continue
        if _allocated(region, first) or _allocated(region, second):
            result.proved(f"{first} and {second} share no memory")
            continue
        a, b = names.params[first], names.params[second]
        result.numpy = True
        test = f"not {names.numpy}.may_share_memory({a}, {b})"
        result.ask(test, f"{first} and {second} share no memory", evidence)
