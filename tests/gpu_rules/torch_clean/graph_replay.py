"""A physical simulation on the device, replayed as a CUDA graph."""

import torch


def step(u, v, dt):
    lap = torch.roll(u, 1, 0) + torch.roll(u, -1, 0) - 2 * u
    v.add_(lap, alpha=dt)
    u.add_(v, alpha=dt)


def main():
    u = torch.sin(torch.linspace(0, 6.28, 100_000, device="cuda"))
    v = torch.zeros_like(u)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(u, v, 0.0)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(u, v, 0.01)
    for _ in range(2000):
        graph.replay()
    print(round(u.abs().mean().item(), 4))


if __name__ == "__main__":
    main()
