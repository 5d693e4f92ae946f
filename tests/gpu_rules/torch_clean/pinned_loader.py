"""Regression from workers that make batches and pin them; losses are summed on the device."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.01 * torch.randn(32), self.y[i]


def train_epoch(model, loader, optimizer, device):
    model.train()
    total = torch.zeros((), device=device)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(x)
    return total.item() / len(loader.dataset)


@torch.inference_mode()
def evaluate(model, loader, device):
    model.eval()
    error = torch.zeros((), device=device)
    for x, y in loader:
        prediction = model(x.to(device, non_blocking=True))
        error += (prediction - y.to(device, non_blocking=True)).abs().sum()
    return error.item() / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    x = torch.randn(20_000, 32)
    data = Noisy(x, x.mean(dim=1, keepdim=True))
    loader = DataLoader(
        data, batch_size=1024, shuffle=True, pin_memory=True, num_workers=4, persistent_workers=True
    )
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        train_epoch(model, loader, optimizer, device)
    print(round(evaluate(model, loader, device), 3))


if __name__ == "__main__":
    main()
