"""Renderers of a Report."""
