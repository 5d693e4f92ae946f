"""Random loops over arrays: values, identities of arrays and kept arrays stay what they were."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from harness import region_for

from gpuadvise.codegen.bf_plan import buffered
from gpuadvise.edits import apply_edits
from gpuadvise.model import Refusal

NAMES = "abcd"
HEAD = """\
import numpy as np


def f(x, y):
    w = x - y
    return w * 0.5 + x


def g(x):
    new = x.copy()
    new[1:] += 0.1 * x[:-1]
    return new


def go(a, b, c, n):
    d = a
    keep = []
    for i in range(n):
"""
ARRAYS = [np.random.default_rng(seed).random(1100) for seed in range(3)]


def expression(rng: random.Random, depth: int = 0) -> str:
    one, other = rng.choice(NAMES), rng.choice(NAMES)
    kind = rng.randrange(8) if depth < 3 else 0
    if kind < 2:
        return one
    simple = {
        2: f"({one} * 0.5)",
        3: f"(np.roll({one}, 1) + np.roll({other}, -2) + np.roll({one}, -1))",
        4: f"f({one}, {other})",
    }
    if kind in simple:
        return simple[kind]
    inner = expression(rng, depth + 1)
    if kind == 5:
        return f"np.sin({inner})"
    return f"({inner} {rng.choice('+-*')} {expression(rng, depth + 1)})"


def statement(rng: random.Random, indent: str, depth: int = 0) -> str:
    one, other, third = (rng.choice(NAMES) for _ in range(3))
    p, q = rng.sample(NAMES, 2)
    plain = [
        f"{one} = {expression(rng)} * 0.5",
        f"{one} = {expression(rng)} - {other}",
        f"{one} = {other}",
        f"{p}, {q} = {q}, {p}",
        f"{one} = {other}.copy()",
        f"{one}[1:-1] = {expression(rng)}[1:-1] + {other}[2:] * 0.3",
        f"{one}[1:-1] = {other}[1:-1] * 0.5 + 0.3 * {third}[2:]",
        f"{one} += {expression(rng)} * 0.1",
        f"{one} = g({other})",
        f"keep.append({one}.sum())",
        f"keep.append({one})",
        f"v = {one}[1:3]\n{indent}keep.append(v.sum())",
        "a, b = g(b) + c, f(a, d) * 0.5",
        f"{one} = np.zeros_like({other})",
    ]
    kind = rng.randrange(len(plain) + (4 if depth < 2 else 0))
    if kind < len(plain):
        return f"{indent}{plain[kind]}\n"
    inner = "".join(statement(rng, indent + "    ", depth + 1) for _ in range(rng.randint(1, 2)))
    if kind == len(plain):
        return f"{indent}for j in range(3):\n{inner}"
    jump = f"{indent}    continue\n" if rng.random() < 0.2 else ""
    return f"{indent}if i % {rng.choice((2, 3))} == 0:\n{inner}{jump}"


def outcome(text: str, *, shared: bool) -> tuple[Any, ...]:
    names: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), names)
    given = [array.copy() for array in ARRAYS]
    given[1] = given[0] if shared else given[1]
    with np.errstate(all="ignore"):
        *arrays, kept = names["go"](*given, 7)
    every = [*arrays, *given]
    identities = [[x is y for x in every] for y in every]
    return [np.asarray(x).tobytes() for x in (*every, *kept)], identities


@pytest.mark.parametrize("seed", range(60))
def test_nothing_but_the_memory_changes(seed: int) -> None:
    rng = random.Random(seed)
    body = "".join(statement(rng, " " * 8) for _ in range(rng.randint(2, 6)))
    text = f"{HEAD}{body}    return a, b, c, d, keep\n"
    with np.errstate(all="ignore"):
        region = region_for(text, "go", (*ARRAYS, 7))
    made = buffered(region)
    if made is None or isinstance(made, Refusal):
        return
    after = apply_edits(region.source, (made[0],)).decode()
    for shared in (False, True):
        assert outcome(after, shared=shared) == outcome(text, shared=shared), after
