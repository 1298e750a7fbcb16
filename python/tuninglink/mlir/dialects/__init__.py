"""Dialects whose classes of ops alone, or no classes, are loaded by the bindings; see `tuninglink.mlir.diagnostics`."""
