"""Retuning: the entries of specs against the compiler's own choices of today."""
