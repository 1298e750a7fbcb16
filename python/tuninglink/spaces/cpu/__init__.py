"""Constraints of our own on configurations for llvm-cpu, as the compiler has none."""
