"""Dialects of which the bindings load only classes of ops, or no classes; see `tuninglink.mlir.diagnostics`."""
