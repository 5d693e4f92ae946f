"""One region, analysed under growing assumptions until its compiled form is proved equal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..loopnest.definite import bound_before
from ..loopnest.ir import Kind, Nest
from ..loopnest.scope import Module, dotted, local_names, stored_names
from ..loopnest.typing_rules import MODULE_CONSTANTS
from ..model import Region
from .nb_bounded import BITS
from .nb_chars import element_type
from .nb_eval import Evaluator
from .nb_flow import Flow
from .nb_growth import native_lists
from .nb_paths import LoopExits
from .nb_scope import (
    Scope,
    declare_equalities,
    entry_value,
    in_closure,
    literal_of,
    observed,
    rounded_range,
)
from .nb_state import Assumption, State
from .nb_values import Num, Outgrown, Unsupported, Value, View


@dataclass(frozen=True)
class Analysed:
    """What holds of a region under an assumption, and what its text needs."""

    state: State
    env: dict[str, Value]
    """Values at the loop's end."""
    entry: dict[str, Value]
    live_out: tuple[str, ...]
    """Scalars to hand back, in order of their first assignment."""
    maybe: frozenset[str]


_CACHE: list[tuple[Region, Analysed | Unsupported]] = []


def analyse_region(region: Region) -> Analysed:
    """The weakest assumption under which every obligation is met. Raises Unsupported.

    Kept for the regions asked about last, since several rules compile the same loop; each gets a
    copy to write its edits into.
    """
    found = next((found for known, found in _CACHE if known is region), None)
    if found is None:
        try:
            found = _analysed(region)
        except Unsupported as problem:
            found = problem
        _CACHE.append((region, found))
        del _CACHE[:-8]
    if isinstance(found, Unsupported):
        raise found.with_traceback(None)
    return replace(found, state=found.state.copied(), env=dict(found.env), entry=dict(found.entry))


def _analysed(region: Region) -> Analysed:
    bits = _int_bits(region)
    base = Assumption(int_bits=max(31, bits))
    tight = Assumption(int_bits=max(8, bits))
    with_ranges = replace(base, arrays=_ranged_arrays(region), floats=_ranged_floats(region))
    seen_bits = _list_bits(region)
    tight_bits = max(8, min(40, seen_bits))
    attempts = [
        base,
        *(replace(base, list_bits=n, content=2**n) for n in (22, 15) if tight_bits <= n),
        with_ranges,
        *(
            replace(with_ranges, int_bits=max(n, bits), list_bits=max(n, tight_bits), content=2**n)
            for n in (22, 15)
            if max(bits, tight_bits) <= n
        ),
        replace(with_ranges, int_bits=tight.int_bits, list_bits=tight_bits, content=2**tight_bits),
    ]
    looking = [
        replace(base, checked=n, content=2**n, list_bits=m, roomy=roomy)
        for n in BITS
        for roomy in (True, False)
        for m in _list_sizes(n, seen_bits)
    ]
    groups = [attempts, looking]
    if isinstance(region.nest, Nest) and region.nest.relies_on:
        # s = 0; for k in range(m): s += a[k]; row.append(s): an int if m is 0
        groups = [g for one in groups for g in (one, [replace(a, trips=True) for a in one])]
    problems: list[Unsupported] = []
    for group in groups:
        if group and group[0].checked and not any(isinstance(p, Outgrown) for p in problems):
            break  # looking at what is stored would not help
        found = _first_of(region, group)
        if isinstance(found, Analysed):
            return found
        if not (group and group[0].checked):
            problems += found
    raise problems[-1]


def _first_of(region: Region, attempts: list[Assumption]) -> Analysed | list[Unsupported]:
    """The analysis under the first assumption that suffices; else what was wrong with each."""
    problems = []
    for assumption in attempts:
        try:
            found = _closed(region, assumption)
        except Unsupported as error:
            problems.append(error)
            continue
        return _decided_types(region, _fewer_ranges(region, found))
    return problems


def _closed(region: Region, assumption: Assumption) -> Analysed:
    """An attempt in which the elements of int lists stay in the range they were assumed in.

    Either every stored value is in the range of the start, or each store adds at most a little to
    what was there before (``d[i - 1][j] + 1``): 2**46 stores of that stay far below 64 bits. What
    is stored is piecewise linear in the bound of the elements, with corners where the bound meets
    numbers of the program; beyond those, two points say how it goes on.
    """
    found = _attempt(region, assumption)
    if _growth(found) <= 0:
        return found
    names = ", ".join(found.state.stored)
    refusal = Outgrown(f"elements of {names} may outgrow 64 bits", region.loop.lineno)
    if _largest_literal(region) > 2**35 or assumption.int_bits > 40:
        # if t < 2**55: t *= 2 grows fast between two points at which it does not
        raise refusal
    for content in (2**50, 2**59):
        found = _attempt(region, replace(assumption, content=content))
        if _growth(found) > 2**12:
            raise refusal
    return found


def _largest_literal(region: Region) -> int:
    """Largest whole number in the loop and in what it calls, and among the file's constants."""
    roots: list[ast.AST] = [region.loop, *region.functions.values(), *region.source.tree.body]
    return max(
        (
            abs(int(node.value))
            for root in roots
            for node in ast.walk(root)
            if isinstance(node, ast.Constant) and isinstance(node.value, int)
        ),
        default=0,
    )


def _growth(found: Analysed) -> int:
    """By how much a stored Python int may exceed the largest element."""
    sizes = [max(abs(int(v.low or 0)), abs(int(v.high or 0))) for v in found.state.stored.values()]
    return max(sizes, default=0) - found.state.assumption.content


def _fewer_ranges(region: Region, found: Analysed) -> Analysed:
    """Drop assumptions on ranges that nothing rests on."""
    for name in sorted(found.state.assumption.arrays | found.state.assumption.floats):
        assumption = found.state.assumption
        fewer = replace(
            assumption, arrays=assumption.arrays - {name}, floats=assumption.floats - {name}
        )
        try:
            found = _closed(region, fewer)
        except Unsupported:
            continue
    return found


def _decided_types(region: Region, found: Analysed) -> Analysed:
    """``s = 0.0`` stays a float if no iteration adds to it: assume that the loops run."""
    if not any(_undecided(found, name) for name in found.live_out):
        return found
    assumption = replace(found.state.assumption, trips=True)
    try:
        better = _closed(region, assumption)
    except Unsupported:
        return found
    if all(not _undecided(better, name) for name in better.live_out):
        return better
    return found


def _undecided(found: Analysed, name: str) -> bool:
    value = found.env.get(name)
    return isinstance(value, Num) and bool(value.also)


def _attempt(region: Region, assumption: Assumption) -> Analysed:
    module = Module(region.source)
    made, native = native_lists(region)
    state = State(region, region.source, module, assumption, made=made, native=native)
    declare_equalities(region, state)
    missing = unbound_names(region)
    env = {
        path: value
        for path, value in _entry_env(region, module, state).items()
        if path.partition(".")[0] not in missing
    }
    scope = Scope(state, region.function, dict(env))
    scope.unbound = missing
    flow = Flow(Evaluator(state, scope))
    flow.exits.append(LoopExits())
    if not flow.statement(region.loop):
        raise Unsupported("the loop never ends in a normal way", region.loop.lineno)
    live_out = tuple(_live_out(region, scope.env))
    for name in live_out:
        value = scope.env[name]
        if isinstance(value, Num) and value.entry:
            scope.need(name)  # handed back unchanged where no iteration assigns it
        elif name in scope.maybe:
            text = f"{name} is read after the loop, and the loop may not assign it"
            raise Unsupported(text, region.loop.lineno, f"assign {name} before the loop")
        elif state.trip_guards and name not in env:
            # where the loops do not run, the loop in Python would have nothing to hand back
            text = f"{name} is read after the loop, and the loop may not assign it"
            raise Unsupported(text, region.loop.lineno, f"assign {name} before the loop")
        elif state.trip_guards:
            # the loop in Python, which may run no time, hands back what was there
            state.kept[name] = None
    return Analysed(state, dict(scope.env), env, live_out, frozenset(scope.maybe))


def _live_out(region: Region, env: dict[str, Value]) -> Iterator[str]:
    nest = region.nest
    assert isinstance(nest, Nest)
    seen: set[str] = set()
    for node in ast.walk(region.loop):
        path = None
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            path = dotted(node)
        if path is None or path in seen or path not in env:
            continue
        seen.add(path)
        if not (path in nest.live_out or "." in path):
            continue
        if not isinstance(env[path], Num):
            text = f"{path} is read after the loop and is not a number"
            raise Unsupported(text, region.loop.lineno)
        yield path


def _entry_env(region: Region, module: Module, state: State) -> dict[str, Value]:
    """Everything observed at entry that a kernel can take as an argument."""
    assert region.observation is not None and isinstance(region.nest, Nest)
    locals_ = local_names(region.function)
    env: dict[str, Value] = {}
    for path in state.native - state.made:
        array = region.nest.arrays[path]
        env[path] = View(path, element_type(region.nest, path), array.ndim)
    for path in region.observation.values:
        if path in state.native:
            continue
        root = path.partition(".")[0]
        fixed = root not in locals_ and "." not in path and not in_closure(region, path)
        if fixed and (module.constant(path) is not None or module.constant_table(path)):
            continue
        if root not in locals_ and _is_constant_of_module(region, path):
            continue
        if any(part in module.computed_attributes for part in path.split(".")[1:]):
            continue
        value = entry_value(path, region, state.assumption, state)
        if value is not None:
            env[path] = value
    return env


def _is_constant_of_module(region: Region, path: str) -> bool:
    """``np.pi``: known to the last digit, so no argument of the kernel."""
    assert region.observation is not None
    head, _, rest = path.partition(".")
    owner = region.observation.values.get(head)
    return (
        owner is not None
        and owner.kind == "module"
        and f"{owner.target}.{rest}" in MODULE_CONSTANTS
    )


def unbound_names(region: Region) -> frozenset[str]:
    """Names of the scope that the loop may find unbound, though they were seen bound.

    ``for i in range(n): for j in range(m): k = j`` with ``k`` read afterwards: the inner loop has
    no ``k`` the first time, and a call that hands it in and back would raise.
    """
    known = bound_before(region.source, region.function, region.loop) or frozenset()
    if region.function is not None:
        return local_names(region.function) - known
    tree = region.source.tree
    declared = {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    return stored_names(tree) - known - declared


# ----------------------------------------------------------- what was observed
def _int_bits(region: Region) -> int:
    """Bits of the largest Python int seen, and one to spare."""
    assert region.observation is not None
    sizes = [
        max(abs(int(info.minimum or 0)), abs(int(info.maximum or 0)))
        for path, info in region.observation.values.items()
        if info.kind == "int" and literal_of(region, path) is None
    ]
    return min(62, max((s.bit_length() for s in sizes), default=0) + 1)


def _list_sizes(bits: int, seen: int) -> list[int]:
    """Bits that the ints of lists may have beside variables of so many bits; widest first."""
    sizes = dict.fromkeys((max(min(bits, 40), seen), 22, 15, max(8, seen)))
    fitting = [size for size in sizes if seen <= size <= bits]
    return fitting if seen else fitting[:1]  # without lists of ints it makes no difference


def _list_bits(region: Region) -> int:
    """Bits of the largest int seen in a list, and one to spare; 0 where no list held any."""
    assert region.observation is not None
    sizes = [
        max(abs(int(info.minimum or 0)), abs(int(info.maximum or 0)))
        for info in region.observation.values.values()
        if info.kind in ("list", "tuple") and isinstance(info.minimum, int)
    ]
    return max((s.bit_length() + 1 for s in sizes), default=0)


def _ranged_arrays(region: Region) -> frozenset[str]:
    """Arrays that are only read and whose range was seen."""
    nest = region.nest
    assert isinstance(nest, Nest)
    return frozenset(
        name
        for name, array in nest.arrays.items()
        if not array.written
        and not array.has_nan
        and array.element.kind in (Kind.INT, Kind.FLOAT)
        and not any(nest.arrays[other].written for other in array.aliases if other in nest.arrays)
        and _has_range(region, name)
    )


def _has_range(region: Region, name: str) -> bool:
    assert region.observation is not None
    if name not in region.observation.values or not isinstance(region.nest, Nest):
        return False
    info = observed(region, name)
    return rounded_range(info, region.nest.arrays[name].element)[0] is not None


def _ranged_floats(region: Region) -> frozenset[str]:
    assert region.observation is not None
    nest = region.nest
    assert isinstance(nest, Nest)
    return frozenset(
        name
        for name, scalar in nest.scalars.items()
        if scalar.type.kind is Kind.FLOAT and name in region.observation.values
    )


def arrays_read(found: Analysed) -> dict[str, View]:
    """Arrays among the inputs used."""
    entry = found.entry
    return {n: v for n in found.state.read if isinstance(v := entry.get(n), View) and v.array == n}
