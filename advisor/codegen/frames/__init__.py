"""Loops over the rows of a pandas frame, written as loops over its columns."""
