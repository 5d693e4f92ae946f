"""The numba.cuda back end: parallel loop nests as kernels, their arrays kept on the device."""

from .back_end import loops_on_gpu, nest_on_gpu

__all__ = ["loops_on_gpu", "nest_on_gpu"]
