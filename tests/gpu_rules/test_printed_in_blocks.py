"""Lines of tensors that a loop prints in blocks: the same lines, in the same order, to the last."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reading import mistakes

from gpuadvise.model import Source
from gpuadvise.patch import apply_edits, combine

HEAD = "import torch\n\n\n"
FULL = '    x = torch.ones(n, device="cuda")\n'
PRINTED = {
    "a stop": """\
def run(n):
    x = torch.ones(n, device="cuda")
    for step in range(350):
        x = x * 0.97
        print(f"step {step + 1}/{n}: {x.sum().item():.6f}")
        if x.sum() < 0.01:
            break
    print("end")
""",
    "an exception": """\
def run(n):
    x = torch.ones(n, device="cuda")
    try:
        for step in range(n * 50):
            x = x * 0.97
            print("x", x.max().item(), float(x.min()), step, sep=", ")
            if step == 130:
                raise ValueError("enough")
    except ValueError as error:
        print(error)
""",
    "changed in place": """\
def run(n):
    x, kept, lines = torch.ones(n, device="cuda"), 2, 3
    for step in range(120):
        print(step, f"{kept}	{lines}", x.tolist(), x, end=";")
        x.mul_(1.5)
        kept = kept + 1
    return kept
""",
    "a result in the loop": """\
def largest(x, epochs):
    for epoch in range(epochs):
        x = x * 1.005
        print(f"{epoch:3d} of {epochs}: {x.max().item()}", flush=True)
        if x.max() > 2:
            return x.max().item()
    return None


def run(n):
    print(largest(torch.ones(n, device="cuda"), n * 40))
""",
    "older ways to format": """\
def run(n):
    x = torch.ones(n, device="cuda")
    for i, k in enumerate(range(7, 127)):
        x = x * 1.01
        print("%3d %.5f" % (i, x.sum().item()), "{:.3f} of {}".format(float(x.max()), k))
""",
    "at module level": """\
x = torch.ones(4, device="cuda")
for step in range(205):
    x = x + step
    print("sum of", step, "is", (x * 2 + 1).sum().item())
print("all")


def run(n):
    pass
""",
}
KEPT = {
    "another line": "        print(step, x)\n        print('next')\n",
    "a function that prints": "        print(step, x)\n        tell(step)\n",
    "something unknown": "        print(step, x)\n        logger.info(step)\n",
    "a question": "        print(step, x)\n        input()\n",
    "a list that grows": "        kept.append(step)\n        print(step, x.sum().item(), kept)\n",
    "another file": "        print(step, x, file=log)\n",
    "values handed out": "        print(step, x)\n        yield step\n",
}
BEFORE = "kept = []\n\n\ndef tell(step):\n    print(step)\n\n\n"


class Tensor(np.ndarray[Any, Any]):
    """An array with the methods that the programs use."""

    def detach(self) -> Any:
        return self

    def clone(self) -> Any:
        return self.copy()

    def mul_(self, other: float) -> None:
        self *= other


def made(*shape: int, device: str = "cpu") -> Any:
    return np.ones(shape).view(Tensor)


def rewritten(text: str) -> list[str]:
    source = Source(Path("program.py").absolute(), text.encode())
    matches = [m.match for _, _, m in mistakes(source, ("PT509",)) if m.match is not None]
    assert not any(match.safe for match in matches)
    return [apply_edits(source, match.edits).decode() for match in matches]


def written_by(text: str) -> str:
    out = io.StringIO()
    space: dict[str, Any] = {"__name__": "program"}
    with contextlib.redirect_stdout(out):
        exec(compile(text, "program.py", "exec"), space)
        space["run"](6)
    return out.getvalue()


@pytest.mark.parametrize("what", PRINTED)
def test_the_same_lines_later(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(ones=made))  # type: ignore[misc]
    text = HEAD + PRINTED[what]
    (after,) = rewritten(text)
    assert "in_blocks(" in after and ".append(" in after
    before = written_by(text)
    assert before.count("\n") > 100 or before.count(";") > 100
    assert written_by(after) == before


def test_lines_come_a_hundred_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(ones=made))  # type: ignore[misc]
    text = HEAD + "def run(n):\n" + FULL + "    for step in range(250):\n        x = look(x)\n"
    (after,) = rewritten(text.replace("look(x)", "x + 1") + "        print(step, x.max().item())\n")
    out, seen = io.StringIO(), []

    def look(x: Any) -> Any:
        seen.append(out.getvalue().count("\n"))
        return x

    space: dict[str, Any] = {"look": look}
    with contextlib.redirect_stdout(out):
        exec(compile(after.replace("x = x + 1", "x = look(x)"), "program.py", "exec"), space)
        space["run"](6)
    assert seen[99] == 0 and seen[100] == seen[199] == 100 and seen[200] == 200
    assert out.getvalue().count("\n") == 250


@pytest.mark.parametrize("what", KEPT)
def test_lines_that_must_come_at_once_stay(what: str) -> None:
    body = f"    for step in range(n):\n        x = x / 2\n{KEPT[what]}"
    assert rewritten(HEAD + BEFORE + "def run(n, log, logger):\n" + FULL + body) == []


def test_a_loss_says_no_more_than_its_number_in_a_formatted_line() -> None:
    text = (
        HEAD + "def fit(net, xs, steps):\n    for step in range(steps):\n"
        "        loss = net(xs).mean()\n        loss.backward()\n        print({})\n\n\n"
        "fit(torch.nn.Linear(4, 1), torch.ones(3, 4, device='cuda'), 9)\n"
    )
    (after,) = rewritten(text.replace("{}", 'f"{step}: {loss:.3f}"'))
    assert "lines.append((step, loss.detach().clone()))" in after
    # printed as a tensor it would say that it records gradients
    assert rewritten(text.replace("{}", "step, loss")) == []


def test_blocks_go_around_batches_that_are_taken_at_once() -> None:
    """Both rewrites are of what the loop goes through."""
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n\n"
        "data = TensorDataset(torch.randn(90, 4), torch.randn(90, 1))\n"
        "loader = DataLoader(data, batch_size=2)\n"
        "net = torch.nn.Linear(4, 1).to('cuda')\n"
        "for x, y in loader:\n    loss = net(x.to('cuda')).mean()\n    loss.backward()\n"
        "    print(loss.item())\n"
    )
    source = Source(Path("program.py").absolute(), text.encode())
    for codes in (("PT509", "PT510"), ("PT510", "PT509")):
        matches = [m.match for code in codes for _, _, m in mistakes(source, (code,)) if m.match]
        after = combine(source, [match.edits for match in matches]).decode()
        assert "for x, y in in_blocks(tensor_batches(loader), lines, show):" in after
