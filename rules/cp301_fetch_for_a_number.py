"""Reduce on the device what is copied to the host for one number.

Why it is slow: ``.get()`` and ``cp.asnumpy`` copy the whole array over the bus and wait until all
work before them is done; a reduction on the device sends eight bytes.
Why it may differ: sums of floats are added in another order, so their last digits can change; sums
of integers, smallest and largest values, and single elements are the same.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_effects import changes_arrays
from gpuadvise.gpucode.cupy_fetch import Use, fetches, uses
from gpuadvise.gpucode.cupy_text import mistake, seen_at, types_of

LIFE = """\
import cupy as cp


def simulate(host, steps):
    grid = cp.asarray(host, dtype=cp.int64)
    alive = []
    for _ in range(steps):
        grid = (grid + cp.roll(grid, 1, axis=0)) % 2
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LIFE
        + """\
        frame = grid.get()
        alive.append(int(frame.sum()))
    return grid.get(), alive
""",
        line=9,
        function="simulate",
        inputs="args = (np.arange(10000).reshape(100, 100) % 3 % 2, 6)",
        after=LIFE
        + """\
        alive.append(int(grid.sum()))
    return grid.get(), alive
""",
    ),
    Spots(
        before="""\
import cupy as cp
import numpy as np


def smooth(host, steps):
    field = cp.asarray(host)
    for _ in range(steps):
        field = 0.5 * (field + cp.roll(field, 1))
        print(float(np.max(cp.asnumpy(field))))
""",
        line=9,
        function="smooth",
        inputs="args = (np.linspace(0.0, 3.0, 5001), 5)",
        after="""\
import cupy as cp
import numpy as np


def smooth(host, steps):
    field = cp.asarray(host)
    for _ in range(steps):
        field = 0.5 * (field + cp.roll(field, 1))
        print(float(field.max()))
""",
    ),
    Spots(
        before="""\
import cupy as cp


def drift(host, steps):
    field = cp.asarray(host)
    seen = []
    for _ in range(steps):
        field = field + cp.roll(field, 1)
        seen.append(int(field.get().sum()))
    return seen
""",
        line=9,
        function="drift",
        inputs="args = (np.arange(5000), 5)",
        after="""\
import cupy as cp


def drift(host, steps):
    field = cp.asarray(host)
    seen = []
    for _ in range(steps):
        field = field + cp.roll(field, 1)
        seen.append(int((field if field.dtype.kind in "biu" else field.get()).sum()))
    return seen
""",
    ),
    Ignores(
        before=LIFE
        + """\
        frame = grid.get()
        grid[0] = 0
        alive.append(int(frame.sum()))
    return alive
""",
        because="the array has changed when the copy is added up",
        function="simulate",
        static=True,
    ),
    Ignores(
        before=LIFE
        + """\
        alive.append(grid.get())
    return alive
""",
        because="the frames themselves are kept",
        function="simulate",
        static=True,
    ),
    Ignores(
        before=LIFE
        + """\
        frame = grid.get()
        alive.append(frame.sum())
    return alive
""",
        because="a NumPy integer is kept; on the device it would be an array",
        function="simulate",
        static=True,
    ),
)
EXACT = frozenset({"max", "min", "amax", "amin", "argmax", "argmin", "any", "all"})


@rule(cases=CASES)
def fetch_for_a_number(region: Region) -> tuple[Mistake, ...] | None:
    """The loop copies an array to the host only to make one number of it."""
    found = []
    for fetch, array in fetches(region):
        made = uses(region, fetch)
        if not made:
            continue
        seen = seen_at(region, [fetch], "cop")
        answer = _rewrite(region, fetch, array, made)
        if seen is None or answer is None:
            continue
        what = f"{array.id} is copied to the host for {_words(made)}"
        remedy = "reduce it on the device" if made[0].function else "fetch that element alone"
        found.append(mistake(region, fetch, what, remedy, seen, answer))
    return tuple(found) or None


def _words(made: list[Use]) -> str:
    names = list(dict.fromkeys(f"{u.function}()" if u.function else "one element" for u in made))
    return " and ".join(names)


# -------------------------------------------------------------------- the rewrite
def _rewrite(
    region: Region, fetch: ast.Call, array: ast.Name, made: list[Use]
) -> Match | Refusal | None:
    source = region.source
    above = tools.parents(source)[fetch]
    edits = []
    if isinstance(above, ast.Assign):
        if not tools.stands_alone(source, above):
            return Refusal("the statement shares its line", above.lineno)
        between = _between(tools.block_of(source, above), above, made)
        if between is None:
            return None
        for statement in between:
            refusal = changes_arrays(types_of(region), statement, array.id)
            if refusal is not None:
                return None  # another array, or another content, when it is used
        start = source.line_starts[above.lineno - 1]
        assert above.end_lineno is not None
        end = min(source.line_starts[above.end_lineno], len(source.data))
        edits.append(Edit(start, end, ""))
    kind = types_of(region).of(array).kind
    tests = []
    exact = Exactness.BITS
    for use in made:
        needs = _needs(use, kind)
        if needs == "never":
            return Refusal("the last digit of the sum could decide", use.whole.lineno)
        text = array.id
        if needs == "integers":
            tests.append(f'{array.id}.dtype.kind in "biu"')
            text = f"({array.id} if {tests[-1]} else {source.text(fetch)})"
        elif needs == "tolerance":
            exact = Exactness.REASSOCIATED
        edits.append(Edit(*source.span(use.whole), f"{text}{use.rest}"))
    lines = f"lines {fetch.lineno}-{max(u.whole.lineno for u in made)}"
    ledger = [Condition(f"{array.id} is a CuPy array and nothing changes it", Basis.PROVED, lines)]
    ledger += [
        Condition(test, Basis.OBSERVED, f"line {fetch.lineno}", guarded=True)
        for test in dict.fromkeys(tests)
    ]
    return Match(
        edits=tuple(edits),
        why="",
        change=f"{_words(made)} of {array.id} on the device, where it was copied to the host",
        needs=frozenset({"cupy"}),
        ledger=tuple(ledger),
        exactness=exact,
        reduction_length=1 if exact is Exactness.BITS else 1_000_000,
    )


def _needs(use: Use, kind: str) -> str:
    """What the equality of one number needs: nothing, integers, a tolerance, or never."""
    if not use.function or (use.function in EXACT and kind != ""):
        return ""
    if use.function in EXACT:
        return "" if use.number != "float" else "tolerance"  # -0.0 and 0.0 are both largest
    if use.function in ("sum", "prod") and kind in ("b", "i"):
        return ""
    if use.number == "float":
        return "tolerance"
    return "integers" if use.function in ("sum", "prod") and kind == "" else "never"


def _between(block: list[ast.stmt], fetch: ast.stmt, made: list[Use]) -> list[ast.stmt] | None:
    """The statements from the fetch to the last use; None if a use is not below it."""
    after = block[block.index(fetch) + 1 :]
    last = -1
    for use in made:
        inside = [n for n, part in enumerate(after) if any(x is use.whole for x in ast.walk(part))]
        if not inside:
            return None  # used outside the block, or in the next step
        last = max(last, inside[0])
    return after[: last + 1]
