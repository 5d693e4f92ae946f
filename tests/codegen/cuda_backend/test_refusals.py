"""Loops that may not become kernels, with the reason; and how far those that may are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import grid
from harness import chain_for

from gpuadvise.codegen.cuda_backend import loops_on_gpu, nest_on_gpu
from gpuadvise.model import Condition, Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = "import math\nimport numpy as np\n\n\ndef f({}):\n"
LINE = grid(1, 20)[0]


def text_of(params: str, *lines: str) -> str:
    return HEAD.format(params) + "\n".join("    " + line for line in lines) + "\n"


REFUSED: tuple[tuple[str, str, tuple[Any, ...], str], ...] = (
    (
        "a recurrence",
        text_of("a", "for i in range(1, len(a)):", "    a[i] = a[i] + a[i - 1]"),
        (LINE,),
        "which an earlier iteration wrote",
    ),
    (
        "a sum over all iterations",
        text_of("a", "s = 0.0", "for i in range(len(a)):", "    s += a[i]", "return s"),
        (LINE,),
        "accumulate into s",
    ),
    (
        "a scalar that outlives the kernel",
        text_of(
            "a, b",
            "for i in range(len(a)):",
            "    t = 2.0 * a[i]",
            "    b[i] = t",
            "return t",
        ),
        (LINE, LINE.copy()),
        "t",
    ),
    (
        "a scalar that goes from one kernel to the next",
        text_of(
            "a, b, steps",
            "for t in range(steps):",
            "    for i in range(len(a)):",
            "        s = a[i]",
            "        b[i] = s",
            "    for i in range(len(a)):",
            "        a[i] = b[i] + s",
        ),
        (LINE, LINE.copy(), 3),
        "s, which iterations of a parallel loop assign, is read after it",
    ),
    (
        "a function called in the time loop, which may look at any array",
        text_of(
            "u, steps",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = 0.5 * u[i] + u[i - 1]",
            "    u = new",
            "    look(t)",
            "return u",
        )
        + "\n\nLOG = []\n\n\ndef look(t):\n    LOG.extend([abs(t)])\n",
        (LINE, 3),
        "`LOG.extend([abs(t)])` may need arrays",
    ),
    (
        "an array of an earlier step that is written",
        text_of(
            "u, v, steps",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = 0.5 * u[i] + v[i]",
            "    u = new",
            "    u, v = v, u",
            "    for i in range(len(u)):",
            "        u[i] = u[i] + v[i]",
            "return u, v",
        ),
        (LINE, LINE.copy(), 3),
        "u is written in place and bound anew",
    ),
    (
        "an array that is written before it is kept",
        text_of(
            "u, steps",
            "frames = []",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = 0.5 * u[i] + u[i - 1]",
            "    u = new",
            "    for i in range(len(u)):",
            "        u[i] = u[i] * 1.5",
            "    frames.append(u)",
            "return frames",
        ),
        (LINE, 3),
        "u is kept, and written in the same step",
    ),
    (
        "an exception of the host between two steps",
        text_of(
            "u, d, steps",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = 0.5 * u[i] + u[i - 1]",
            "    u = new",
            "    d = 1.0 / (d - 1.0)",
            "return u, d",
        ),
        (LINE, 5.0, 3),
        "`d = 1.0 / (d - 1.0)` may need",
    ),
    (
        "a step function that sees another variable of the same name",
        text_of(
            "u, steps",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = 0.5 * u[i] + u[i - 1]",
            "    u = new",
            "    look(t)",
            "return u",
        )
        + "\n\nu = 3\n\n\ndef look(t):\n    print(u)\n",
        (LINE, 3),
        "u is a variable of the loop and another one in look()",
    ),
    (
        "complex numbers",
        text_of("a, b", "for i in range(len(a)):", "    z = a[i] * 2j", "    b[i] = (z * z).real"),
        (LINE, LINE.copy()),
        "complex",
    ),
    (
        "a function that numba.cuda lacks",
        text_of("a, b", "for i in range(len(a)):", "    b[i] = np.floor(a[i])"),
        (LINE, LINE.copy()),
        "np.floor",
    ),
    (
        "an index that may be out of bounds",
        text_of("a, b, k", "for i in range(len(k)):", "    b[i] = a[k[i]]"),
        (LINE, LINE.copy(), np.arange(20)),
        "out of bounds",
    ),
    (
        "an exception in a kernel with a while loop",
        text_of(
            "a, b",
            "for i in range(len(a)):",
            "    x = 1.0",
            "    k = 0",
            "    while x > 0.01 and k < 9:",
            "        x = x / 2.0",
            "        k += 1",
            "    b[i] = math.log(a[i]) + x",
        ),
        (LINE + 1.0, LINE.copy()),
        "while loop may hang",
    ),
    (
        "an array kept that the next step changes",
        text_of(
            "u, steps",
            "frames = []",
            "for t in range(steps):",
            "    for i in range(len(u)):",
            "        u[i] = 0.5 * u[i]",
            "    frames.append(u)",
            "return frames",
        ),
        (LINE, 3),
        "u is kept in every step",
    ),
    (
        "an array that two names have from then on",
        text_of(
            "u, v, steps",
            "for t in range(steps):",
            "    for i in range(len(u)):",
            "        v[i] = 0.5 * u[i]",
            "    u = v",
            "return u",
        ),
        (LINE, LINE.copy(), 3),
        "two names for one array",
    ),
    (
        "an array that is longer in each step",
        text_of(
            "u, steps",
            "for t in range(steps):",
            "    new = np.zeros(len(u) + t)",
            "    for i in range(1, len(u)):",
            "        new[i] = 0.5 * u[i] + u[i - 1]",
            "    u = new",
            "return u",
        ),
        (LINE, 3),
        "new is made from t, which is another one in each step",
    ),
    (
        "an array that is made from another one of the step",
        text_of(
            "u, steps",
            "for t in range(steps):",
            "    half = np.zeros_like(u)",
            "    for i in range(1, len(u)):",
            "        half[i] = 0.5 * u[i]",
            "    new = half.copy()",
            "    for i in range(1, len(u)):",
            "        new[i] = half[i] + u[i - 1]",
            "    u = new",
            "return u",
        ),
        (LINE, 3),
        "new is made from half, which is another one in each step",
    ),
    (
        "a part of an array that the host keeps",
        text_of(
            "u, v, steps",
            "parts = []",
            "for t in range(steps):",
            "    for i in range(len(u)):",
            "        v[i] = 0.5 * u[i]",
            "    u, v = v, u",
            "    parts.append(u[:3])",
            "return u, parts",
        ),
        (LINE, LINE.copy(), 3),
        "`parts.append(u[:3])` may need",
    ),
    (
        "an exception after the host has seen a step",
        text_of(
            "u, d, steps",
            "frames = []",
            "for t in range(steps):",
            "    new = np.empty_like(u)",
            "    for i in range(len(u)):",
            "        new[i] = u[i] + 1 / (d - i)",
            "    u = new",
            "    frames.append(u)",
            "return frames",
        ),
        (LINE, 40, 3),
        "the host has seen",
    ),
    (
        "a string",
        text_of("s, b", "for i in range(len(b)):", '    b[i] = 2.0 if s[i] == "x" else 1.0'),
        ("xyzzy" * 4, LINE.copy()),
        "s is a str, and no array on the device",
    ),
    (
        "copies that take longer than the work",
        text_of("a, b", "for i in range(len(a)):", "    b[i] = 2.0 * a[i]"),
        (LINE, LINE.copy()),
        "would be copied to the device",
    ),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_refused(case: tuple[str, str, tuple[Any, ...], str]) -> None:
    _, text, args, reason = case
    answers = [loops_on_gpu(region) for region in chain_for(text, "f", args)]
    assert not [a for a in answers if isinstance(a, Match)]
    assert any(isinstance(a, Refusal) and reason in a.reason for a in answers), answers


def kernel_of(text: str, *args: Any) -> str:
    region = chain_for(text, "f", args)[0]
    match = nest_on_gpu(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    return after[after.index("_kernel(") : after.index("_on_gpu(")]


def test_a_scalar_that_goes_from_one_column_to_the_next_keeps_the_columns_in_one_thread() -> None:
    text = text_of(
        "a, b",
        "n, m = a.shape",
        "for i in range(n):",
        "    last = 0.0",
        "    for j in range(m):",
        "        b[i, j] = a[i, j] - last",
        "        last = a[i, j]",
    )
    kernel = kernel_of(text, grid(6, 5), grid(6, 5))
    assert "i = cuda.grid(1)" in kernel and "for j in range(m):" in kernel


def test_a_value_that_a_later_loop_over_the_columns_reads_keeps_them_in_one_thread() -> None:
    text = text_of(
        "a, b",
        "n, m = a.shape",
        "for i in range(n):",
        "    t = 0.0",
        "    for j in range(m):",
        "        t = a[i, j]",
        "        b[i, j] = 0.0",
        "    for j in range(m):",
        "        b[i, j] += t",
    )
    assert "i = cuda.grid(1)" in kernel_of(text, grid(6, 5), grid(6, 5))


def test_continue_ends_a_thread_only_where_nothing_follows() -> None:
    lines = (
        "a, b",
        "n, m = a.shape",
        "for i in range(n):",
        "    for j in range(m):",
        "        if a[i, j] < 0.5:",
        "            continue",
        "        b[i, j] = a[i, j]",
    )
    alone = kernel_of(text_of(*lines), grid(6, 5), grid(6, 5))
    assert "j, i = cuda.grid(2)" in alone and alone.count("return") == 2
    more = ("    for j in range(m):", "        b[i, j] += 1.0")
    followed = kernel_of(text_of(*lines, *more), grid(6, 5), grid(6, 5))
    assert "i = cuda.grid(1)" in followed and "continue" in followed


def test_the_fastest_axis_follows_the_stores() -> None:
    text = text_of(
        "a, b",
        "n, m = a.shape",
        "for i in range(n):",
        "    for j in range(m):",
        "        b[j, i] = a[i, j]",
    )
    assert "i, j = cuda.grid(2)" in kernel_of(text, grid(6, 5), grid(5, 6))


def test_a_product_is_fused_only_where_nothing_is_added() -> None:
    text = text_of(
        "a, b, c",
        "for i in range(len(a)):",
        "    b[i] = 0.5 * a[i]",
        "    c[i] = 3.0 * a[i] + 1.0",
    )
    kernel = kernel_of(text, LINE, LINE.copy(), LINE.copy())
    assert "b[i] = 0.5 * a[i]" in kernel and "dmul_rn(3.0, a[i]) + 1.0" in kernel
    stored = text_of(
        "a, b, c",
        "for i in range(len(a)):",
        "    b[i] = 0.5 * a[i]",
        "    c[i] = b[i] + 1.0",
    )
    assert "b[i] = dmul_rn(0.5, a[i])" in kernel_of(stored, LINE, LINE.copy(), LINE.copy())


def test_library_functions_are_declared_inexact() -> None:
    text = text_of("a, b", "for i in range(len(a)):", "    b[i] = math.exp(a[i])")
    match = nest_on_gpu(chain_for(text, "f", (LINE, LINE.copy()))[0])
    assert isinstance(match, Match) and match.exactness.name == "LAST_DIGIT"
    plain = text_of("a, b", "for i in range(len(a)):", "    b[i] = np.sqrt(a[i]) / 3.0")
    match = nest_on_gpu(chain_for(plain, "f", (LINE, LINE.copy()))[0])
    assert isinstance(match, Match) and match.exactness.name == "BITS"
    assert match.safe and all(isinstance(c, Condition) for c in match.ledger)
