"""A small convolutional network on made pictures: per-sample counts and losses are fetched."""

import torch
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)
        self.head = nn.Linear(8 * 12 * 12, 10)

    def forward(self, x):
        x = functional.relu(self.first(x))
        x = functional.relu(self.second(x))
        x = x.flatten(1)
        return self.head(x)


def made_pictures(count):
    torch.manual_seed(4)
    pictures = torch.randn(count, 1, 16, 16)
    labels = torch.randint(0, 10, (count,))
    return pictures, labels


def fit(model, pictures, labels, device, epochs, batch=64):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=False)
    losses = []
    for _ in range(epochs):
        for start in range(0, len(pictures), batch):
            x = pictures[start : start + batch].to(device)
            y = labels[start : start + batch].to(device)
            optimizer.zero_grad(set_to_none=False)
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def accuracy(model, pictures, labels, device, batch=64):
    correct = 0
    for start in range(0, len(pictures), batch):
        scores = model(pictures[start : start + batch].to(device))
        wanted = labels[start : start + batch].to(device)
        correct += (scores.argmax(dim=1) == wanted).sum().item()
    return correct / len(pictures)


def main():
    device = torch.device("cuda")
    pictures, labels = made_pictures(2048)
    model = Net().to(device)
    losses = fit(model, pictures, labels, device, 3)
    print("losses", len(losses), type(losses[0]).__name__, round(losses[-1], 3))
    print("accuracy", round(accuracy(model, pictures, labels, device), 2))


if __name__ == "__main__":
    main()
