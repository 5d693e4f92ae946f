"""What a perturbation finds and changes, within one process."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from gpuadvise.verify import perturb_forms as forms
from gpuadvise.verify import perturb_values as values
from gpuadvise.verify.perturb import apply, plan, smaller
from gpuadvise.verify.perturb_sizes import Scheme, clusters
from gpuadvise.verify.perturb_slots import inputs_of, names_read
from gpuadvise.verify.perturbation import Perturbation
from gpuadvise.verify.states_api import HeldCall, HeldStatement

TEXT = b"""
import numpy as np

N = 40
SHIFT = [1.0, 2.0]
FACTOR = 2.0
UNUSED = 9

def helper(x):
    return x * SHIFT[0] * FACTOR

def step(grid, halo, flat, n, rows, cols, label, model, pair):
    total = 0.0
    for i in range(n):
        total += helper(grid[i, 0]) + model.weight
    return total

def change():
    global FACTOR
    FACTOR = 3.0
"""


class Model:
    def __init__(self):
        self.weight = 0.5
        self.other = 7.0


def held(**changes):
    """Arguments: a 40 x 30 grid, one with a halo, a flat list of 1200, and the counts."""
    space: dict = {"__name__": __name__}
    exec(compile(TEXT, "program.py", "exec"), space)
    arguments = {
        "grid": np.arange(1200.0).reshape(40, 30),
        "halo": np.zeros((42, 32)),
        "flat": [float(k) for k in range(1200)],
        "n": 40,
        "rows": 41,
        "cols": 30,
        "label": "text",
        "model": Model(),
        "pair": (np.ones(40), 3),
        **changes,
    }
    args = tuple(arguments.values())
    path = "program.py"
    return HeldCall("s", path, path, "step", 1, "first", space["step"], args, {}, space)


def found(state, text=TEXT):
    inputs = inputs_of(state, text, [__name__])
    assert not isinstance(inputs, str), inputs
    return inputs


def test_inputs_are_what_the_function_reads():
    inputs = found(held())
    names = [slot.name for slot in inputs.slots]
    assert names == [
        *("grid", "halo", "flat", "n", "rows", "cols", "model.weight", "pair[0]", "pair[1]"),
        # FACTOR is bound again in change(); N is a constant of the text, UNUSED is not read.
        *("FACTOR", "SHIFT"),
    ]
    assert names_read(TEXT, "step") >= {"SHIFT", "helper", "weight"}


def test_sizes_change_together():
    inputs = found(held())
    scheme = Scheme(inputs)
    assert clusters([3, 4, 30, 32, 40, 42, 50]) == [[3], [4], [30, 32], [40, 42], [50]]
    small = scheme.small()
    assert small is not None
    rows, cols = small[40], small[30]
    assert rows != cols and max(rows, cols) < 20
    assert apply(inputs, scheme, Perturbation("", sizes=small))
    state = inputs.state()
    grid, halo, flat, n, more, width, label, _, pair = state.args
    assert grid.shape == (rows, cols) and halo.shape == (rows + 2, cols + 2)
    assert len(flat) == rows * cols and (n, more, width) == (rows, rows + 1, cols)
    assert label == "text" and pair[0].shape == (rows,) and pair[1] == 3
    assert grid.flags.c_contiguous and grid[1, 1] == 31.0


def test_numbers_may_stay_as_they_are():
    inputs = found(held())
    scheme = Scheme(inputs)
    first, second = smaller(inputs, scheme)
    assert first.numbers and not second.numbers
    assert apply(inputs, scheme, second)
    assert inputs.state().args[3] == 40 and len(inputs.state().args[0]) < 40


def test_every_size_is_tried():
    inputs = found(held())
    made = list(islice(plan(inputs, Scheme(inputs), Perturbation("")), 400))
    sizes = {what.sizes.get(40) for what in made if what.sizes}
    assert {0, 1, 2, 5, 12, 80} <= sizes
    kinds = {what.kind for what in made}
    assert kinds == {"none", "values", "exact", "whole", "form", "share", "axis"}
    # As they cross a socket.
    for what in made:
        assert Perturbation.parse(json.loads(json.dumps(what.plain()))) == what


def test_one_object_under_two_names_stays_one():
    grid = np.ones((40, 30))
    inputs = found(held(grid=grid, halo=grid))
    scheme = Scheme(inputs)
    assert apply(inputs, scheme, Perturbation("", sizes={40: 5}))
    args = inputs.state().args
    assert args[0] is args[1] and args[0].shape == (5, 30)


def test_lists_change_in_place():
    flat = [1.0] * 60
    state = held(flat=flat)
    inputs = found(state)
    assert apply(inputs, Scheme(inputs), Perturbation("", sizes={60: 3}))
    assert flat == [1.0] * 3 and inputs.state().args[2] is flat


LOOP = b"""
import sys
import numpy as np
n = int(sys.argv[1]) if len(sys.argv) > 99 else 50
a = np.sin(np.arange(n))
out = np.zeros(n)
k = 3
for i in range(n):
    out[i] = a[i] * k
"""


def statement(text):
    space: dict = {}
    body = text.split(b"for i in")[0]
    exec(compile(body, "loop.py", "exec"), space)
    line = text[: text.index(b"for i in")].count(b"\n") + 1
    return HeldStatement("s", "loop.py", "loop.py", line, 1, "first", space)


def test_what_statements_before_a_loop_prove_is_kept():
    inputs = found(statement(LOOP), LOOP)
    assert {slot.name: slot.free for slot in inputs.slots} == {
        "a": True,
        "k": False,
        "n": False,
        "out": False,
    }
    scheme = Scheme(inputs)
    assert scheme.resizable and scheme.small() == {50: 7}
    made = list(plan(inputs, scheme, Perturbation("")))
    assert {what.kind for what in made} == {"none", "values", "exact"}
    # The length is in the text: another one cannot be.
    fixed = LOOP.replace(b"np.zeros(n)", b"np.zeros(50)")
    assert not Scheme(found(statement(fixed), fixed)).resizable
    # Stored into, it is data; but not where the stores come later, or where it is bound anew.
    for change, free in (
        (b"out[0] = 1.0", True),
        (b"out += 1.0", False),
        (b"out[0] = 1.0\nout = np.zeros(n)", False),
    ):
        text = LOOP.replace(b"k = 3", change + b"\nk = 3")
        slots = {slot.name: slot.free for slot in found(statement(text), text).slots}
        assert slots["out"] is free, change
    pair = LOOP.replace(b"out = np.zeros(n)", b"out, w = np.zeros(n), 2.0 * a").replace(
        b"a[i] * k", b"a[i] * w[i]"
    )
    slots = {slot.name: slot.free for slot in found(statement(pair), pair).slots}
    assert slots == {"a": True, "w": True, "n": False, "out": False}
    # n + n is not n + 1: no common shift keeps it.
    two = LOOP.replace(b"np.zeros(n)", b"np.zeros(n + n)")
    assert not Scheme(found(statement(two), two)).resizable


def test_dangerous_names():
    text = TEXT.replace(b"total = 0.0", b"total = 0.0; os.kill")
    assert inputs_of(held(), text, [__name__]) == "the code mentions os.kill"
    imported = TEXT.replace(b"total = 0.0", b"total = 0.0; rmtree").replace(
        b"import numpy as np", b"from shutil import rmtree"
    )
    assert inputs_of(held(), imported, [__name__]) == "the code mentions shutil.rmtree"
    # Gray and Scott's reaction has a feed and a kill rate.
    found(held(), TEXT.replace(b"total = 0.0", b"total = 0.0; kill"))


# -------------------------------------------------------------------------- values
class Box:
    """One input on its own."""

    def __init__(self, value):
        self.value = value
        self.inputs = found(held(flat=value))
        self.slot = next(s for s in self.inputs.slots if s.name == "flat")

    def change(self, name):
        assert values.change_values(self.slot, name, 1), name
        return self.slot.get()


def test_values_keep_type_and_shape():
    for name in values.ALL:
        box = Box(np.arange(12, dtype=np.int16).reshape(3, 4) % 5)
        if values.change_values(box.slot, name, 1):
            assert box.slot.get().dtype == np.int16 and box.slot.get().shape == (3, 4)
        box = Box([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
        if values.change_values(box.slot, name, 1):
            new = box.slot.get()
            assert [list(map(type, row)) for row in new] == [[float] * 3] * 2


def test_values_are_what_their_name_says():
    data = np.linspace(-2.0, 5.0, 50)
    within = Box(data.copy()).change("within")
    assert within.min() >= -2.0 and within.max() <= 5.0 and not np.array_equal(within, data)
    assert np.abs(Box(data.copy()).change("beyond")).max() > 5.0
    assert np.isnan(Box(data.copy()).change("nan")).any()
    assert np.isinf(Box(data.copy()).change("infinite")).any()
    assert len(set(Box(data.copy()).change("equal"))) == 1
    assert len(set(Box(data.copy()).change("repeated"))) <= 3
    assert list(Box(data.copy()).change("falling")) == sorted(data, reverse=True)
    zeros = Box(data.copy()).change("signed zero")
    assert any(math.copysign(1.0, x) < 0 for x in zeros if x == 0.0)
    huge = Box(list(range(50))).change("extreme")
    assert max(huge) >= 2**63 and min(huge) < 0 and all(type(x) is int for x in huge)
    bounded = Box(np.arange(50, dtype=np.uint8)).change("extreme")
    assert bounded.dtype == np.uint8 and 255 in bounded and 0 in bounded
    assert max(Box(list(range(50))).change("outlier")) == 50


def test_values_where_a_lost_element_or_another_order_shows():
    data = np.linspace(-2.0, 5.0, 50)
    last = Box(data.copy()).change("greatest last")
    assert last.argmax() == 49 and list(last[:-1]) == list(data[:-1])
    ended = Box(data.copy()).change("nan last")
    assert np.isnan(ended[-1]) and not np.isnan(ended[:-1]).any()
    assert np.count_nonzero(Box(data.copy()).change("sparse")) < 15
    tenths = Box(data.copy()).change("tenths")
    assert np.array_equal(tenths, np.round(tenths * 10.0) * 0.1) and np.any(
        tenths != np.round(tenths)
    )
    halves = Box(data.copy()).change("halves")
    assert np.array_equal(2.0 * halves, np.round(2.0 * halves)) and len(set(halves)) > 5
    mixed = Box(data.copy()).change("mixed sizes")
    assert sum(mixed) != sum(sorted(mixed, key=abs))
    special = Box(data.copy()).change("infinity times zero")
    assert np.isinf(special).any() and (special == 0.0).any()
    whole = Box(list(range(50))).change("bytes")
    assert min(whole) < 0 and max(whole) > 255 and all(type(x) is int for x in whole)
    bounded = Box(np.arange(50, dtype=np.uint8)).change("bytes")
    assert bounded.dtype == np.uint8 and bounded.max() == 255


def numbers_of(inputs):
    return {slot.name: slot.get() for slot in inputs.slots if slot.kind == "number"}


def test_whole_numbers_for_all_floats():
    inputs = found(held(label=2.75))
    assert apply(inputs, Scheme(inputs), Perturbation("", "whole"))
    assert numbers_of(inputs)["label"] == 3 and type(numbers_of(inputs)["label"]) is int
    flat = next(slot.get() for slot in inputs.slots if slot.name == "flat")
    assert all(type(value) is int for value in flat)


def test_another_type_and_then_values_that_show_it():
    inputs = found(held(grid=np.arange(1200).reshape(40, 30)))
    position = next(k for k, slot in enumerate(inputs.slots) if slot.name == "grid")
    change = Perturbation("", "form", "float64", (position,), then="tenths")
    assert apply(inputs, Scheme(inputs), change)
    grid = inputs.slots[position].get()
    assert grid.dtype == np.float64 and not np.array_equal(grid, np.round(grid))
    # What does not apply is not run at all, whatever values there would be.
    inputs = found(held())
    assert not apply(inputs, Scheme(inputs), change)


@pytest.mark.parametrize("name", ["text", "three", "0-d subclass"])
def test_what_is_no_number_where_one_was(name):
    inputs = found(held())
    slot = next(slot for slot in inputs.slots if slot.name == "n")
    assert forms.change_form(slot, name)
    assert type(slot.get()) is not int
    assert (name in forms.ODD) == (name != "0-d subclass")


def test_equal_contents_change_equally():
    data = np.linspace(0.0, 1.0, 30)
    first, second = Box(data.copy()).change("within"), Box(data.copy()).change("within")
    other = Box(data + 0.25).change("within")
    assert np.array_equal(first, second) and not np.array_equal(first, other - 0.25)


@pytest.mark.parametrize("name", list(forms.ARRAYS))
def test_forms_of_arrays(name):
    data = np.arange(12.0).reshape(3, 4)
    box = Box(data.copy())
    if not forms.change_form(box.slot, name):
        assert name == "float64"
        return
    new = box.slot.get()
    told = {
        "strided": lambda: not new.flags.c_contiguous and np.array_equal(new, data),
        "reversed": lambda: new.strides[0] < 0 and np.array_equal(new, data),
        "read-only": lambda: not new.flags.writeable,
        "fortran": lambda: new.flags.f_contiguous and not new.flags.c_contiguous,
        "unaligned": lambda: not new.flags.aligned and np.array_equal(new, data),
        "broadcast": lambda: new.strides[0] == 0 and new.flags.writeable,
        "subclass": lambda: isinstance(new, np.ndarray) and new[2, 3] == 2 * data[2, 3],
        "list": lambda: new == data.tolist(),
        "shorter": lambda: new.shape == (2, 4),
        "two shorter": lambda: new.shape == (1, 4),
        "longer": lambda: new.shape == (4, 4),
        "empty": lambda: new.shape == (0, 4),
        "other axis": lambda: new.shape == (3, 4, 1),
        "fewer axes": lambda: new.shape == (4,),
        "swapped": lambda: not new.dtype.isnative,
        "a text": lambda: new.dtype == object and "many" in new and new.shape == (3, 4),
        "a number": lambda: type(new) is int,
    }
    assert told.get(name, lambda: new.dtype == np.dtype(forms_dtype(name)))(), new


def forms_dtype(name):
    return {"complex": "complex128"}.get(name, name)


@pytest.mark.parametrize("name", list(forms.LISTS))
def test_forms_of_lists(name):
    ints = name == "a float"
    box = Box([[k + (0 if ints else 0.5) for k in range(3)] for _ in range(3)])
    before = repr(box.value)
    assert forms.change_form(box.slot, name)
    new = box.slot.get()
    if name == "one row":
        assert new[-1] is new[0]
    else:
        assert repr(new) != before


@pytest.mark.parametrize("kind", list(forms.SHARING))
def test_sharing(kind):
    lists = kind == "row"
    one = [[1.0], [2.0]] if lists else np.arange(40.0)
    two = [[3.0], [4.0]] if lists else np.arange(40.0) + 1.0
    inputs = found(replace(held(grid=one, halo=two)))
    first, second = inputs.slots[:2]
    assert forms.share(first, second, kind)
    a, b = inputs.state().args[:2]
    if lists:
        assert a[0] is b[0] and a[1] is not b[1]
    else:
        assert np.shares_memory(a, b)
        moved = b.__array_interface__["data"][0] - a.__array_interface__["data"][0]
        assert moved == {"same": 0, "ahead": 8, "behind": -8}[kind]


def test_texts_that_are_data_change_and_names_do_not():
    sentence = "one two three and four"
    for label, expected in (("grid.txt", None), ("a" * 40, None), (sentence, "text")):
        state = held(label=label)
        text = TEXT.replace(b"total = 0.0", b"total = len(label)")
        slots = {slot.name: slot for slot in found(state, text).slots}
        assert getattr(slots.get("label"), "kind", None) == expected
    changed = []
    for name in forms.TEXTS:
        inputs = found(held(label=sentence))
        slot = next(slot for slot in inputs.slots if slot.name == "label")
        assert forms.change_form(slot, name)
        changed.append(slot.get())
    assert sentence not in changed and "" in changed and sentence[::-1] in changed


@pytest.mark.parametrize(
    ("given", "expected"),
    [([[1.0], [2.0]], [[], []]), ([], None), ([1.0], None), ([(1.0,)], None)],
)
def test_rows_without_columns(given, expected):
    assert forms.LISTS["no columns"][1](given) == expected


def test_values_that_are_equal_in_narrow_types():
    old = [1.0, 2.0, 3.0, 4.0]
    new = values._wrapped(old, values.Draws(1), values.Range(old, None, None))
    assert new[::2] == old[::2] and all(
        b > a and b % 256 == a for a, b in zip(old[1::2], new[1::2], strict=True)
    )
    small = values._wrapped([1, 250, 3, 4], values.Draws(1), values.Range([1], 0, 255))
    assert small == [1, 250, 3, 4]


def test_whole_numbers_that_no_double_holds():
    old = [3, 5, 7, 9, 11, 13, 15, 17]
    new = values._beyond_doubles(old, values.Draws(1), values.Range(old, None, None))
    assert set(map(int.__sub__, new, old)) == {0, 2**53 + 1}
    # Not for floats: a sum of them in another order would differ by more than rounding.
    floats = [1.0, 2.0]
    seen = values.Range(floats, None, None)
    assert values._beyond_doubles(floats, values.Draws(1), seen) == floats
    assert "beyond doubles" in values.WILD


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        (np.float64(0.5), "0", np.float64(0.0)),
        (np.float64(0.5), "nan", np.float64("nan")),
        (np.float32(0.5), "-", np.float32(-0.5)),
        (np.int64(9), "300", np.int64(300)),
        (np.bool_(True), "not", np.bool_(False)),
        (np.int64(9), "float", 9.0),
    ],
)
def test_numpy_numbers_change_as_python_numbers_do(old, name, new):
    found_new = forms.NUMBERS[name][1](old)
    assert type(found_new) is type(new) and repr(found_new) == repr(new)


def test_a_number_that_its_numpy_type_does_not_hold():
    assert forms.NUMBERS["2**63"][1](np.int8(3)) is None
    assert forms.NUMBERS["nan"][1](np.int64(3)) is None


def test_exact_floats_and_other_counts_together():
    inputs = found(held(grid=np.float64(0.3)))
    scheme = Scheme(inputs)
    everything = list(plan(inputs, scheme, Perturbation("as they are")))
    wanted = [w for w in everything if w.kind == "exact" and w.slots and not w.then]
    assert {what.change for what in wanted} == {"0 12", "0 300", "1 12", "1 300"}
    assert apply(inputs, scheme, next(what for what in wanted if what.change == "0 12"))
    values_of = {slot.name: slot.get() for slot in inputs.slots}
    assert type(values_of["grid"]) is np.float64 and values_of["grid"] == 0.0
    assert values_of["n"] == values_of["cols"] == 12


def meeting(inputs, then):
    """All arrays of free slots, after the perturbation that ends with these values."""
    scheme = Scheme(inputs)
    everything = list(plan(inputs, scheme, Perturbation("as they are")))
    chosen = next(what for what in everything if what.then == then)
    assert apply(inputs, scheme, chosen)
    free = [slot for slot in inputs.slots if slot.free]
    arrays = [slot.get() for slot in free if slot.kind in ("array", "numbers")]
    return [np.array(a) for a in arrays], {s.get() for s in free if s.kind == "number"}


def test_few_values_and_numbers_that_they_meet():
    arrays, numbers = meeting(found(held()), "small")
    assert arrays and all(set(np.unique(a)) <= {0, 1, 2} for a in arrays)
    assert numbers == {2}


@pytest.mark.parametrize(("then", "first"), [("close", 1), ("close falling", -1)])
def test_floats_that_32_bits_do_not_tell_apart(then, first):
    arrays, _ = meeting(found(held(scale=0.5)), then)
    floats = [a for a in arrays if a.dtype == np.float64]
    assert floats and all(np.sign(a.flat[1] - a.flat[0]) == first for a in floats)
    assert all(len(np.unique(a.astype(np.float32))) == 1 for a in floats)


def test_halves_where_a_list_held_ints():
    arrays, _ = meeting(found(held(flat=[3, 4, 5, 6, 7, 8, 9])), "small halves")
    assert any(a.shape == (7,) and a.dtype == np.float64 and 0.5 in a % 1 for a in arrays)
