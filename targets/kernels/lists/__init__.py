"""Kernels over lists and lists of lists: programs that run on their own, not imported."""
