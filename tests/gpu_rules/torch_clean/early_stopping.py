"""Gradient descent that tests for convergence every hundred steps."""

import torch


def descend(target, steps):
    x = torch.zeros_like(target, requires_grad=True)
    for step in range(steps):
        loss = ((x - target) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, x)
        with torch.no_grad():
            x -= 100.0 * gradient
        if step % 100 == 99 and loss.item() < 1e-6:
            break
    return x.detach()


if __name__ == "__main__":
    torch.manual_seed(1)
    print(round(descend(torch.randn(1000, device="cuda"), 400).std().item(), 4))
