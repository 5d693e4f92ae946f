"""The bench of tests/verify."""

from holding import bench

__all__ = ["bench"]
