"""Operations and bytes of loop nests, against counts made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import region_for

from gpuadvise.loopnest.ir import Nest
from gpuadvise.model import Refusal
from gpuadvise.roofline.work import Work, work_of

A = np.arange(600.0).reshape(20, 30)
V = np.arange(50.0)


def work(text: str, *args: Any) -> Work | Refusal:
    nest = region_for(text, "f", args).nest
    assert isinstance(nest, Nest), nest
    return work_of(nest)


@pytest.mark.parametrize(
    ("body", "args", "flops", "moved"),
    [
        ("for i in range(len(a)):\n        b[i] = 2.0 * a[i] + c", (V, V.copy(), 1.5), 100, 800),
        (
            "for i in range(1, len(a) - 1):\n        b[i] = a[i - 1] + a[i + 1]",
            (V, V.copy(), 1.5),
            48,
            800,
        ),
        ("for i in range(0, len(a), 2):\n        b[i] += a[i]", (V, V.copy(), 1.5), 25, 1200),
        (
            "for i in range(len(a)):\n        b[i] = a[i] / c if a[i] > 3.0 else a[i]",
            (V, V.copy(), 1.5),
            50,
            800,
        ),
        (
            "for i in range(len(a)):\n        b[i] = math.sqrt(abs(a[i]))",
            (V, V.copy(), 1.5),
            100,
            800,
        ),
    ],
)
def test_one_loop(body: str, args: tuple[Any, ...], flops: float, moved: float) -> None:
    found = work(f"import math\ndef f(a, b, c):\n    {body}\n", *args)
    assert isinstance(found, Work), found
    assert (found.flops, found.integer, found.bytes) == (flops, 0.0, moved)


def test_nested_and_triangular() -> None:
    whole = work(
        "def f(a):\n    n, m = a.shape\n    s = 0.0\n"
        "    for i in range(n):\n        for j in range(m):\n            s += a[i, j] * a[i, j]\n"
        "    return s\n",
        A,
    )
    assert isinstance(whole, Work) and whole.flops == 2 * 20 * 30 and whole.bytes == 4800
    half = work(
        "def f(v):\n    s = 0.0\n    for i in range(len(v)):\n        for j in range(i):\n"
        "            s += v[i] * v[j]\n    return s\n",
        V,
    )
    assert isinstance(half, Work) and half.flops == 2 * (50 * 49 / 2)


def test_whole_numbers_and_subscripts_apart() -> None:
    found = work(
        "def f(v):\n    s = 0\n    for i in range(len(v) - 1):\n        s += v[(i + 1) % 7] * 3\n"
        "    return s\n",
        np.arange(9, dtype=np.int32),
    )
    assert isinstance(found, Work)
    assert (found.flops, found.integer, found.bytes) == (0.0, 2.0 * 8, 36.0)


def test_the_widest_type_counts() -> None:
    text = "def f(a, b):\n    for i in range(len(a)):\n        b[i] = a[i] + a[i]\n"
    single = work(text, V.astype(np.float32), V.astype(np.float32))
    mixed = work(text, V.astype(np.float32), V.copy())
    assert isinstance(single, Work) and isinstance(mixed, Work)
    assert (single.dtype, single.bytes) == ("float32", 400)
    assert (mixed.dtype, mixed.bytes) == ("float64", 600)


def test_branches_are_counted_as_the_longer_one_and_said_so() -> None:
    found = work(
        "def f(a, b):\n    for i in range(len(a)):\n        if a[i] > 3.0:\n"
        "            b[i] = a[i] * a[i] + 1.0\n        else:\n            b[i] = a[i] + 1.0\n",
        V,
        V.copy(),
    )
    assert isinstance(found, Work) and found.flops == 100 and found.at_most


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while s < 10.0:\n        s += v[0] + 1.0", "depends on the data"),
        ("for i in range(int(v[3])):\n        s += v[i]", "not known beforehand"),
        ("for i in range(len(v)):\n        if v[i] > 4.0:\n            break", "break"),
    ],
)
def test_what_depends_on_data_is_refused(body: str, reason: str) -> None:
    found = work(f"def f(v):\n    s = 0.0\n    {body}\n    return s\n", V)
    assert isinstance(found, Refusal) and reason in found.reason
