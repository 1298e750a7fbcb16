"""What IREE adds to MLIR: structured ops, root ops, targets, dispatches, configurations."""
