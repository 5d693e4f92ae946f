"""Measure first, rewrite second: verified rewrites for slow Python scripts."""

from importlib.metadata import version

__version__ = version("gpuadvise")
