"""Finite domains: terms, bounds, search, counting, sampling, and Z3 behind them. No MLIR."""
