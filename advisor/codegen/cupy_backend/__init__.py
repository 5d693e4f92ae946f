"""NumPy's array statements, and products of matrices, as CuPy's."""

from .back_end import arrays_on_gpu
from .products import products_on_gpu, products_on_gpu_together

__all__ = ["arrays_on_gpu", "products_on_gpu", "products_on_gpu_together"]
