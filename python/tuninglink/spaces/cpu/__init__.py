"""Tuninglink's constraints on configurations for llvm-cpu, for which the compiler has none."""
