from __future__ import annotations

import ast
import dataclasses
import warnings

import numpy as np
import pytest
from harness import Run, assert_same, region_for, run

from gpuadvise.api import Match, Refusal, Region
from gpuadvise.edits import apply_edits
from gpuadvise.rules.np221_stencil_buffers import stencil_buffers

HEAD = "import numpy as np\n\n\n"
RNG = np.random.default_rng(5)
GRID = RNG.random((36, 31))
LINE = RNG.random(1200)

PROGRAMS = {
    "five_points": (
        "def go(u, k, n):\n    for _ in range(n):\n"
        "        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (u[2:, 1:-1] + u[:-2, 1:-1]\n"
        "            + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])\n"
        "        u[0] = u[1]  # no flux\n        u[:, -1] = 0\n    return u\n",
        (GRID, 0.1, 5),
    ),
    "textbook_convection": (
        "def go(u, c, n):\n    for it in range(n):\n        un = u.copy()\n"
        "        u[1:] = un[1:] - c * (un[1:] - un[:-1])\n        u[0] = 1\n    return u\n",
        (LINE, 0.4, 7),
    ),
    "functions": (
        "def lap(a):\n    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]"
        " - 4 * a[1:-1, 1:-1]\n\n\n"
        "def step(u, k=0.1):\n    '''One step.'''\n    new = np.copy(u)\n"
        "    new[1:-1, 1:-1] += k * lap(u)\n    return new\n\n\n"
        "def go(u, n):\n    t = 0.0\n    for i in range(n):\n        u = step(u, k=0.2)\n"
        "        t += 0.2\n        if i % 2 == 0:\n            print(f'{t:.3f} {u.max():.6f}')\n"
        "    return u, t\n",
        (GRID, 6),
    ),
    "three_levels": (
        "def go(u, c, n):\n    old = u\n    seen = []\n    for i in range(n):\n"
        "        lap = np.zeros_like(u)\n        lap[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]\n"
        "        new = 2 * u - old + c**2 * lap\n        old = u\n        u = new\n"
        "        seen.append(u.sum())\n    return u, old, lap, seen\n",
        (LINE, 0.3, 9),
    ),
    "tuple_swap": (
        "def go(u, v, n):\n    for i in range(n):\n"
        "        new = u + 0.1 * (v - u)\n        new[0] = 0\n        u, v = new, u\n"
        "    return u, v, new\n",
        (LINE, LINE[::-1].copy(), 8),
    ),
    "kept_frames": (
        "def go(u, k, n):\n    frames = [u]\n    for i in range(n):\n"
        "        u = u + k * (u - u**2)\n        frames.append(u)\n    return frames\n",
        (LINE, 0.1, 6),
    ),
    "kept_now_and_then": (
        "def go(u, k, n):\n    best = u\n    for i in range(n):\n"
        "        u = u + k * (u - u**2)\n        if i % 3 == 0:\n            best = u\n"
        "    return u, best\n",
        (LINE, 0.1, 11),
    ),
    "slice_kept": (
        "def go(u, k, n):\n    rows = []\n    for i in range(n):\n"
        "        w = u + k * (u - u**2)\n        part = w[2:5]\n        rows.append(part)\n"
        "        u = w\n    return rows, u\n",
        (LINE, 0.1, 6),
    ),
    "two_fields": (
        "def react(u, v, f, k):\n    uvv = u * v * v\n    du = 0.1 * u - uvv + f * (1 - u)\n"
        "    dv = uvv - (f + k) * v\n    return u + du, v + dv\n\n\n"
        "def go(u, v, n):\n    for i in range(n):\n        u, v = react(u, v, 0.03, 0.06)\n"
        "    return u, v\n",
        (GRID, GRID[::-1].copy(), 6),
    ),
    "while_and_norm": (
        "def go(p, b, tol):\n    change, rounds = 1.0, 0\n    while change > tol:\n"
        "        pn = p.copy()\n"
        "        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1]"
        " + pn[:-2, 1:-1] - b[1:-1, 1:-1])\n"
        "        change = np.sum(np.abs(p - pn)) / np.sum(np.abs(pn))\n        rounds += 1\n"
        "        if rounds > 20:\n            break\n    return p, rounds, change\n",
        (GRID, GRID.T.copy().T.copy(), 1e-3),
    ),
    "nested_loops": (
        "def go(p, b, n):\n    for outer in range(n):\n        b[1:-1] = b[1:-1] + 0.1 * p[1:-1]\n"
        "        for q in range(4):\n            pn = p.copy()\n"
        "            p[1:-1] = 0.5 * (pn[2:] + pn[:-2]) - b[1:-1]\n            p[0] = p[1]\n"
        "    return p, b\n",
        (LINE, LINE / 3, 4),
    ),
    "float32": (
        "def go(u, n):\n    for _ in range(n):\n"
        "        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])\n"
        "        v = np.sqrt(np.abs(u) + 1.0) * np.exp(-u)\n    return u, v\n",
        (LINE.astype(np.float32), 5),
    ),
    "three_dimensions": (
        "def go(u, k, n):\n    for _ in range(n):\n        un = u.copy()\n"
        "        c = un[1:-1, 1:-1, 1:-1]\n"
        "        u[1:-1, 1:-1, 1:-1] = c + k * (un[2:, 1:-1, 1:-1] + un[:-2, 1:-1, 1:-1]\n"
        "            + un[1:-1, 2:, 1:-1] + un[1:-1, 1:-1, 2:] - 4 * c) / 3.0\n    return u\n",
        (RNG.random((11, 12, 13)), 0.1, 4),
    ),
    "staggered": (
        "def go(h, u, n):\n    for _ in range(n):\n        u[1:-1] -= 0.1 * (h[1:] - h[:-1])\n"
        "        h -= 0.2 * (u[1:] - u[:-1])\n    return h, u\n",
        (LINE, RNG.random(1201), 6),
    ),
    "function_in_expression": (
        "K = 0.25\n\n\ndef lap(a, scale):\n    inner = a[2:] - 2 * a[1:-1] + a[:-2]\n"
        "    return inner / scale\n\n\n"
        "def rate(a, dx):\n    lower = 0.5 * a[1:-1]\n    return K * lap(a, dx**2) - lower\n\n\n"
        "def go(u, dx, n):\n    for _ in range(n):\n        inner = 3\n"
        "        u[1:-1] = u[1:-1] + 0.1 * rate(u, dx) * inner\n    return u\n",
        (LINE, 0.7, 5),
    ),
    "rolls": (
        "def go(u, k, n):\n    for _ in range(n):\n"
        "        lap = (np.roll(u, 1, 0) + np.roll(u, -1, axis=0) + np.roll(u, 2, axis=1)"
        " + np.roll(np.roll(u, -1, 1), 1, 0) - 4 * u)\n"
        "        u = u + k * lap\n    return u, lap\n",
        (GRID, 0.1, 5),
    ),
    "rolls_on_a_line": (
        "def go(u, k, n):\n    for _ in range(n):\n"
        "        u += k * (np.roll(u, 1) - 2 * u + np.roll(u, shift=-3))\n"
        "        v = np.roll(u[1:-1], 1, 0)\n        w = u * u\n    return u, v, w\n",
        (LINE, 0.1, 5),
    ),
    "two_rolled": (
        "def go(u, v, n):\n    seen = []\n    for _ in range(n):\n"
        "        w = (np.roll(u, 1, 0) - np.roll(u, -1, 0)) * ("
        "np.roll(v, 1, 1) - np.roll(v, -1, 1))\n"
        "        seen.append(w)\n        u, v = v, 0.5 * (w + u)\n    return u, v, seen\n",
        (GRID, GRID[::-1].copy(), 5),
    ),
    "complex_wave": (
        "def half(psi, v, dt):\n    if psi.ndim != 1:\n        raise ValueError('one dimension')\n"
        "    return np.exp(-1j * v * dt) * psi\n\n\n"
        "def go(psi, v, dt, n):\n    for _ in range(n):\n        psi = half(psi, v, dt)\n"
        "        lap = psi[2:] - 2 * psi[1:-1] + psi[:-2]\n"
        "        psi[1:-1] += dt * (lap * psi[1:-1]) / 3\n        psi[:-1] = np.exp(-psi[1:])\n"
        "        rho = np.abs(psi) ** 2\n    return psi, rho\n",
        (LINE * (1 + 2j), LINE, 0.01, 4),
    ),
    "comparison": (
        "def go(u, n):\n    for _ in range(n):\n"
        "        high = (u[1:-1] > u[2:]) & (u[1:-1] > u[:-2])\n"
        "        u[1:-1] = u[1:-1] - 0.1 * high\n    return u, high\n",
        (LINE, 5),
    ),
    "tabs_and_scalars": (
        "def go(u, dx, n):\n\tdt = 0.2 * dx ** 2\n\tfor _ in range(n):\n"
        "\t\tu[1:-1] += dt / dx**2 * (u[2:] - 2*u[1:-1] + u[:-2])\n\treturn u\n",
        (LINE, np.float64(0.1), 5),
    ),
}
METHODS = """\
import numpy as np


class Plate:
    def __init__(self):
        self.t = np.random.default_rng(1).random((35, 40))
        self.k = 0.1

    @staticmethod
    def lap(a):
        return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1]

    def step(self):
        new = self.t.copy()
        new[1:-1, 1:-1] += self.k * self.lap(self.t)
        for edge in (0, -1):
            new[edge] = 0.0
        self.t = new


plate = Plate()
for i in range(6):
    plate.step()
print(plate.t.sum())
"""


def region(text: str, args: tuple[object, ...], function: str | None = "go") -> Region:
    made = region_for(text, function, args)
    defs = {n.name: n for n in ast.walk(made.source.tree) if isinstance(n, ast.FunctionDef)}
    values = made.observation.values if made.observation else {}
    methods = {
        name: defs[name.rpartition(".")[2]]
        for name, info in values.items()
        if info.kind == "function" and name.rpartition(".")[2] in defs
    }
    return dataclasses.replace(made, functions={**made.functions, **methods})


def rewritten(text: str, args: tuple[object, ...], function: str | None = "go") -> str:
    made = region(text, args, function)
    answer = stencil_buffers(made)
    assert isinstance(answer, Match) and answer.safe
    return apply_edits(made.source, answer.edits).decode()


def only_fast(text: str) -> str:
    """The program without its original loop: it fails unless the guard holds."""
    tree = ast.parse(text)
    guards = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "ndarray" in ast.dump(n.test)]
    (guard,) = guards
    guard.orelse = [ast.parse("raise AssertionError('the guard failed')").body[0]]
    return ast.unparse(ast.fix_missing_locations(tree))


def quietly(text: str, args: tuple[object, ...]) -> Run:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return run(text, "go", args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_from_the_buffers(name: str) -> None:
    body, args = PROGRAMS[name]
    new = rewritten(HEAD + body, args)
    assert "np.empty_like(" in new
    assert_same(run(HEAD + body, "go", args), run(only_fast(new), "go", args))


def variants(array: np.ndarray) -> list[object]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex arrays lose their imaginary part
        return [
            array.astype(np.float32),
            (array * 10).astype(np.int64),
            array > 0.5,
            array * (1 + 2j),
            np.asfortranarray(array),
            np.repeat(array, 2, axis=0)[::2],
            np.ma.masked_greater(array, 0.7),
            array[:0].copy(),
            array[:1].copy(),
            array[:2].copy(),
            array[..., :1].copy(),
            array[None].copy(),
            np.where(array > 0.9, np.nan, np.where(array > 0.8, np.inf, -array)),
            array.astype(object),
            array.astype(">f8"),
            array.tolist(),
            0.5,
        ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_with_what_was_not_observed(name: str) -> None:
    body, args = PROGRAMS[name]
    new = rewritten(HEAD + body, args)
    for place, arg in enumerate(args):
        others = variants(arg) if isinstance(arg, np.ndarray) else [2, np.float32(0.3), "x", 1 + 1j]
        for other in others:
            changed = (*args[:place], other, *args[place + 1 :])
            before, after = quietly(HEAD + body, changed), quietly(new, changed)
            if before.error is not None:
                assert after.error is not None and after.error[0] is before.error[0]
                continue
            assert_same(before, after, compare_warnings=False)


def test_one_array_under_two_names() -> None:
    for name in ("tuple_swap", "two_fields", "while_and_norm", "nested_loops"):
        body, args = PROGRAMS[name]
        new = rewritten(HEAD + body, args)
        calls = f"\n\ndef twice(a, *rest):\n    return go(a, a{', *rest' if args[2:] else ''})\n"
        given = (args[0], *args[2:])
        assert_same(run(HEAD + body + calls, "twice", given), run(new + calls, "twice", given))


def test_no_trips_leave_the_names_unbound() -> None:
    body, args = PROGRAMS["three_levels"]
    new = rewritten(HEAD + body, args)
    assert_same(run(HEAD + body, "go", (*args[:2], 0)), run(new, "go", (*args[:2], 0)))


def test_methods_are_written_out_for_this_class_only() -> None:
    new = rewritten(METHODS, (), None)
    assert "type(plate) is Plate" in new and "# plate.step()" in new
    made = run(only_fast(new), None)
    assert made.printed == run(METHODS, None).printed and made.error is None
    child = (
        "class Other(Plate):\n    def step(self):\n        self.t = self.t * 2\n\n\nplate = Other()"
    )
    before = run(METHODS.replace("plate = Plate()", child), None)
    assert run(new.replace("plate = Plate()", child), None).printed == before.printed


@pytest.mark.parametrize(
    ("name", "guard", "other"),
    [
        ("five_points", "u.dtype == np.float64", (GRID * 10).astype(np.int64)),
        ("five_points", "type(u) is np.ndarray", np.ma.masked_greater(GRID, 0.7)),
    ],
)
def test_the_guards_are_needed(name: str, guard: str, other: object) -> None:
    """Without the guard, the input it is there for gives another result."""
    body, args = PROGRAMS[name]
    new = rewritten(HEAD + body, args)
    assert guard in new
    given = (other, *args[1:])
    before = quietly(HEAD + body, given)
    after = quietly(new.replace(guard, "True"), given)
    with pytest.raises(AssertionError):
        assert_same(before, after, compare_warnings=False)


def buffers(body: str, args: tuple[object, ...], function: str | None = "go") -> list[str]:
    """Names of the arrays that results go into, temporaries left out."""
    made = region(HEAD + body, args, function)
    answer = stencil_buffers(made)
    if not isinstance(answer, Match):
        return []
    new = apply_edits(made.source, answer.edits).decode()
    lines = [line.split(" = ")[0].strip() for line in new.splitlines() if "np.empty_like(" in line]
    return [name for name in lines if not name.lstrip("_").startswith(("work", "mask"))]


STEP = "        w = u + k * (u - u**2)\n"
ESCAPES = {
    "appended": STEP + "        keep.append(w)\n",
    "list_of": STEP + "        keep.append([w, i])\n",
    "view": STEP + "        keep.append(w[1:])\n",
    "transposed": STEP + "        x = w.T\n        keep.append(x)\n",
    "in_a_dict": STEP + "        d[i] = w\n",
    "unknown_call": STEP + "        show(w)\n",
    "list_element": STEP + "        keep[0] = w\n",
    "extended": STEP + "        keep += w\n",
    "yielded": STEP + "        yield w\n",
    "conditional": STEP + "        x = w if i else u\n        keep.append(x)\n",
    "walrus": STEP + "        print((x := w).sum())\n        keep.append(x)\n",
    "loop_over": STEP + "        for row in w:\n            keep.append(row)\n            break\n",
    "attribute": STEP + "        show.last = w\n",
    "closure": STEP + "        late = lambda: w\n",
    "reshaped": STEP + "        x = w.reshape(-1)\n        keep.append(x)\n",
    "asarray": STEP + "        x = np.asarray(w)\n        keep.append(x)\n",
    "every_third": STEP
    + "        if i % 3 == 0:\n            x = w\n        keep.append(x.sum())\n",
    "caught": "        try:\n    "
    + STEP
    + "        except FloatingPointError:\n            break\n",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_what_may_be_kept_is_made_anew(name: str) -> None:
    body = (
        f"def go(u, k, n, show, d, keep):\n    for i in range(n):\n{ESCAPES[name]}    return keep\n"
    )
    given = (LINE, 0.1, 4, _show, {}, [None])
    if name == "yielded":
        body = body.replace("def go(", "def frames(") + (
            "\n\ndef go(*args):\n    return list(frames(*args))\n"
        )
        assert buffers(body, given, "frames") == []
        return
    assert buffers(body, given) == []


def _show(array: object) -> None:
    pass


def test_a_safe_use_gets_a_buffer() -> None:
    """The programs above are refused for their last line only."""
    body = f"def go(u, k, n, keep):\n    for i in range(n):\n{STEP}        keep.append(w.sum())\n"
    assert buffers(body, (LINE, 0.1, 4, [])) == ["w_buffer"]


LEFT_ALONE = {
    "reshapes": "        u.shape = u.shape\n        u[1:-1] = u[1:-1] + k * (u[2:] - u[:-2])\n",
    "power_of_a_name": "        u[1:] = u[:-1] ** n\n",
    "reciprocal": "        u[1:] = u[:-1] ** -1\n",
    "reads_frames": "        w = u * k + u\n        print(sorted(locals()))\n",
    "from_the_front": "        u[0:9] = u[1:10] + k * u[2:11]\n",
    "nothing_made": "        u[1:] = u[:-1]\n        u *= k\n",
    "stretched": "        u[1:] = u[1:] + k * u[:1]\n",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    text = f"{HEAD}def go(u, k, n):\n    for i in range(n):\n{LEFT_ALONE[name]}    return u\n"
    assert not isinstance(stencil_buffers(region(text, (LINE, 0.1, 2))), Match)


def test_whole_array_work_is_refused_with_a_reason() -> None:
    """Element loops have nothing to say about buffers; array arithmetic has."""
    body = LEFT_ALONE["reads_frames"]
    text = f"{HEAD}def go(u, k, n):\n    for i in range(n):\n{body}    return u\n"
    answer = stencil_buffers(region(text, (LINE, 0.1, 2)))
    assert isinstance(answer, Refusal) and answer.reason.startswith("the arrays cannot be reused")
    assert answer.line is not None and "u * k" in text.splitlines()[answer.line - 1]
    text = (
        f"{HEAD}def go(u, k, n):\n    for i in range(n):\n        u[i] = u[i] * k\n    return u\n"
    )
    assert stencil_buffers(region(text, (LINE, 0.1, 2))) is None


def test_a_handler_that_could_see_half_of_the_work() -> None:
    body, args = PROGRAMS["five_points"]
    guarded = body.replace("def go(", "def inner(") + (
        "\n\ndef go(u, k, n):\n    try:\n        with np.errstate(all='raise'):\n"
        "            return inner(u, k, n)\n    except FloatingPointError:\n        return u\n"
    )
    hot = args[0].copy()
    hot[5, 5] = 1e308
    text = HEAD + guarded
    new = rewritten(text, args, "inner")
    assert "out=u[" not in new
    assert_same(run(text, "go", (hot, 1e3, 3)), run(new, "go", (hot, 1e3, 3)))


def test_functions_that_look_at_memory_write_into_contiguous_arrays() -> None:
    body = (
        "def go(u, n):\n    for i in range(n):\n"
        "        u[1:-1, 1:-1] = np.exp(-u[1:-1, 1:-1])\n    return u\n"
    )
    new = rewritten(HEAD + body, (GRID, 3))
    assert "np.exp(work, out=work_2)" in new and "u[1:-1, 1:-1] = work_2" in new
    over = body.replace("u[1:-1, 1:-1] = np.exp(-u[1:-1, 1:-1])", "u = np.exp(u)")
    assert buffers(over, (GRID, 3)) == ["u_a", "u_b"]
    assert buffers(over.replace("np.exp", "np.sqrt"), (GRID, 3)) == ["u_buffer"]


def test_a_global_result_that_a_called_function_keeps() -> None:
    body = (
        "seen = []\nw = None\n\n\ndef remember():\n    seen.append(w)\n\n\n"
        "def go(u, k, n):\n    global w\n    for i in range(n):\n"
        "        w = u + k * (u - u**2)\n        remember()\n        x = u * k - u\n"
        "    return [s.sum() for s in seen], x\n"
    )
    assert buffers(body, (LINE, 0.1, 4)) == ["x_buffer"]
    through = body.replace("        w = u + k * (u - u**2)\n", f"{STEP}        v = w\n")
    for old, new in (("append(w)", "append(v)"), ("global w", "global v"), ("w = None", "v = 0")):
        through = through.replace(old, new)
    assert buffers(through, (LINE, 0.1, 4)) == ["x_buffer"]
    new = rewritten(HEAD + body, (LINE, 0.1, 4))
    assert_same(run(HEAD + body, "go", (LINE, 0.1, 4)), run(only_fast(new), "go", (LINE, 0.1, 4)))


def test_small_arrays_are_left_alone() -> None:
    body, args = PROGRAMS["five_points"]
    assert stencil_buffers(region(HEAD + body, (GRID[:9, :9].copy(), *args[1:]))) is None


def test_a_global_that_a_function_rebinds() -> None:
    text = (
        f"{HEAD}u = np.linspace(0, 1, 1500)\nk = 0.1\n\n\ndef change():\n    global k\n"
        "    k = np.float32(k) * np.ones(1498)\n\n\nfor i in range(3):\n"
        "    u[1:-1] = u[1:-1] + k * (u[2:] - u[:-2])\n    change()\nprint(u.sum())\n"
    )
    made = region(text, (), None)
    assert stencil_buffers(made) is None
