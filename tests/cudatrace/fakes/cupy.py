"""As much of CuPy as one mistake needs."""

import types

import fake_cuda


def ones(count: int) -> object:
    fake_cuda.launch("cupy_fill")
    return object()


def get_default_memory_pool() -> object:
    return types.SimpleNamespace(free_all_blocks=lambda: fake_cuda.launch("free"))
