"""Large data that a held call cannot reach are not compared, and all others are."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gpuadvise.model import Crashed
from gpuadvise.verify.compare import Different, Same
from gpuadvise.verify.states_api import HeldCall, HeldStatement
from gpuadvise.verify.unreached import LARGE, reaches_for, unreached

FILE = "/program.py"
FUNCTION = "def smooth(cells):\n    return [c / 2 for c in cells]\n"


def state(namespace, text=FUNCTION, line=None):
    if line is not None:
        return HeldStatement("site", FILE, FILE, line, 1, "first", namespace)
    exec(text if text.startswith("stars") else FUNCTION, namespace)
    function = namespace["smooth"]
    return HeldCall("site", FILE, FILE, "smooth", 1, "first", function, ([1.0],), {}, namespace)


def hidden(namespace, text=FUNCTION, line=None):
    found = unreached(state(namespace, text, line), {FILE: namespace}, {FILE: text.encode()})
    return set(found.get(FILE, ()))


def stars():
    return [(i, 0.5) for i in range(LARGE)]


@pytest.mark.parametrize(
    "make", [stars, lambda: dict(stars()), lambda: set(stars()), lambda: np.zeros(LARGE)]
)
def test_data_that_nothing_mentions(make):
    assert hidden({"stars": make(), "few": [1, 2], "name": "x" * LARGE}) == {"stars"}


REACHED = {
    "a method's text": "    return mock.patch('program.stars')",
    "the module itself": "    import program\n    return program.stars",
    "main": "    import __main__\n    return __main__",
    "a frame": "    return sys._getframe(1)",
    "attributes by name": "    return setattr(program, name, 1)",
    "getter": "    return operator.attrgetter(name)(program)",
    "text to run": "    exec(name)",
    "text to evaluate": "    return eval(name)",
    "own namespace": "    return vars()[name]",
    "locals": "    return locals()",
    "of a function": "    return name.__globals__",
    "by import": "    return __import__(name)",
    "all objects": "    return gc.get_objects()",
    "a global": "    stars.append(1)",
    "another function": "    return smooth(stars)",
    "text": "    return name('stars')",
    "a tuple of text": "    return names(('a', 'stars'))",
    "an attribute": "    return program.stars",
    "inner function": "    def inner():\n        return stars\n    return inner",
    "a namespace": "    return globals()[name]",
    "another module's": "    return sys.modules[name]",
}


@pytest.mark.parametrize("how", REACHED)
def test_data_that_a_function_can_reach(how):
    """It need not be the held one: anything may be called, as a method or by a library."""
    text = f"{FUNCTION}\n\ndef other(name):\n{REACHED[how]}\n"
    assert hidden({"stars": stars()}, text) == set()


@pytest.mark.parametrize(
    "line",
    [
        "space = globals()",
        "space = vars()",
        "space = locals()",
        "import __main__ as me",
        "me = __import__('program')",
        "me = sys.modules[__name__]",
        "frame = inspect.currentframe()",
        "exec('def f(): pass')",
    ],
)
def test_namespaces_that_are_kept_at_module_level(line):
    """``space = globals()``: a function then has it as ``space[name]``."""
    assert hidden({"stars": stars()}, f"{FUNCTION}\n\n{line}\n") == set()


@pytest.mark.parametrize(
    "text",
    [
        "class Sky:\n    def count(self):\n        return len(stars)\n",
        "class Sky:\n    @property\n    def best(self):\n        return stars[0]\n",
        "def __getattr__(name):\n    return stars\n",
        "key = lambda i: stars[i]\n",
        "def wrap(f):\n    def inner(*a):\n        return f(stars)\n    return inner\n",
        "@numba.njit\ndef helper(i):\n    return stars[i]\n",
        "class Row(dict):\n    def __missing__(self, key):\n        stars.clear()\n",
    ],
)
def test_code_that_is_called_by_other_ways(text):
    """Methods, properties, callbacks, decorators, compiled helpers, hooks: all functions count."""
    assert hidden({"stars": stars()}, f"{FUNCTION}\n\n{text}") == set()


def test_functions_of_other_files_count():
    held = state({"stars": stars()})
    texts = {FILE: FUNCTION.encode(), "/other.py": b"def f(m):\n    return m.stars\n"}
    assert unreached(held, {FILE: held.namespace}, texts) == {FILE: frozenset()}


def test_a_module_whose_text_is_not_known(monkeypatch, tmp_path):
    held = replace(state({"stars": stars()}), module_file=str(tmp_path / "program.py"))
    texts = {FILE: FUNCTION.encode()}
    assert unreached(held, {FILE: held.namespace}, texts) == {FILE: {"stars"}}
    other = ModuleType("other")
    other.__file__ = str(tmp_path / "other.py")
    monkeypatch.setitem(sys.modules, "other", other)
    assert unreached(held, {FILE: held.namespace}, texts) == {}


def test_a_default_of_a_function_refers_to_it():
    text = "stars = [(i, 0.5) for i in range(200)]\ndef smooth(cells, x=stars):\n    return x\n"
    space = {}
    assert hidden(space, text) == set() and len(space["stars"]) == 200


def test_weak_references_count():
    space = {"stars": set(stars())}
    kept = weakref.ref(space["stars"])
    assert hidden(space) == set() and kept() is space["stars"]


def test_local_names_are_others():
    assert hidden({"stars": stars()}, f"{FUNCTION}\n\ndef f(stars):\n    return stars\n") == {
        "stars"
    }


def test_data_that_something_else_refers_to():
    """``partial(stars.append, 1)``, an iterator that goes on, another name, an argument."""
    data = stars()
    assert hidden({"stars": data}) == set()
    assert hidden({"stars": stars()}) == {"stars"}
    data = stars()
    space = {"stars": data, "keep": data.append}
    del data
    assert hidden(space) == set()


LOOP = "def f(x):\n    return x\n\nfor i in range(3):\n    total += f(i)\n"


def test_a_held_statement():
    assert hidden({"stars": stars(), "total": 0}, LOOP, 4) == {"stars"}
    assert hidden({"stars": stars(), "total": 0}, LOOP.replace("f(i)", "stars[i]"), 4) == set()
    after = LOOP + "print(stars)\n"
    assert hidden({"stars": stars(), "total": 0}, after, 4) == {"stars"}


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ("c in stars", "crashed", "stars"),
        ("c in vars()", "crashed", "a namespace"),
        ("c in cells.stars", "unavailable", "stars"),
        ("c in cells", None, None),
    ],
)
def test_a_rewrite_that_reaches_for_more(body, status, what):
    held, originals = state({}), {FILE: FUNCTION.encode()}
    changed = {FILE: FUNCTION.replace("c in cells", body).encode()}
    found = reaches_for(held, originals, changed, {FILE: frozenset({"stars"})})
    assert found == (status and (status, f"the rewrite reaches {what}, the original does not"))
    assert reaches_for(held, originals, changed, {FILE: frozenset()}) is None
    assert reaches_for(held, originals, {}, {FILE: frozenset({"stars"})}) is None


def test_a_statement_that_reaches_for_more():
    held, originals = state({}, LOOP, 4), {FILE: LOOP.encode()}
    changed = {FILE: LOOP.replace("f(i)", "stars[i]").encode()}
    found = reaches_for(held, originals, changed, {FILE: frozenset({"stars"})})
    assert found is not None and found[0] == "crashed"


PROGRAM = """
stars = [(i, 0.5) for i in range(5000)]
seen = []

def count(n):
    total = 0
    for i in range(n):
        total += i % 7
    seen.append(n)
    return total

def arguments():
    return (20_000,), {}
"""
BODY = "    for i in range(n):\n        total += i % 7\n"
FAST = "    total = sum(i % 7 for i in range(n))\n"


def test_in_a_trial(bench):
    held = bench.hold(PROGRAM, "call", "count")
    good = bench.trial(held, BODY, FAST)
    assert isinstance(good.comparison, Same) and good.warm
    # The 5000 tuples are no part of it.
    assert int(good.comparison.what.split()[0]) < 1000
    forgets = bench.trial(held, f"{BODY}    seen.append(n)\n", FAST)
    assert isinstance(forgets.comparison, Different) and "seen" in forgets.comparison.what
    more = bench.trial(held, BODY, f"{FAST}    total += len(stars[:0])\n")
    assert more.failure == Crashed("the rewrite reaches stars, the original does not")


def test_where_the_original_reaches_them(bench):
    held = bench.hold(PROGRAM.replace("range(n)", "range(len(stars))"), "call", "count")
    worse = bench.trial(
        held,
        "    seen.append(n)\n",
        "    seen.append(n)\n    if n > 6:\n        stars[3] = (3, 0.25)\n",
    )
    assert isinstance(worse.comparison, Different) and "stars" in worse.comparison.what


def test_the_time_to_look_at_data_counts_for_neither(monkeypatch):
    """What a state takes to be written down is allowed to the rewrite as well."""
    from gpuadvise.deadline import Deadline
    from gpuadvise.verify.one_trial import MARGIN, SLOWDOWN_LIMIT, OneTrial
    from gpuadvise.verify.replies import Reference, Run

    limits = []

    def attempt(side, changed, limit, **how):
        limits.append(limit)
        return Run({"status": "timeout"}, None)

    reference = Reference(None, [1.0], None, [])
    reference.around = 30.0
    held = SimpleNamespace(attempt=attempt, trial_name=str)
    OneTrial(held, reference, {}, Deadline(1000.0), 2)._attempt(warm=False, want_capture=True)
    assert limits == [SLOWDOWN_LIMIT * 1.0 + MARGIN + 30.0]
