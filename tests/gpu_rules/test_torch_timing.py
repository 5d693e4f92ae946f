"""Clocks that are read while the GPU is at work: where the wait goes, and where none is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading import mistakes

from gpuadvise.model import Purpose, Source
from gpuadvise.patch import apply_edits

HEAD = """\
import time
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)).to("cuda")
x = torch.randn(128, 32, device="cuda")
opt = torch.optim.AdamW(model.parameters())
"""
TIMED = {
    "steps of training": """\
t0 = time.time()
for i in range(9):
    opt.zero_grad()
    loss = F.mse_loss(model(x), x[:, :4])
    loss.backward()
    opt.step()
print(f"{(time.time() - t0) / 9}")
""",
    "one batch at a time": """\
times = []
with torch.no_grad():
    for i in range(9):
        begin = time.perf_counter()
        out = model(x)
        end = time.perf_counter()
        times.append(end - begin)
        print(out.sum().item())
""",
    "several loops": """\
start = time.monotonic()
for i in range(9):
    for k in range(3):
        y = torch.relu(x) * k
took = time.monotonic() - start
""",
}
WAITED = {
    "a copy": "    y = model(x).cpu()\n",
    "a number": "    y = model(x).sum().item()\n",
    "a line": "    y = model(x)\n    print(y)\n",
    "a decision": "    y = model(x)\n    if y.sum() > 0:\n        y = y * 2\n",
    "something unknown": "    y = model(x)\n    report(y)\n",
    "its own wait": "    y = model(x)\n    torch.cuda.synchronize()\n",
    "work on the host": "    y = sum(range(i))\n",
}


def rewritten(text: str) -> list[str]:
    source = Source(Path("program.py").absolute(), text.encode())
    matches = [m.match for _, _, m in mistakes(source, ("PT519",)) if m.match is not None]
    assert all(match.purpose is Purpose.CORRECTION and match.safe for match in matches)
    return [apply_edits(source, match.edits).decode() for match in matches]


@pytest.mark.parametrize("what", TIMED)
def test_both_readings_wait(what: str) -> None:
    (after,) = rewritten(HEAD + TIMED[what])
    lines = after.splitlines()
    waits = [n for n, line in enumerate(lines) if "synchronize()" in line]
    assert len(waits) == 2
    for number in waits:
        clock = lines[number + 1]
        assert "time." in clock
        assert len(clock) - len(clock.lstrip()) == lines[number].index("torch")
    assert [line for line in lines if "synchronize()" not in line] == (
        HEAD + TIMED[what]
    ).splitlines()


@pytest.mark.parametrize("what", WAITED)
def test_nothing_is_named_where_something_may_wait(what: str) -> None:
    loop = f"start = time.time()\nfor i in range(9):\n{WAITED[what]}print(time.time() - start)\n"
    assert rewritten(HEAD + "def report(y):\n    print(y)\n\n\n" + loop) == []
