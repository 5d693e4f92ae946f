"""Particles that relax in a field: zeros are made on the CPU, and every step is waited for."""

import time

import torch

device = "cuda"


def relax(count, steps):
    position = torch.linspace(0.0, 1.0, count).to(device)
    energy = 0.0
    for _ in range(steps):
        force = torch.zeros(count).to(device)
        force -= position
        position = position + 0.01 * force
        energy += position.pow(2).sum().item()
        torch.cuda.synchronize()
    return energy, position.sum().item()


if __name__ == "__main__":
    began = time.time()
    energy, final = relax(200_000, 300)
    print(round(energy, 3), round(final, 5))
    assert time.time() > began
