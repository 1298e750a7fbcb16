"""Retuning: comparison of specs' entries with the current compiler's choices."""
