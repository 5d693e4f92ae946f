"""Copy an array that does not change to the device once, not in every step.

Why it is slow: ``cp.asarray(x)`` of a host array copies all of it over the bus, and from pageable
memory the CPU does part of that work itself.
Why it may differ: the copy is made in the first step and kept; so nothing in the loop may change
the host array, or what is on the device.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import calls, meaning
from gpuadvise.gpucode.cupy_effects import host_effects, value_use
from gpuadvise.gpucode.cupy_text import (
    loops_above,
    mistake,
    objection,
    seen_at,
    statement_of,
    types_of,
)
from gpuadvise.names import free_name

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def apply(traces, weights):
    total = 0.0
    for trace in traces:
        x = cp.asarray(trace)
        w = cp.asarray(weights)  # the same in every step
        total += float(cp.sum(x * w))
    return total
""",
        line=8,
        function="apply",
        inputs="args = ([np.arange(1000.0) + i for i in range(20)], np.linspace(0, 1, 1000))",
        after="""\
import cupy as cp


def apply(traces, weights):
    total = 0.0
    weights_device = None
    for trace in traces:
        x = cp.asarray(trace)
        if weights_device is None or type(traces) not in (list, tuple):
            weights_device = cp.asarray(weights)
        w = weights_device  # the same in every step
        total += float(cp.sum(x * w))
    return total
""",
    ),
    Spots(
        before="""\
import cupy as cp
import numpy as np


def damp(grid, steps):
    field = cp.asarray(grid)
    mask = np.linspace(0.0, 1.0, 512, dtype=np.float64)
    for _ in range(steps):
        field = field * cp.array(mask, dtype=cp.float32)
    return field.get()
""",
        line=9,
        function="damp",
        inputs="args = (np.ones((512, 512), np.float32), 5)",
        after="""\
import cupy as cp
import numpy as np


def damp(grid, steps):
    field = cp.asarray(grid)
    mask = np.linspace(0.0, 1.0, 512, dtype=np.float64)
    mask_device = cp.array(mask, dtype=cp.float32)
    for _ in range(steps):
        field = field * mask_device
    return field.get()
""",
    ),
    Spots(
        before="""\
import cupy as cp


def fit(batches, weights):
    for batch in batches:
        error = cp.asarray(batch) @ cp.asarray(weights)
        weights -= 0.1 * error.get()
    return weights
""",
        line=6,
        function="fit",
        after=None,  # the weights change in every step: they should live on the device
    ),
    Ignores(
        before="""\
import cupy as cp


def total(frames):
    sums = []
    for frame in frames:
        sums.append(cp.asarray(frame).sum())
    return cp.stack(sums).get()
""",
        because="each step copies another array",
        function="total",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def apply(traces, weights):
    w = None
    for trace in traces:
        if w is None:
            w = cp.asarray(weights)
        trace *= float((w * 2).sum())
""",
        because="the copy is made once",
        function="apply",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def run(host, steps):
    x = cp.asarray(host)
    for _ in range(steps):
        y = cp.asarray(x) * 2.0
    return y.get()
""",
        because="the array is on the device already: nothing is copied",
        function="run",
        static=True,
    ),
)


@rule(cases=CASES)
def invariant_operands(region: Region) -> tuple[Mistake, ...] | None:
    """The loop copies a host array to the device that is the same in every step."""
    found = []
    names: dict[str, str] = {}
    for call in _copies(region, region.loop):
        name = call.args[0]
        assert isinstance(name, ast.Name)
        outer = loops_above(region.source, region)
        if any(not tools.stores(loop, name.id) for loop in outer):
            continue  # named at the loop outside
        seen = seen_at(region, [call], "cop")
        if seen is None:
            continue
        answer = _rewrite(region, call, name.id, names)
        found.append(
            mistake(
                region,
                call,
                f"{name.id} is copied to the device in every step",
                "copy it once and keep the copy, or keep the array on the device",
                seen,
                answer,
            )
        )
    return tuple(found) or None


def _copies(region: Region, loop: ast.For | ast.While) -> list[ast.Call]:
    """Copies in a loop of what has one name, which the loop binds nowhere."""
    types = types_of(region)
    found = []
    for call in calls(region.source, loop, "cupy.asarray", "cupy.array"):
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
            continue
        name = call.args[0]
        bound = [n for n in tools.stores(loop, name.id) if not _augmented(region, n)]
        if bound or types.of(name).what in ("device", "number") or _kept(region, call):
            continue
        found.append(call)
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _kept(region: Region, call: ast.Call) -> bool:
    """``if w is None: w = cp.asarray(weights)`` copies once."""
    return any(
        isinstance(above, ast.If)
        and any(isinstance(n, ast.Is) for n in ast.walk(above.test))
        and any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(above.test))
        for above in tools.ancestors(region.source, call)
    )


def _augmented(region: Region, node: ast.Name) -> bool:
    """``weights -= step`` keeps the array, and changes it: known, and refused later."""
    return isinstance(tools.parents(region.source)[node], ast.AugAssign)


def _rewrite(region: Region, call: ast.Call, name: str, names: dict[str, str]) -> Match | Refusal:
    source, types = region.source, types_of(region)
    statement = statement_of(source, call)
    if statement is None:
        return Refusal("the copy is made inside a larger expression", call.lineno)
    if tools.stores(region.loop, name):
        return Refusal(f"{name} changes in every step", tools.stores(region.loop, name)[0].lineno)
    for keyword in call.keywords:
        if keyword.arg != "dtype" or not _constant_type(region, keyword.value):
            return Refusal("the copy has options", call.lineno)
    effects = host_effects(types, region.loop, name)
    refusal = effects.refusal or objection(region, name) or value_use(types, call)
    if refusal is not None:
        return refusal
    value = types.of(call.args[0])
    certain = value.what == "host" and value.kind != ""
    if not certain and meaning(source, call.func) == "cupy.array":
        # cp.array(x) of an array on the device copies that, and x may change there
        return Refusal(f"{name} may be on the device already", call.lineno)
    return _match(region, call, statement, effects.iterated, certain, names)


def _constant_type(region: Region, node: ast.expr) -> bool:
    called = meaning(region.source, node) or ""
    return called.startswith(("cupy.", "numpy.")) or isinstance(node, ast.Constant)


def _match(
    region: Region,
    call: ast.Call,
    statement: ast.stmt,
    iterated: list[str],
    certain: bool,
    names: dict[str, str],
) -> Match | Refusal:
    source, loop = region.source, region.loop
    text = source.text(call)
    name = ast.unparse(call.args[0])
    if text not in names:
        names[text] = free_name(source, f"{name}_device", names.values())
    new = names[text]
    ledger = [
        Condition(
            f"nothing in the loop changes {name} or its copy on the device",
            Basis.PROVED,
            f"lines {loop.lineno}-{loop.end_lineno}",
        )
    ]
    edits = [Edit(*source.span(call), new)]
    if certain and not iterated:
        edits.append(tools.insert_before(source, loop, [f"{new} = {text}"]))
    else:
        # a loop of no steps copies nothing, and what cannot be copied raises where it did
        if iterated and not all(tools.is_builtin(source, n) for n in ("type", "list", "tuple")):
            return Refusal("type, list or tuple is not the built-in", loop.lineno)
        tests = [f"type({n}) not in (list, tuple)" for n in dict.fromkeys(iterated)]
        step = tools.indent_unit(source)
        lines = [f"if {' or '.join([f'{new} is None', *tests])}:", f"{step}{new} = {text}"]
        edits += [
            tools.insert_before(source, loop, [f"{new} = None"]),
            tools.insert_before(source, statement, lines),
        ]
        ledger += [
            # a generator may change the array between two steps
            Condition(
                f"type({n}) in (list, tuple)", Basis.OBSERVED, f"line {loop.lineno}", guarded=True
            )
            for n in dict.fromkeys(iterated)
        ]
    return Match(
        edits=tuple(edits),
        why="",
        change=f"{name} is copied to the device once",
        needs=frozenset({"cupy"}),
        ledger=tuple(ledger),
    )
