"""A character model on made text: data on the device, losses fetched once in a while."""

import torch
from torch import nn
from torch.nn import functional


class CharModel(nn.Module):
    def __init__(self, characters, width):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, x):
        hidden, _ = self.rnn(self.embed(x))
        return self.head(hidden)


def batches(data, length, count, steps, generator):
    for _ in range(steps):
        starts = torch.randint(
            0, len(data) - length - 1, (count,), device=data.device, generator=generator
        )
        index = starts[:, None] + torch.arange(length, device=data.device)
        yield data[index], data[index + 1]


def train(model, data, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator(device=data.device).manual_seed(0)
    for x, y in batches(data, 32, 64, steps, generator):
        loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    device = torch.device("cuda")
    torch.manual_seed(0)
    text = torch.randint(0, 64, (100_000,), device=device)
    model = CharModel(64, 128).to(device)
    print(round(train(model, text, 200), 3))
