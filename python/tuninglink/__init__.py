"""Tuninglink: the toolchain around tuning specs for IREE."""
