"""Measure first, rewrite second: verified rewrites for slow Python scripts."""
