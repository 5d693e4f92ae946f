"""Tensors that a loop only collects on the host: the same list, copied in blocks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reading import mistakes

from gpuadvise.model import Source
from gpuadvise.patch import apply_edits

START = """\
import torch


def run(n):
    x = torch.ones(n, device="cuda")
    kept = []
"""
COLLECTED = {
    "a stop": """\
    for step in range(230):
        x = x * 0.97
        kept.append(x.detach().cpu().numpy())
        if step == 170:
            break
    return kept
""",
    "lists": """\
    for step in range(205):
        y = x + step
        kept.append(y.tolist())
    return kept
""",
    "without gradients": """\
    with torch.no_grad():
        for step in range(130):
            x = torch.sin(x)
            kept.append(torch.sin(x).cpu())
    return kept
""",
    "a few": """\
    for step in range(n):
        x = -x
        kept.append(x.cpu())
    return len(kept), kept[-1]
""",
}
SEEN = {
    "looked at": "x = x * 2\n        kept.append(x.cpu())\n        print(len(kept))",
    "changed later": "x = x * 2\n        kept.append(x.cpu())\n        x.mul_(3)",
    "changed in part": "x = x * 2\n        kept.append(x.cpu())\n        x[0] = 1.0",
    "the same tensor": "kept.append(x.cpu())",
    "a part of it": "y = x[1:]\n        kept.append(y.cpu())",
    "now and then": "x = x * 2\n        if step % 9 == 0:\n            kept.append(x.cpu())",
    "another name": "x = x * 2\n        kept.append(x.cpu())\n        other = kept",
}


class Tensor(np.ndarray[Any, Any]):
    """An array with the methods that the programs use."""

    def detach(self) -> Any:
        return self

    def cpu(self) -> Any:
        return self.copy()

    def numpy(self) -> Any:
        return np.asarray(self)


class NoGrad:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        pass


TORCH = SimpleNamespace(
    ones=lambda *shape, device: np.ones(shape).view(Tensor), sin=np.sin, no_grad=NoGrad
)


def rewritten(text: str) -> list[str]:
    source = Source(Path("program.py").absolute(), text.encode())
    matches = [m.match for _, _, m in mistakes(source, ("PT509",)) if m.match is not None]
    assert all(match.safe for match in matches)
    return [apply_edits(source, match.edits).decode() for match in matches]


def result_of(text: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    return space["run"](6)


@pytest.mark.parametrize("what", COLLECTED)
def test_the_same_list(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", TORCH)  # type: ignore[misc]
    (after,) = rewritten(START + COLLECTED[what])
    assert "fetched_in_blocks(" in after
    mine, other = result_of(START + COLLECTED[what]), result_of(after)
    assert len(mine) == len(other) and type(mine[0]) is type(other[0])
    for one, two in zip(mine, other, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("what", SEEN)
def test_what_could_be_seen_stays(what: str) -> None:
    text = START + f"    for step in range(n):\n        {SEEN[what]}\n    return kept\n"
    assert rewritten(text) == []


def test_large_tensors_do_not_wait_for_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", TORCH)  # type: ignore[misc]
    (after,) = rewritten(START + COLLECTED["a few"])
    space: dict[str, Any] = {}
    exec(compile(after, "program.py", "exec"), space)
    sizes: list[int] = []

    def fetch(kept: list[Any]) -> None:
        sizes.append(len(kept))
        kept.clear()

    waiting: list[Any] = []
    for _ in space["fetched_in_blocks"](range(5), waiting, fetch):
        waiting.append(SimpleNamespace(nbytes=2**27))
    assert sizes == [2, 2, 1]
