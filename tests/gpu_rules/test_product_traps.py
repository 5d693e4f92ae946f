"""Loops that look like a batched product or like attention, and are not: none may be rewritten."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent

import pytest

from gpuadvise.model import Source

sys.path.insert(0, str(Path(__file__).parent))
from reading import mistakes

INDENT = "    "
MADE = """\
import torch


def run(n, other):
    a = torch.ones(n, 4, 4)
    b = torch.ones(n, 4, 4)
    out = torch.zeros(n, 4, 4)
"""
PRODUCTS = {
    "the last index is used": """\
for i in range(n):
    out[i] = a[i] @ b[i]
return out, i
""",
    "a part of the batch": """\
for i in range(1, n):
    out[i] = a[i] @ b[i]
return out
""",
    "every second": """\
for i in range(0, n, 2):
    out[i] = a[i] @ b[i]
return out
""",
    "the result of the step before": """\
for i in range(n):
    out[i] = a[i] @ out[i - 1]
return out
""",
    "in place": """\
for i in range(n):
    a[i] = a[i] @ b[i]
return a
""",
    "a view of a factor": """\
out = a[1:]
for i in range(n - 1):
    out[i] = a[i] @ b[i]
return a
""",
    "somebody else's memory": """\
for i in range(n):
    other[i] = a[i] @ b[i]
return other
""",
    "a list with something in it": """\
out = [0]
for i in range(n):
    out.append(a[i] @ b[i])
return out
""",
    "an else": """\
for i in range(n):
    out[i] = a[i] @ b[i]
else:
    n = 0
return out, n
""",
    "a count that is computed": """\
for i in range(other()):
    out[i] = a[i] @ b[i]
return out
""",
    "not the same index": """\
for i in range(n):
    out[i] = a[i] @ b[n - 1 - i]
return out
""",
    "range of one's own": """\
range = other
for i in range(n):
    out[i] = a[i] @ b[i]
return out
""",
}
ATTENTION = """\
import torch


def attend(q, k, v, mask):
{0}

def run(q, k, v, mask):
    for _ in range(9):
        q = attend(q, k, v, mask)
    return q
"""
ATTENTIONS = {
    "another axis": """\
scores = q @ k.transpose(-2, -1) / 8.0
return torch.softmax(scores, dim=0) @ v
""",
    "the scores are changed in between": """\
scores = q @ k.transpose(-2, -1) / 8.0
scores += mask
weights = torch.softmax(scores, dim=-1)
return weights @ v
""",
    "the scores are returned": """\
scores = q @ k.transpose(-2, -1) / 8.0
weights = torch.softmax(scores, dim=-1)
return weights @ v, scores
""",
    "dropout": """\
scores = q @ k.transpose(-2, -1) / 8.0
weights = torch.softmax(scores, dim=-1)
weights = torch.nn.functional.dropout(weights, 0.1)
return weights @ v
""",
    "a statement in between": """\
scores = q @ k.transpose(-2, -1) / 8.0
k = k + mask
weights = torch.softmax(scores, dim=-1)
return weights @ v, k
""",
    "another type": """\
scores = q @ k.transpose(-2, -1) / 8.0
weights = torch.softmax(scores, dim=-1, dtype=torch.float32)
return weights @ v
""",
    "no transposition": """\
scores = q @ k / 8.0
weights = torch.softmax(scores, dim=-1)
return weights @ v
""",
    "only in a branch": """\
scores = q @ k.transpose(-2, -1) / 8.0
if mask is not None:
    scores = scores + mask
weights = torch.softmax(scores, dim=-1)
return weights @ v
""",
}


def rewrites(code: str, text: str) -> list[int]:
    source = Source(Path("trap.py"), text.encode())
    return [m.line for found, _, m in mistakes(source, (code,)) if found == code and m.match]


@pytest.mark.parametrize("body", PRODUCTS.values(), ids=PRODUCTS)
def test_no_batched_product(body: str) -> None:
    assert rewrites("PT512", MADE + indent(body, INDENT)) == []


@pytest.mark.parametrize("body", ATTENTIONS.values(), ids=ATTENTIONS)
def test_no_attention(body: str) -> None:
    assert rewrites("PT515", ATTENTION.format(indent(body, INDENT))) == []


def test_the_plain_forms_are_rewritten() -> None:
    """What the traps are variations of: without this, they would prove nothing."""
    plain = "    for i in range(n):\n        out[i] = a[i] @ b[i]\n    return out\n"
    assert rewrites("PT512", MADE + plain) == [9]
    by_hand = (
        "    scores = q @ k.transpose(-2, -1) / 8.0\n    weights = torch.softmax(scores, dim=-1)\n"
        "    return weights @ v\n"
    )
    assert rewrites("PT515", ATTENTION.format(by_hand)) == [5]
