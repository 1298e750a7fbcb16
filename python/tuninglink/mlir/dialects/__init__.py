"""Dialects of which the bindings load the classes of ops alone, see `tuninglink.mlir.diagnostics`."""
