"""Execute and compare."""
