"""Tuninglink's constraints on the configurations of ops on GPUs."""
