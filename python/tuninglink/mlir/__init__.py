"""Helpers over the bindings: walking, symbols and their uses, attributes, diagnostics, serialization."""

from tuninglink.mlir.diagnostics import (
    Diagnostic,
    DiagnosticSink,
    Place,
    Severity,
    collected_diagnostics,
    thread_context,
)
from tuninglink.mlir.serialization import is_bytecode, parse_module, to_bytecode, to_text
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbol_name, symbols
from tuninglink.mlir.walk import body, collect, visit

__all__ = [
    "Diagnostic",
    "DiagnosticSink",
    "FreshNames",
    "Place",
    "Severity",
    "body",
    "collect",
    "collected_diagnostics",
    "is_bytecode",
    "parse_module",
    "rename_symbols",
    "symbol_name",
    "symbols",
    "thread_context",
    "to_bytecode",
    "to_text",
    "visit",
]
