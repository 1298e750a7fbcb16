"""Decisions: races of finalists, comparisons of whole programs, and verification of winners."""
