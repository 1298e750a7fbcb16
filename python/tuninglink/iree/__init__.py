"""IREE's additions to MLIR: structured ops as data, root ops, targets, dispatches, configurations."""
