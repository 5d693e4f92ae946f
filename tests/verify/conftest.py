"""The bench that starts holders."""

from holding import bench

__all__ = ["bench"]
