"""Dialects of which the bindings load the classes of ops alone, or nothing, see `tuninglink.mlir.diagnostics`."""
