"""Runs of the user's program and what they showed."""
