"""CuPy text from NumPy array statements, with the arrays on the device over the whole loop."""

from .back_end import arrays_on_gpu

__all__ = ["arrays_on_gpu"]
