"""Perturbed inputs: which ones are made from a held state, in which order, and how.

A perturbation is a small record of plain values, so that it can be sent to a process that holds
the same state; applied there it makes the same inputs. What is aimed at the tests of
the new text comes first (see ``perturb_aims``), then sizes (0, 1, odd, doubled), values, layouts,
types and sharing, dealt out in turn: whenever time runs out, some of every kind were tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, cycle, islice, zip_longest
from typing import Any

from . import perturb_forms as forms
from . import perturb_values as values
from .perturb_aims import aims, apply_aim, in_words
from .perturb_sizes import DOUBLED_LIMIT, LARGE, Scheme, resize
from .perturb_slots import Inputs, Slot, kind_of
from .perturbation import Perturbation

MAX_PAIRS = 6
"""Pairs of inputs that are made to share memory."""
MAX_BOTH = 42
"""Pairs of a type and values."""
TELLING_FORMS = ("float64", "list", "int64", "array", "float32", "uint8", "tuple")
TELLING_VALUES = ("tenths", "thresholds", "sparse", "mixed sizes", "bytes", "halves")
"""As many names as have no divisor in common: every pair has its turn."""
CONTAINERS = ("array", "numbers", "column")
"""Kinds of inputs that hold many numbers."""
COUNT = 16
"""Whole numbers above this that are no extents may be numbers of steps: 1000 -> 3."""


def apply(inputs: Inputs, scheme: Scheme, what: Perturbation) -> bool:
    """Change the inputs; False if the perturbation does not apply to them.

    May raise what NumPy raises for arrays that cannot be made.
    """
    if what.sizes:
        resize(inputs, scheme, what.sizes, numbers=what.numbers)
    if what.filled:
        _fill(inputs, what.filled, what.seed)
    done = _changed(inputs, what)
    if done and what.then:
        return _fill(inputs, what.then, what.seed)
    return done


def _fill(inputs: Inputs, name: str, seed: int) -> bool:
    """Other values for all arrays and lists; False if nothing changed."""
    slots = [inputs.slots[position] for position in _containers(inputs)]
    held = [slot for slot in slots if kind_of(slot.get()) in ("array", "numbers")]
    done = [values.change_values(slot, name, seed, inputs.constants) for slot in held]
    return any(done)


def _changed(inputs: Inputs, what: Perturbation) -> bool:
    slots = [inputs.slots[position] for position in what.slots]
    match what.kind:
        case "values":
            done = [
                values.change_values(slot, what.change, what.seed, inputs.constants)
                for slot in slots
            ]
            return any(done)
        case "exact":
            return _exact(inputs, what.change, what.slots, what.seed)
        case "whole":
            return _whole(inputs)
        case "form":
            return forms.change_form(slots[0], what.change)
        case "share":
            return forms.share(slots[0], slots[1], what.change)
        case "axis" | "at" | "step":
            return apply_aim(slots[0], what.kind, what.change)
    return True


def _exact(inputs: Inputs, change: str, whole: Sequence[int], seed: int) -> bool:
    """Numbers of the text in all arrays and lists, and one number for all float scalars.

    What is computed from them is exact, and meets the thresholds of the code: ``x - rate * 0``.
    ``change``: that number, and one for the whole numbers at ``whole`` if there are any.
    """
    number, _, count = change.partition(" ")
    for position in whole:
        inputs.slots[position].put(int(count))
    done = bool(whole)
    for slot in inputs.slots:
        if slot.free and slot.kind == "number" and isinstance(slot.get(), float):
            slot.put(type(slot.get())(number))
            done = True
        elif slot.free and slot.kind in CONTAINERS:
            done |= values.change_values(slot, "thresholds", seed, inputs.constants)
    return done


def _whole(inputs: Inputs) -> bool:
    """Python ints for all floats: ``track(2, 3)`` in place of ``track(2.0, 3.0)``."""
    done = False
    for slot in inputs.slots:
        value = slot.get()
        if slot.free and slot.kind == "number" and type(value) is float:
            slot.put(max(2, round(value)) if math.isfinite(value) else 2)
            done = True
        elif slot.free and slot.kind == "numbers":
            done |= values.all_ints(slot)
    return done


# --------------------------------------------------------------------------- plan
def smaller(inputs: Inputs, scheme: Scheme) -> Iterator[Perturbation]:
    """Ways to make the state small and quick to run, the best first."""
    small = scheme.small()
    if small is None:
        return
    words = _resizing(small)
    yield Perturbation(words, sizes=small)
    if not inputs.at_top:
        yield Perturbation(f"{words}, whole numbers unchanged", sizes=small, numbers=False)


def fewer_steps(inputs: Inputs, scheme: Scheme, base: Perturbation) -> Perturbation | None:
    """Also bring down the whole numbers that are no extents; None if there are none."""
    if inputs.at_top:
        return None
    large = [n for n in scheme.numbers if n > COUNT and scheme.number(n, base.sizes) == n]
    if not large:
        return None
    sizes = {**base.sizes, **{n: 3 + k for k, n in enumerate(sorted(set(large)))}}
    return Perturbation(_resizing(sizes), sizes=sizes)


def plan(
    inputs: Inputs,
    scheme: Scheme,
    base: Perturbation,
    tests: Sequence[str] = (),
    *,
    wide: bool = False,
) -> Iterator[Perturbation]:
    """All perturbations: two aimed ones, then one from each other kind in turn.

    ``tests``: what the new text tests. ``wide``: other values at the recorded sizes, where many
    elements show what a few may not.
    """
    aimed = aimed_at(inputs, base, tests)
    known: set[tuple[Any, ...]] = set()
    for dealt in zip_longest(aimed, aimed, _blind(inputs, scheme, base, wide)):
        for what in dealt:
            if what is not None and _key(what) not in known:
                known.add(_key(what))
                yield what


def _key(what: Perturbation) -> tuple[Any, ...]:
    """What two perturbations that do the same have in common."""
    sizes = tuple(what.sizes.items())
    filled = what.filled, what.then
    return what.kind, what.change, what.slots, filled, sizes, what.numbers


def aimed_at(inputs: Inputs, base: Perturbation, tests: Sequence[str]) -> Iterator[Perturbation]:
    """What is aimed at the tests of one candidate."""
    # At module level the text before the loop proves types, layout, sharing and sizes.
    for kind, change, slots in () if inputs.at_top else aims(inputs, tests):
        words = _words(inputs, kind, change, slots)
        odd = kind == "form" and change in forms.ODD
        yield Perturbation(words, kind, change, slots, wild=kind == "at", odd=odd).on(base)


def _words(inputs: Inputs, kind: str, change: str, slots: tuple[int, ...]) -> str:
    names = [inputs.slots[position].name for position in slots]
    if kind == "form":
        table = forms.TABLES[inputs.slots[slots[0]].kind]
        colon = ":" if inputs.slots[slots[0]].kind == "number" else ""
        return f"{names[0]}{colon} {table[change][0]}"
    if kind == "share":
        return forms.SHARING[change].format(*names)
    return in_words(inputs.slots, (kind, change, slots))


def _blind(
    inputs: Inputs, scheme: Scheme, base: Perturbation, wide: bool
) -> Iterator[Perturbation]:
    large = Perturbation("") if wide else base
    # Many steps may level out what one of them does otherwise.
    less = fewer_steps(inputs, scheme, base)
    steps = {n: new for n, new in less.sizes.items() if n not in base.sizes} if less else {}
    sizes = {**large.sizes, **steps}
    short = replace(large, words=_resizing(sizes), sizes=sizes)
    other_values = _values(inputs, large)
    kinds = [
        _sizes(inputs, scheme, base),
        _odd(inputs, base),
        _empty_axes(inputs, base),
        _numbers(inputs, base),
        _counts(inputs, base),
        _few(inputs, base),
        _texts(inputs, base),
        other_values,
        _forms(inputs, base),
        _values_of_each(inputs, base),
        other_values,
        _both(inputs, short),
        _values(inputs, short) if steps else iter(()),
        _sharing(inputs, base),
    ]
    for dealt in zip_longest(*kinds):
        yield from (what for what in dealt if what is not None)


def _both(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    """Another type and values that show it: 0.1 among floats where ints were."""
    if inputs.at_top:
        return
    for names, then in zip(cycle(TELLING_FORMS), islice(cycle(TELLING_VALUES), MAX_BOTH)):
        for position in _containers(inputs):
            slot = inputs.slots[position]
            if names in forms.TABLES[slot.kind]:
                words = f"{slot.name} {forms.TABLES[slot.kind][names][0]}, {values.ALL[then][0]}"
                made = Perturbation(words, "form", names, (position,), then=then)
                yield replace(made, wild=then in values.WILD).on(base)


def _resizing(sizes: Mapping[int, int]) -> str:
    changes = [f"{old} -> {new}" for old, new in sorted(sizes.items()) if old != new]
    more = len(changes) - 3
    return f"sizes {', '.join(changes[:3])}" + (f" and {more} more" if more > 0 else "")


def _sizes(inputs: Inputs, scheme: Scheme, base: Perturbation) -> Iterator[Perturbation]:
    if not scheme.resizable:
        return
    # What is empty has nothing to repeat.
    groups = sorted((g for g in scheme.groups if g[0] > 0), key=lambda group: -group[0])
    if inputs.at_top:
        groups = [group for group in groups if group[-1] >= LARGE]
    wanted = [(0, True), (1, True), (0, False), (2, True), (5, True), (12, True), (1, False)]
    for size, numbers in [*wanted, (3, True), (4, True), (-1, True), (2, False)]:
        for group in groups:
            new = _doubled(group[0], base) if size < 0 else size
            if new == group[0] or (inputs.at_top and not numbers):
                continue
            sizes = scheme.changed(group, new, base.sizes)
            words = _resizing({old: sizes[old] for old in group})
            if not numbers:
                words += ", whole numbers unchanged"
            yield Perturbation(words, sizes=sizes, numbers=numbers and base.numbers)


def _odd(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    """What makes the original raise an exception, most likely: one input after the other."""
    if inputs.at_top:
        return
    for name in forms.ODD:
        for position, slot in enumerate(inputs.slots):
            if slot.free and name in forms.TABLES.get(slot.kind, {}):
                colon = ":" if slot.kind == "number" else ""
                words = f"{slot.name}{colon} {forms.TABLES[slot.kind][name][0]}"
                yield Perturbation(words, "form", name, (position,), odd=True).on(base)


def _empty_axes(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    """``(0, n)`` and ``(n, 0)``: one axis of one array alone."""
    if inputs.at_top:
        return
    for axis in (0, 1):
        for position in _containers(inputs):
            slot = inputs.slots[position]
            if slot.kind == "array" and axis < len(slot.shape):
                aim = ("axis", f"{axis} 0", (position,))
                yield Perturbation(in_words(inputs.slots, aim), *aim).on(base)


def _doubled(extent: int, base: Perturbation) -> int:
    return 2 * extent if extent <= DOUBLED_LIMIT else 2 * base.sizes.get(extent, 8)


def _containers(inputs: Inputs) -> list[int]:
    found = enumerate(inputs.slots)
    return [k for k, slot in found if slot.free and slot.kind in CONTAINERS]


def _values(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    every = tuple(_containers(inputs))
    if not every:
        return
    columns = all(inputs.slots[position].kind == "column" for position in every)
    together = "all columns" if columns else "all arrays and lists"
    for name, (words, _) in values.ALL.items():
        who = inputs.slots[every[0]].name if len(every) == 1 else together
        made = Perturbation(f"{who}: {words}", "values", name, every, wild=name in values.WILD)
        yield made.on(base)
        if name == "within" and not inputs.at_top:
            yield Perturbation("all floats: whole numbers as ints", "whole").on(base)
        if name == "nan":
            for number in ("0", "1"):
                words = f"numbers of the code in all arrays and lists, floats {number}.0"
                yield Perturbation(words, "exact", number).on(base)


def _counts(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    """Floats that are exact and whole numbers other than those seen, together.

    A grid of 12 meets the thresholds of the code (``x * x <= 1.0``), one of 40 may not; with
    300 steps from 0.0 a count passes what one byte holds, if nothing ends the loop before.
    """
    if inputs.at_top:
        return
    free = [(k, s.get()) for k, s in enumerate(inputs.slots) if s.free and s.kind == "number"]
    counts = [k for k, value in free if type(value) is int]
    if not counts or not any(isinstance(value, float) for _, value in free):
        return
    for number in ("0", "1"):
        yield _exact_with(inputs, number, "12", tuple(counts)).on(base)
        for position in counts:
            yield _exact_with(inputs, number, "300", (position,)).on(base)


def _few(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    """Few values in all arrays and lists, and single numbers that these meet.

    A search for a sum finds none among random numbers, wherever it looks; and what a difference
    decides is the same for floats of 32 bits, unless numbers are close and it decides at zero.
    """
    if inputs.at_top or not _containers(inputs):
        return
    free = [(k, s.get()) for k, s in enumerate(inputs.slots) if s.free and s.kind == "number"]
    counts = tuple(k for k, value in free if type(value) is int)
    floats = any(isinstance(value, float) for _, value in free)
    names = [inputs.slots[position].name for position in counts]
    wanted = [("close", "0"), ("close falling", "0")] if floats else []
    if floats or counts:
        wanted += [("small", "2"), ("small halves", "2"), ("small", "0"), ("small halves", "3")]
        wanted += [("small", "3"), ("small", "4")]
    for then, number in wanted:
        whole = () if then.startswith("close") else counts
        singles = [f"floats {number}.0"] * floats + [f"{name}: {number}" for name in names if whole]
        fill = {**values.ALL, **values.TOGETHER}[then][0]
        words = f"all arrays and lists: {fill}, {', '.join(singles)}"
        change = f"{number} {number}" if whole else number
        yield Perturbation(words, "exact", change, whole, then=then).on(base)


def _exact_with(inputs: Inputs, number: str, count: str, whole: tuple[int, ...]) -> Perturbation:
    names = ", ".join(inputs.slots[position].name for position in whole)
    words = f"numbers of the code in all arrays and lists, floats {number}.0, {names}: {count}"
    return Perturbation(words, "exact", f"{number} {count}", whole)


def _values_of_each(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    every = _containers(inputs)
    # At top level b may be a copy of a, always: they change together or not at all.
    if len(every) < 2 or inputs.at_top:
        return
    for name, (words, _) in values.ALL.items():
        for position in every:
            words_of = f"{inputs.slots[position].name}: {words}"
            wild = name in values.WILD
            yield Perturbation(words_of, "values", name, (position,), wild=wild).on(base)


def _forms(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    if inputs.at_top:
        return
    frames = [k for k, slot in enumerate(inputs.slots) if slot.kind == "frame"]
    queues = [_table(inputs, k, base) for k in (*_containers(inputs), *frames)]
    for dealt in zip_longest(*queues):
        yield from (what for what in dealt if what is not None)


def _table(inputs: Inputs, position: int, base: Perturbation) -> Iterator[Perturbation]:
    slot = inputs.slots[position]
    for name, (words, _) in forms.TABLES[slot.kind].items():
        made = Perturbation(f"{slot.name} {words}", "form", name, (position,))
        yield replace(made, odd=name in forms.ODD).on(base)


def _texts(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    if not inputs.at_top:
        for position, slot in enumerate(inputs.slots):
            if slot.free and slot.kind == "text":
                yield from _table(inputs, position, base)


def _numbers(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    found = [k for k, s in enumerate(inputs.slots) if s.free and s.kind == "number"]
    for name, (words, _) in forms.NUMBERS.items():
        for position in found:
            slot = inputs.slots[position]
            wild = name in ("inf", "1e300")
            made = Perturbation(f"{slot.name}: {words}", "form", name, (position,), wild=wild)
            yield replace(made, odd=name in forms.ODD).on(base)
            # No step at all, and what would be changed in it is not zero.
            if name == "0" and not inputs.at_top and type(slot.get()) is int:
                words = f"{words}, random values in all arrays and lists"
                yield replace(made, words=f"{slot.name}: {words}", filled="within").on(base)


def _sharing(inputs: Inputs, base: Perturbation) -> Iterator[Perturbation]:
    if inputs.at_top:
        return
    pairs = [
        (i, j)
        for i, j in combinations(_containers(inputs), 2)
        if inputs.slots[i].kind != "column" and _alike(inputs.slots[i], inputs.slots[j])
    ]
    for kind, words in forms.SHARING.items():
        for i, j in pairs[:MAX_PAIRS]:
            text = words.format(inputs.slots[i].name, inputs.slots[j].name)
            yield Perturbation(text, "share", kind, (i, j)).on(base)


def _alike(one: Slot, other: Slot) -> bool:
    first, second = one.get(), other.get()
    if one.kind != other.kind or type(first) is not type(second):
        return False
    return one.kind != "array" or (first.dtype == second.dtype and first.ndim == second.ndim)
