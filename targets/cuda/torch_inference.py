"""Inference one sample at a time, with gradients recorded and every result fetched at once."""

import argparse

import torch
from torch import nn


def network(features, width, classes):
    return nn.Sequential(
        nn.Linear(features, width),
        nn.GELU(),
        nn.Linear(width, width),
        nn.GELU(),
        nn.Linear(width, classes),
    )


def classify(model, samples, device):
    labels = []
    for i in range(len(samples)):
        scores = model(samples[i].to(device))
        labels.append(scores.argmax().item())
    return labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512, help="width of the hidden layers")
    parser.add_argument("--steps", type=int, default=30_000, help="samples")
    options = parser.parse_args()
    torch.manual_seed(2)
    device = torch.device("cuda")
    model = network(128, options.size, 10).to(device)
    model.eval()
    samples = torch.randn(options.steps, 128)
    labels = classify(model, samples, device)
    print("counts", [labels.count(label) for label in range(10)])


if __name__ == "__main__":
    main()
