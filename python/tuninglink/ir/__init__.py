"""Small helpers over IREE's bindings: walking, names, symbols and their uses, attributes, diagnostics."""
