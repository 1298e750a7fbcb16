"""Preprocessing specs, which replace ops of the program before dispatches are formed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import error, names, note
from tuninglink.specs.module_scan import (
    PREPROCESSING_FLAG,
    has_entry_point,
    preprocessing_entry_points,
)
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.spec import check_passes
from tuninglink.upgrading import read_module

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir import DiagnosticSink


PREPROCESSING_SPEC = "preprocessing spec"
"""The words for the kind of the spec."""


def read_preprocessing_spec(
    data: bytes,
    name: str,
    context: mlir.Context,
    *,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> mlir.Operation:
    """Return the module that the compiler should preprocess a program with, read as tuning specs are."""
    module = read_module(data, name, context, upgrade=upgrade, diagnostics=diagnostics)
    if has_entry_point(module) and not preprocessing_entry_points(module):
        remedy = note("pass it with '--spec FILE'")
        message = f"a tuning spec, not a spec for '{PREPROCESSING_FLAG}'"
        raise SpecError(error(message, module, [remedy]))
    check_passes(SequenceTable(module))
    return module


def preprocessing_spec(
    data: bytes,
    name: str,
    context: mlir.Context,
    *,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> mlir.Operation | None:
    """Return the module of a preprocessing spec; None for any other file."""
    if names.TRANSFORM_MAIN.encode() not in data:
        return None
    module = read_module(data, name, context, upgrade=upgrade, diagnostics=diagnostics)
    if has_entry_point(module) or not preprocessing_entry_points(module):
        return None
    check_passes(SequenceTable(module))
    return module
