"""Compiled models, autocast and channels last: where the change goes in programs of many styles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from reading import regions

from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpucode.cupy_traced import traced_lines as cupy_lines
from gpuadvise.gpucode.torch_traced import traced_lines as torch_lines
from gpuadvise.model import Exactness, Source
from gpuadvise.patch import apply_edits
from gpuadvise.registry import rules

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
FUNCTIONS = (
    HEAD
    + """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.fc1 = nn.Linear(128, 10)

    def forward(self, x):
        return F.log_softmax(self.fc1(F.relu(self.conv1(x))), dim=1)


def train(model, device, loader, optimizer):
    for batch, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()


def main(loader):
    device = torch.device("cuda")
    model = Net().to(device)
    train(model, device, loader, torch.optim.SGD(model.parameters(), lr=1.0))
"""
)
SCRIPT = (
    HEAD
    + """\
net = nn.Sequential(
    nn.Linear(784, 512),
    nn.Linear(512, 10),
)
net.to("cuda")
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters())
for xb, yb in made():
    opt.zero_grad()
    scores = net(xb)  # one row for each sample
    loss = criterion(
        scores,
        yb,
    )
    loss.backward()
    opt.step()
"""
)
TRAINER = (
    HEAD
    + """\
class Trainer:
    def __init__(self, width):
        self.model = nn.Sequential(nn.Linear(width, width), nn.Tanh()).cuda()
        self.loss = nn.MSELoss()

    def fit(self, xs, steps):
        for _ in range(steps):
            out = self.model(xs)
            self.loss(out, xs).backward()
"""
)
TWO = (
    HEAD
    + """\
g = nn.Linear(8, 8).cuda()
d = nn.Linear(8, 1).cuda()
for step in range(100):
    d(g(torch.randn(32, 8, device="cuda"))).mean().backward()
"""
)
COMPILED = SCRIPT.replace('net.to("cuda")', 'net = torch.compile(net.to("cuda"))')
IN_LOOP = (
    HEAD
    + """\
for width in (64, 128):
    model = nn.Linear(width, width).cuda()
    print(model(torch.randn(32, width, device="cuda")).sum())
"""
)
WORK = {
    "PT513": replace(example(0.3, kernels={"gemm": (6000, 0.02)}), calls=6000),
    "PT516": example(1.0, kernels={"sm80_xmma_gemm_f32f32_f32f32_tn": (400, 0.9)}),
    "PT518": replace(example(0.3, kernels={"gemm": (6000, 0.02)}), calls=6000),
    "PT517": example(1.0, kernels={"nchwToNhwcKernel": (90, 0.2), "conv_nhwc": (90, 0.6)}),
}


def added(code: str, text: str) -> list[list[str]]:
    """For each rewrite of a rule, the lines that it adds."""
    source = Source(Path("program.py").absolute(), text.encode())
    rule = next(rule for rule in rules() if rule.code == code)
    found = []
    for region in regions(source):
        answer = rule.function(replace(region, gpu={region.loop.lineno + 1: WORK[code]}))
        for mistake in answer if isinstance(answer, tuple) else ():
            if mistake.match is not None:
                assert not mistake.match.safe
                assert mistake.match.exactness is Exactness.LAST_DIGIT
                new = apply_edits(source, mistake.match.edits).decode()
                compile(new, "program.py", "exec")
                found.append([k for k in new.splitlines() if k not in text.splitlines()])
    return found


@pytest.mark.parametrize(
    ("text", "before", "name"),
    [(FUNCTIONS, "    ", "model"), (SCRIPT, "", "net"), (TRAINER, " " * 8, "self.model")],
    ids=["functions", "script", "trainer"],
)
def test_the_model_is_changed_where_it_is_made(text: str, before: str, name: str) -> None:
    assert added("PT513", text) == [[f'{before}{name}.compile(mode="reduce-overhead")']]
    (lines,) = added("PT517", text)
    assert lines == [f"{before}{name}.to(memory_format=torch.channels_last)"]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (FUNCTIONS, ["            output = model(data)"]),
        (
            SCRIPT,
            [
                "        scores = net(xb)  # one row for each sample",
                "        loss = criterion(",
                "            scores,",
                "            yb,",
                "        )",
            ],
        ),
        (TRAINER, ["                out = self.model(xs)"]),
    ],
    ids=["functions", "script", "trainer"],
)
def test_autocast_covers_the_forward_pass(text: str, inside: list[str]) -> None:
    (lines,) = added("PT516", text)
    assert lines[0].strip() == 'with torch.autocast("cuda", dtype=torch.bfloat16):'
    assert lines[1:] == inside


@pytest.mark.parametrize("text", [TWO, COMPILED, IN_LOOP], ids=["two", "compiled", "in a loop"])
def test_models_that_are_not_one_and_plain_are_left_alone(text: str) -> None:
    assert added("PT513", text) == [] and added("PT517", text) == []


LOADED = HEAD.replace("\n\n\n", "\nfrom torch.utils.data import DataLoader, TensorDataset\n\n\n")
DATA = "data = TensorDataset(torch.randn(9000, 8), torch.randn(9000, 1))\n"
STEP = "    net(x.cuda()).sum().backward()\n"
NET = "net = nn.Linear(8, 1).cuda()\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            f"{LOADED}BATCH = 16\n{DATA}{NET}loader = DataLoader(data, BATCH, shuffle=False)\n"
            f"for step, (x, y) in enumerate(loader):\n{STEP}",
            [["BATCH = 32"], ["BATCH = 64"]],
        ),
        (
            f"{LOADED}{DATA}{NET}for x, y in DataLoader(data, batch_size=20):\n{STEP}",
            [[f"for x, y in DataLoader(data, batch_size={n}):"] for n in (40, 80)],
        ),
        (
            f"{LOADED}def fit(net, loader, epochs):\n    for _ in range(epochs):\n"
            f"        for x, y in loader:\n        {STEP}\n\n{DATA}{NET}"
            "fit(net, DataLoader(data, batch_size=8), 3)\n",
            [[f"fit(net, DataLoader(data, batch_size={n}), 3)"] for n in (16, 32)],
        ),
        (f"{LOADED}{DATA}{NET}for x, y in DataLoader(data):\n{STEP}", []),
    ],
    ids=["named", "on the spot", "handed on", "not written"],
)
def test_larger_batches_where_their_size_is_written(text: str, lines: list[list[str]]) -> None:
    found = added("PT518", text)
    assert [one for n, one in enumerate(found) if one not in found[:n]] == lines


def test_a_backward_pass_in_the_same_statement_gets_no_autocast() -> None:
    assert added("PT516", TWO) == []


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_what_a_loop_goes_through_is_no_part_of_its_steps(library: str) -> None:
    """``for loss in epoch():`` runs the epoch once, before its first step."""
    text = (
        f"import {library}\n\n\ndef epoch(x):\n    for _ in range(900):\n        x = x @ x\n"
        "    return [x]\n\n\nfor value in epoch(2):\n    print(value)\n"
    )
    source = Source(Path("program.py").absolute(), text.encode())
    lines_of = torch_lines if library == "torch" else cupy_lines
    found = {
        region.loop.lineno: lines_of(replace(region, gpu={6: WORK["PT516"]}))
        for region in regions(source)
    }
    assert found == {5: (WORK["PT516"],), 10: ()}
