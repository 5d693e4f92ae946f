"""The same kind of network, trained on batches that are on the device already."""

import argparse

import torch
from torch import nn


def train(model, x, y, epochs, batch):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    loss_function = nn.MSELoss()
    history = []
    for _ in range(epochs):
        total = torch.zeros((), device=x.device)
        for start in range(0, len(x), batch):
            optimizer.zero_grad()
            loss = loss_function(model(x[start : start + batch]), y[start : start + batch])
            loss.backward()
            optimizer.step()
            total += loss.detach()
        history.append(total * batch / len(x))
    return torch.stack(history).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000, help="samples")
    parser.add_argument("--steps", type=int, default=10, help="epochs")
    options = parser.parse_args()
    torch.manual_seed(5)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda")
    x = torch.randn(options.size, 256, device=device)
    y = torch.sin(x.sum(dim=1, keepdim=True))
    model = nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1)
    ).to(device)
    history = train(model, x, y, options.steps, 20_000)
    with torch.inference_mode():
        error = (model(x) - y).abs().mean().item()
    print("loss", [round(value, 3) for value in history])
    print("error", round(error, 3))


if __name__ == "__main__":
    main()
