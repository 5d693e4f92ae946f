"""A benchmark of matrix products: here waiting for the GPU is the point."""

import time

import torch


def seconds(size, repeats):
    a = torch.randn(size, size, device="cuda")
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        a = (a @ a).tanh()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    print(seconds(2048, 20) > 0)
