"""Kernels over NumPy arrays: programs that run on their own, not imported."""
