"""Constraints of our own on the configurations of contractions and attention on GPUs."""
