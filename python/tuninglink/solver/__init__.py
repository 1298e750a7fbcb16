"""The finite-domain solver: terms, bounds, search, counting and sampling, with Z3 as the fallback. No MLIR."""
