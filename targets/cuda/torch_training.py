"""A small feed-forward network, trained with the usual mistakes."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def made_data(count, features):
    generator = torch.Generator().manual_seed(11)
    x = torch.randn(count, features, generator=generator)
    w = torch.randn(features, 1, generator=generator)
    y = torch.sin(x @ w) + 0.05 * torch.randn(count, 1, generator=generator)
    return TensorDataset(x, y)


class Network(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.body(x)


def train(model, loader, device, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    loss_function = nn.MSELoss()
    history = []
    for _ in range(epochs):
        total = 0.0
        for x, y in loader:
            x = x.to(device)
            y = y.to(device)
            optimizer.zero_grad(set_to_none=False)
            loss = loss_function(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            torch.cuda.synchronize()
        history.append(total / len(loader))
    return history


def evaluate(model, loader, device):
    model.eval()
    squared = 0.0
    for x, y in loader:
        prediction = model(x.to(device))
        squared += ((prediction - y.to(device)) ** 2).sum().item()
    return squared / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="samples")
    parser.add_argument("--steps", type=int, default=6, help="epochs")
    options = parser.parse_args()
    torch.manual_seed(5)
    device = torch.device("cuda")
    data = made_data(options.size, 64)
    loader = DataLoader(data, batch_size=256, shuffle=False)
    model = Network(64, 256).to(device)
    history = train(model, loader, device, options.steps)
    print("loss", [round(value, 4) for value in history])
    print("error", round(evaluate(model, loader, device), 4))


if __name__ == "__main__":
    main()
