"""What IREE adds to MLIR: structured ops as data, root ops, targets, dispatches, configurations."""
