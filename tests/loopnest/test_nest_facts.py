"""Live-out names, how arrays were made, what scalars equal, ranges, proofs, groups."""

import ast

import numpy as np
import pytest
from nests import good, setup

from gpuadvise.loopnest.affine import affine, constant, to_expr, variable, wrapped
from gpuadvise.loopnest.dependence import Carried, Reduction, analyse
from gpuadvise.loopnest.facts import Observed, Proved, Unknown, index_in_bounds, prove
from gpuadvise.loopnest.fold import fold, substitute
from gpuadvise.loopnest.ir import (
    PY_FLOAT,
    PY_INT,
    Assign,
    Const,
    Dim,
    For,
    Interval,
    Kind,
    Load,
    Nest,
    Scalar,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from gpuadvise.loopnest.lower import lower
from gpuadvise.loopnest.printing import text as spelled
from gpuadvise.loopnest.ranges import Observed as Basis
from gpuadvise.loopnest.ranges import interval
from gpuadvise.loopnest.scope import literal
from gpuadvise.loopnest.typing_rules import binary_type, call_type, compare_type, join
from gpuadvise.model import SiteObservation, Source

X = np.arange(1.0, 7.0)
G = np.arange(12).reshape(3, 4) % 2
F64 = Scalar(Kind.FLOAT, "float64")
I64 = Scalar(Kind.INT, "int64")
U8 = Scalar(Kind.INT, "uint8")
LOOP = "    for i in range(6):\n        t = a[i]\n        s = t\n"


@pytest.mark.parametrize(
    ("after", "live"),
    [
        ("", set()),
        ("    return s\n", {"s"}),
        ("    s = 0\n    return s\n", set()),
        ("    if a[0] > 1:\n        s = 0\n    return s\n", {"s"}),
        ("    for i in range(3):\n        print(i)\n", set()),
        ("    for j in range(3):\n        print(i)\n", {"i"}),
        ("    s += 1\n", {"s"}),
        ("    g = lambda: t\n", {"t"}),
        ("    print(locals())\n", {"i", "s", "t"}),
        (
            "    try:\n        s = int('x')\n    except ValueError:\n        pass\n    print(s)\n",
            {"s"},
        ),
        ("    a[i] = 0\n", {"i"}),
        ("    del t\n", {"t"}),
        ("    [s for s in a]\n", set()),
        ("    [s + t for t in a]\n", {"s"}),
        ("    [a for a in s]\n", {"s"}),
        ("    while a[0] > i:\n        i = 0\n", {"i"}),
    ],
)
def test_live_out(after: str, live: set[str]) -> None:
    assert good(f"def f(a):\n{LOOP}{after}", X).live_out == live


def live_inside(text: str) -> frozenset[str]:
    """Live-out names of the innermost loop of the first outer loop."""
    made = setup(text, X)
    inner = [n for n in ast.walk(made.loop) if isinstance(n, ast.For)][-1]
    observation = SiteObservation(1, 1, {**made.observation.values})
    nest = lower(inner, source=made.source, function=made.function, observation=observation)
    assert isinstance(nest, Nest), nest
    return nest.live_out


def test_live_around_an_outer_loop() -> None:
    head = "def f(a):\n    s = t = 0.0\n    for k in range(3):\n"
    inner = "        for i in range(6):\n            t = a[i]\n            s = t\n"
    assert live_inside(head + inner) == frozenset()
    # the next iteration reads t before it is assigned
    assert live_inside(head + "        a[0] = t\n" + inner) == {"t"}
    assert live_inside(head + "        t = 1.0\n        a[0] = t\n" + inner) == frozenset()
    assert live_inside(head + "        if k:\n            t = 1.0\n        a[0] = t\n" + inner) == {
        "t"
    }


def test_live_in_handlers_around() -> None:
    text = """
def f(a):
    t = 0.0
    try:
        for k in range(2):
            for i in range(6):
                t = a[i]
    except IndexError:
        print(t)
"""
    source = Source(
        setup("def f(a):\n    for i in range(3):\n        a[i] = 0\n", X).source.path, text.encode()
    )
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    loop = [n for n in ast.walk(function) if isinstance(n, ast.For)][-1]
    values = setup(
        "def f(a):\n    t = 0.0\n    for i in range(3):\n        t = a[i]\n", X
    ).observation
    nest = lower(loop, source=source, function=function, observation=values)
    assert isinstance(nest, Nest), nest
    assert nest.live_out == {"t"}


def test_module_level_names_read_by_functions_are_live() -> None:
    text = "def show():\n    print(t)\nfor i in range(6):\n    t = a[i]\n    s = t\n"
    values = setup("def f(a):\n    for i in range(3):\n        t = a[i]\n", X).observation
    source = Source(
        setup("def f(a):\n    for i in a:\n        pass\n", X).source.path, text.encode()
    )
    loop = source.tree.body[1]
    assert isinstance(loop, ast.For)
    nest = lower(loop, source=source, function=None, observation=values)
    assert isinstance(nest, Nest), nest
    assert nest.live_out == {"t"}


def test_allocation_and_extents() -> None:
    nest = good(
        """
import numpy as np
def f(g):
    n, m = g.shape
    new = np.zeros((n, m + 2), dtype=float)
    like = np.ones_like(g)
    k = len(g)
    for i in range(n):
        for j in range(m):
            new[i, j + 1] = g[i, j] + like[i, j] + k
""",
        G,
    )
    new, like = nest.arrays["new"], nest.arrays["like"]
    assert new.allocation is not None and new.allocation.function == "numpy.zeros"
    assert new.allocation.fill == 0
    assert [spelled(e) for e in new.extents if e is not None] == ["n", "m + 2"]
    assert like.extents == (Dim(PY_INT, 0, "g", 0), Dim(PY_INT, 0, "g", 1))
    assert nest.scalars["n"].equals == (("g", 0),)
    assert nest.scalars["k"].equals == (("g", 0),)
    assert ("new", 0) in nest.scalars["n"].seen_equal
    assert analyse(nest).distinct == ()
    store = next(s for s in statements((nest.root,)) if isinstance(s, Store))
    for axis, index in enumerate(store.index):
        assert index_in_bounds(index, "new", axis, nest, store) == Proved()


@pytest.mark.parametrize(
    "between",
    [
        "    print(new)\n",
        "    other = new\n",
        "    new = new\n",
        "    if n > 1:\n        new = g\n",
        "    new.fill(2)\n",
    ],
)
def test_no_allocation_when_touched(between: str) -> None:
    nest = good(
        f"""
import numpy as np
def f(g):
    n, m = g.shape
    new = np.zeros((n, m), dtype=int)
{between}
    for i in range(2):
        new[i, 0] = g[i, 0]
""",
        G,
    )
    assert nest.arrays["new"].allocation is None


@pytest.mark.parametrize(
    "between",
    ["    n = n - 1\n", "    g = g[1:]\n", "    print(n := 2)\n"],
)
def test_no_equality_when_rebound(between: str) -> None:
    nest = good(
        f"def f(g):\n    n = len(g)\n{between}    for i in range(n):\n        g[i, 0] = 0\n", G
    )
    assert nest.scalars["n"].equals == ()


def test_list_that_grows_has_no_proved_length() -> None:
    text = "def f(g):\n    n = len(g)\n{}    for i in range(n):\n        g[i] = 0\n"
    assert good(text.format("    g[0] = 3\n"), [1, 2]).scalars["n"].equals == (("g", 0),)
    assert good(text.format("    g.append(3)\n"), [1, 2]).scalars["n"].equals == ()


def test_literals() -> None:
    text = "def f(a):\n    s = 2\n{}    for i in range(3):\n        a[i] = s\n"
    assert good(text.format(""), X).scalars["s"].literal == 2
    assert good(text.format("    s += 1\n"), X).scalars["s"].literal is None


def test_global_constants() -> None:
    text = "K = 3\n{}def f(a):\n    for i in range(K):\n        a[i] = K\n"
    nest = good(text.format(""), X)
    assert isinstance(nest.root, For)
    assert isinstance(nest.root.stop, Const) and nest.root.stop.name == "K"
    changed = good(text.format("def g():\n    global K\n    K = 4\n"), X)
    assert isinstance(changed.root, For) and isinstance(changed.root.stop, Var)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8.0 / 3.0", 8.0 / 3.0),
        ("7 // 2", 3),
        ("2**31", 2**31),
        ("0.05**2", 0.05**2),
        ("-(3 % 2)", -1),
        ("1 / 0", None),
        ("(-8.0) ** 0.5", None),
        ("10**10**6", None),
        ("1 << 3", None),
    ],
)
def test_arithmetic_of_literals(text: str, value: float | None) -> None:
    found = literal(ast.parse(text, mode="eval").body)
    assert (type(found), found) == (type(value), value)


def test_globals_that_are_unpacked() -> None:
    text = "LOW, HIGH = 1, 2 * 3\ndef f(a):\n    for i in range(LOW, HIGH):\n        a[i] = 0\n"
    nest = good(text, X)
    assert isinstance(nest.root, For) and isinstance(nest.root.stop, Const)
    assert nest.root.stop.value == 6
    shifted = good(text.replace("LOW, HIGH = 1, 2 * 3", "A, LOW, HIGH = *(), 1, *(6, 7)"), X)
    assert isinstance(shifted.root, For) and isinstance(shifted.root.start, Var)


def test_types() -> None:
    assert binary_type("/", I64, I64) == F64
    assert binary_type("+", U8, PY_INT) == U8
    assert binary_type("+", U8, PY_FLOAT) == F64
    assert binary_type("-", Scalar(Kind.BOOL, "bool"), Scalar(Kind.BOOL, "bool")) is None
    assert compare_type("<", PY_INT, F64) == Scalar(Kind.BOOL, "bool")
    assert call_type("math.sqrt", (F64,)) == PY_FLOAT
    assert call_type("round", (F64,)) == PY_INT
    assert join(PY_FLOAT, F64) == F64 and join(PY_INT, PY_FLOAT) == PY_FLOAT
    assert join(PY_INT, U8) is None and join(Scalar(Kind.BOOL), PY_INT) is None


def test_flavours_are_recorded() -> None:
    nest = good("def f(a):\n    s = 0\n    for v in a:\n        s += v\n    return s\n", X)
    assert nest.privates["s"] == F64
    assert nest.joined["s"] == (F64, PY_INT)
    assert nest.scalars["s"].literal == 0


def value_of(nest: Nest, name: str) -> Assign:
    return next(s for s in statements((nest.root,)) if isinstance(s, Assign) and s.name == name)


LIFE = """
def f(g, out):
    n, m = g.shape
    for i in range(n):
        for j in range(m):
            c = 0
            for a in (-1, 0, 1):
                for b in (-1, 0, 1):
                    if a != 0 or b != 0:
                        c += g[(i + a) % n, (j + b) % m]
            out[i, j] = c
"""


def test_ranges_of_life() -> None:
    nest = good(LIFE, G, G * 0)
    store = next(s for s in statements((nest.root,)) if isinstance(s, Store))
    assert interval(store.value, nest) == Interval(0, 9)
    assert interval(store.index[0], nest) == Interval(0, 2)
    blind = interval(store.value, nest, observed=Basis.NOTHING)
    assert blind == Interval(-(2**63), 2**63 - 1)
    load = next(
        e
        for s in statements((nest.root,))
        for top in expressions(s)
        for e in walk(top)
        if isinstance(e, Load)
    )
    place = value_of(nest, "c")
    update = [s for s in statements((nest.root,)) if isinstance(s, Assign) and s.name == "c"][1]
    assert place is not update
    for axis, index in enumerate(load.index):
        assert wrapped(index) is not None
        assert index_in_bounds(index, "g", axis, nest, update) == Proved()


def test_ranges_of_a_growing_int() -> None:
    nest = good("def f(a):\n    k = 1\n    for v in a:\n        k = k * 3\n    return k\n", X)
    assert interval(Var(PY_INT, 0, "k"), nest).high is None


def test_index_proofs() -> None:
    nest = good(
        "def f(a, b, n):\n    for i in range(1, n):\n        b[i] = a[i - 1] + a[n - i]\n",
        X,
        X * 0,
        6,
    )
    store = next(s for s in statements((nest.root,)) if isinstance(s, Store))
    i = store.index[0]
    found = index_in_bounds(i, "b", 0, nest, store)
    assert isinstance(found, Observed)
    assert found.python == "n <= b.shape[0]"
    assert prove(constant(1), i, nest, store) == Proved()
    assert prove(i, constant(3), nest, store) == Unknown()
    assert prove(variable("i"), variable("n") - 1, nest) == Proved()


def test_relied_on_conditions() -> None:
    nest = good("def f(a, b):\n    for x, y in zip(a, b):\n        s = x * y\n", X, X + 1)
    assert [spelled(e) for e in nest.relies_on] == ["len(a) == len(b)"]


def test_carried_sentence_names_lines() -> None:
    nest = good("def f(u):\n    for i in range(1, 6):\n        u[i] = u[i - 1] * 2.0\n", X)
    verdict = analyse(nest).verdict(nest.root)
    assert isinstance(verdict, Carried)
    assert verdict.reason == (
        "iteration i reads u[i - 1] (line 3), which an earlier iteration wrote (line 3)"
    )
    assert verdict.distance == 1
    back = good("def f(u):\n    for i in range(5):\n        u[i] = u[i + 1] * 2.0\n", X)
    reason = analyse(back).why_not(back.root)
    assert reason is not None and "later iteration overwrites" in reason
    down = good("def f(u):\n    for i in range(4, -1, -1):\n        u[i] = u[i + 1] * 2.0\n", X)
    reason = analyse(down).why_not(down.root)
    assert reason is not None and "earlier iteration wrote" in reason


def test_memory_seen_shared_is_carried() -> None:
    text = "def f(a):\n    b = a[1:]\n    for i in range(5):\n        b[i] = a[i] * 2.0\n"
    nest = good(text, X)
    verdict = analyse(nest).verdict(nest.root)
    assert isinstance(verdict, Carried) and "shared memory" in verdict.reason


def test_groups_for_distribution() -> None:
    nest = good(
        """
def f(a, b, c, d):
    for i in range(1, 5):
        a[i] = b[i] * 2.0
        d[i] = d[i - 1] + a[i]
        c[i] = a[i + 1] + a[i - 1]
""",
        *[X + k for k in range(4)],
    )
    assert isinstance(nest.root, For)
    groups = analyse(nest).groups(nest.root)
    # c reads a[i + 1] before it is overwritten and a[i - 1] after: bound to the first statement
    assert [[s.line for s in g] for g in groups] == [[4, 6], [5]]


def test_reduction_operators() -> None:
    nest = good(
        """
def f(a):
    s = 0.0
    p = 1.0
    lo = a[0]
    for v in a:
        s -= v
        p = v * p
        if v < lo:
            lo = v
    return s, p, lo
""",
        X,
    )
    verdict = analyse(nest).verdict(nest.root)
    assert isinstance(verdict, Reduction)
    assert {(v.name, v.operator) for v in verdict.variables} == {
        ("s", "+"),
        ("p", "*"),
        ("lo", "min"),
    }
    spoilt = good(
        "def f(a):\n    s = 0.0\n    for i in range(6):\n        s += a[i]\n        a[i] = s\n", X
    )
    assert isinstance(analyse(spoilt).verdict(spoilt.root), Carried)


def test_affine_round_trip() -> None:
    form = variable("i").scale(2) - variable("n") + 3
    assert affine(to_expr(form, 1)) == form
    assert str(form) == "2*i - n + 3"
    assert affine(Var(U8, 0, "k")) == variable("k")
    assert affine(Const(PY_FLOAT, 0, 1.0)) is None


def test_fold_keeps_floats() -> None:
    nest = good("def f(a):\n    for i in range(3):\n        a[i] = a[i] + 0 + 0.0 * i\n", X)
    store = next(s for s in statements((nest.root,)) if isinstance(s, Store))
    assert fold(store.value) == store.value  # -0.0 + 0 is 0.0: nothing may go
    assert substitute(Var(PY_INT, 0, "i"), {"i": Const(PY_INT, 0, 2)}) == Const(PY_INT, 0, 2)
