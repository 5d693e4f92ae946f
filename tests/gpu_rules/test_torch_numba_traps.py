"""Programs that look like a rule's, and would come out wrong: no rewrite may be offered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuadvise.model import Source

sys.path.insert(0, str(Path(__file__).parent))
from reading import mistakes

KERNEL = """\
import numpy as np
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]


"""
TORCH = """\
import torch
from torch import nn


"""
TRAPS = {
    "a view read in the loop": (
        "NC401",
        KERNEL
        + """\
def run(steps):
    x = np.zeros(9)
    y = np.zeros(9)
    head = y[:1]
    for _ in range(steps):
        double[4, 32](x, y)
        if head > 3:
            break
    return x
""",
    ),
    "an array replaced by another": (
        "NC401",
        KERNEL
        + """\
def run(x, y, steps):
    for _ in range(steps):
        double[4, 32](x, y)
        x = y
    return x
""",
    ),
    "one array for both parameters": (
        "NC401",
        KERNEL
        + """\
def run(steps):
    x = np.arange(9.0)
    for _ in range(steps):
        double[4, 32](x, x)
    return x
""",
    ),
    "a handler that looks at the arrays": (
        "NC401",
        KERNEL
        + """\
def run(x, y, steps):
    try:
        for k in range(steps):
            double[4, 32](x, y)
    except Exception:
        return x
    return y
""",
    ),
    "a function called in the loop sees a global array": (
        "NC401",
        KERNEL
        + """\
x = np.zeros(9)
y = np.zeros(9)


def show():
    print(y.sum())


for _ in range(9):
    double[4, 32](x, y)
    show()
""",
    ),
    "a stream of its own": (
        "NC401",
        KERNEL
        + """\
def run(x, y, steps, stream):
    for _ in range(steps):
        double[4, 32, stream](x, y)
""",
    ),
    "a generator hands the array out": (
        "NC401",
        KERNEL
        + """\
def run(x, y, steps):
    for _ in range(steps):
        double[4, 32](x, y)
        yield
""",
    ),
    "the kernel adds to what is there": (
        "NC402",
        KERNEL
        + """\
def run(x, steps):
    for _ in range(steps):
        y = cuda.device_array(9)
        add[4, 32](x, y)
        print(y.copy_to_host())
""",
    ),
    "every array is kept": (
        "NC402",
        KERNEL
        + """\
def run(x, steps):
    kept = []
    for _ in range(steps):
        y = cuda.device_array(9)
        double[4, 32](x, y)
        kept.append(y)
    return kept
""",
    ),
    "the size changes": (
        "NC402",
        KERNEL
        + """\
def run(x, steps):
    for n in range(1, steps):
        y = cuda.device_array(n)
        double[4, 32](x, y)
        print(y.copy_to_host())
""",
    ),
    "the size grows": (
        "NC402",
        KERNEL
        + """\
def run(x, steps):
    n = 1
    for _ in range(steps):
        n = n + 1
        y = cuda.device_array(n)
        double[4, 32](x, y)
        print(y.copy_to_host())
""",
    ),
    "host memory that the GPU writes": (
        "NC403",
        KERNEL
        + """\
def run(x, steps):
    y = cuda.managed_array(9)
    for _ in range(steps):
        double[4, 32](x, y)
        cuda.synchronize()
        print(y[0])
""",
    ),
    "a copy that runs on": (
        "PT502",
        TORCH
        + """\
def run(x, host, steps):
    for _ in range(steps):
        x = x + 1
        host.copy_(x, non_blocking=True)
        torch.cuda.synchronize()
        print(host[0])
""",
    ),
    "two streams": (
        "PT501",
        TORCH
        + """\
def run(model, parts, streams):
    total = 0.0
    for part, stream in zip(parts, streams):
        with torch.cuda.stream(stream):
            loss = model(part).sum()
            loss.backward()
            total += loss.item()
    return total
""",
    ),
    "the sum is looked at": (
        "PT501",
        TORCH
        + """\
def run(steps):
    x = torch.randn(9)
    total = 0.0
    for _ in range(steps):
        total += x.sum().item()
        if total > 5:
            break
    return total
""",
    ),
    "the sum starts with another's": (
        "PT501",
        TORCH
        + """\
def run(total, steps):
    x = torch.randn(9)
    for _ in range(steps):
        total += x.sum().item()
    return total
""",
    ),
    "a closure looks at the sum": (
        "PT501",
        TORCH
        + """\
def run(steps, hook):
    x = torch.randn(9)
    total = 0.0
    hook(lambda: total)
    for _ in range(steps):
        total += x.sum().item()
    return total
""",
    ),
    "a closure from before looks at the sum": (
        "PT501",
        TORCH
        + """\
def run(steps, hook):
    x = torch.randn(9)
    hook(lambda: total)
    total = 0.0
    for _ in range(steps):
        total += x.sum().item()
    return total
""",
    ),
    "a handler that looks at the sum": (
        "PT501",
        TORCH
        + """\
def run(steps, step):
    x = torch.randn(9)
    try:
        total = 0.0
        for _ in range(steps):
            total += x.sum().item()
            step()
    except ValueError:
        return type(total)
    return total
""",
    ),
    "complex numbers": (
        "PT501",
        TORCH
        + """\
def run(steps):
    x = torch.randn(9, dtype=torch.complex64)
    total = 0.0
    for _ in range(steps):
        total += x.sum().item()
    return total
""",
    ),
    "whole numbers collected as floats": (
        "PT501",
        TORCH
        + """\
def run(steps):
    x = torch.randn(9)
    found = []
    for _ in range(steps):
        found.append(float(x.argmax()))
    return found
""",
    ),
    "a list that is read in the loop": (
        "PT501",
        TORCH
        + """\
def run(steps):
    x = torch.randn(9)
    found = []
    for _ in range(steps):
        found.append(x.argmax().item())
        x[found[-1]] = 0
    return found
""",
    ),
    "a list with two names": (
        "PT501",
        TORCH
        + """\
def run(steps):
    x = torch.randn(9)
    found = every = []
    for _ in range(steps):
        found.append(x.argmax().item())
    return every
""",
    ),
    "a tensor is kept": (
        "PT505",
        TORCH
        + """\
def run(steps):
    model = nn.Linear(3, 1)
    x = torch.randn(9, 3)
    last = None
    for _ in range(steps):
        last = model(x)
    return last
""",
    ),
    "a layer that nobody knows": (
        "PT505",
        TORCH
        + """\
class Odd(nn.Module):
    def forward(self, x):
        return x * 2 if torch.is_grad_enabled() else x


def run(steps):
    model = nn.Sequential(Odd())
    x = torch.randn(9, 3)
    total = 0.0
    for _ in range(steps):
        total += model(x).sum().item()
    return total
""",
    ),
    "a model that counts its calls": (
        "PT505",
        TORCH
        + """\
class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return self.layer(x)


def run(steps):
    model = Counting()
    x = torch.randn(9, 3)
    total = 0.0
    for _ in range(steps):
        total += model(x).sum().item()
    return total
""",
    ),
    "a graph kept in a buffer": (
        "PT505",
        TORCH
        + """\
def run(steps):
    model = nn.Linear(3, 1)
    x = torch.randn(9, 3)
    kept = torch.zeros(9, 1)
    for _ in range(steps):
        kept.add_(model(x))
    return kept
""",
    ),
    "a layer put in later": (
        "PT505",
        TORCH
        + """\
def run(steps, other):
    model = nn.Sequential(nn.Linear(3, 1))
    model[0] = other
    x = torch.randn(9, 3)
    total = 0.0
    for _ in range(steps):
        total += model(x).sum().item()
    return total
""",
    ),
    "a hook that keeps what comes by": (
        "PT505",
        TORCH
        + """\
def run(steps, kept):
    model = nn.Linear(3, 1)
    model.register_forward_hook(lambda layer, given, result: kept.append(result))
    x = torch.randn(9, 3)
    total = 0.0
    for _ in range(steps):
        total += model(x).sum().item()
    return total
""",
    ),
    "convolutions of single pictures": (
        "PT508",
        TORCH
        + """\
def run(count):
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten())
    x = torch.randn(count, 1, 9, 9)
    found = []
    for i in range(len(x)):
        found.append(model(x[i]).argmax().item())
    return found
""",
    ),
    "a layer that some steps leave out": (
        "PT507",
        TORCH
        + """\
class Maybe(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        return self.a(x)


def run(steps):
    model = Maybe()
    x = torch.randn(9, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
""",
    ),
    "a batch that changes while it is copied": (
        "PT504",
        TORCH
        + """\
from torch.utils.data import DataLoader, TensorDataset


def run():
    loader = DataLoader(TensorDataset(torch.randn(9, 3)), batch_size=3)
    device = torch.device("cuda")
    for (x,) in loader:
        y = x.to(device)
        x.zero_()
        print(y.sum().item())
""",
    ),
    "batches that are on the GPU": (
        "PT504",
        TORCH
        + """\
from torch.utils.data import DataLoader, TensorDataset


def run():
    loader = DataLoader(TensorDataset(torch.randn(9, 3, device="cuda")), batch_size=3)
    for (x,) in loader:
        x = x.to("cuda")
        print(x.sum().item())
""",
    ),
    "a loader with workers": (
        "PT510",
        TORCH
        + """\
from torch.utils.data import DataLoader, TensorDataset


def run():
    loader = DataLoader(TensorDataset(torch.randn(9, 3)), batch_size=3, num_workers=2)
    for (x,) in loader:
        print(x)
""",
    ),
    "a loader without batches": (
        "PT510",
        TORCH
        + """\
from torch.utils.data import DataLoader, TensorDataset


def run():
    for (x,) in (loader := DataLoader(TensorDataset(torch.randn(9, 3)), batch_size=None)):
        print(x)
    loader = DataLoader(TensorDataset(torch.randn(9, 3)), batch_size=None)
    for (x,) in loader:
        print(x)
""",
    ),
    "an optimizer that rounds otherwise": (
        "PT506",
        TORCH
        + """\
def run(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    for _ in range(steps):
        optimizer.step()
""",
    ),
    "a conversion, not a move": (
        "PT503",
        TORCH
        + """\
def run(kind):
    for _ in range(9):
        x = torch.zeros(3).to(kind)
    return x


run(torch.float16)
""",
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_no_rewrite_is_offered(name: str) -> None:
    code, text = TRAPS[name]
    compile(text, name, "exec")
    source = Source(Path("trap.py").absolute(), text.encode())
    found = [m for rule, _, m in mistakes(source, (code,)) if m.match is not None and m.match.safe]
    assert not found, found[0].match
