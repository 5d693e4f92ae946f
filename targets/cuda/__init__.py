"""Bundled programs that use a GPU: each with a few of the classic mistakes, or with none."""
