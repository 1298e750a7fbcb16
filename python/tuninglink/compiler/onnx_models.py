"""ONNX models as programs, through the compiler's importer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.mlir.serialization import to_bytecode

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX: Final = ".onnx"
"""Marks a model: its format has no signature."""

_OPSET: Final = 17
"""The version of ONNX's operators that IREE's documentation recommends to raise older models to."""


def import_onnx(path: Path) -> bytes:
    """Returns a model as a program in the dialect `torch`, as bytecode. Its function has the name of the graph.

    Weights are in the program, also those that the model keeps in files beside it.

    Raises:
        CompileError: the package `onnx` is missing, or the model cannot be imported.
    """
    try:
        from iree.compiler.tools.import_onnx import __main__ as importer  # noqa: PLC0415 - an extra
    except ImportError as failure:
        message = f"importing '{path}' needs the package 'onnx': {failure}"
        remedy = note("install the extra: pip install 'tuninglink[onnx]'")
        raise CompileError(error(message, notes=[remedy])) from None
    options = importer.parse_arguments([str(path), f"--opset-version={_OPSET}"])
    try:
        model = importer.onnx_importer.ModelInfo(importer.load_onnx_model(options))
        module = model.create_module(context=importer.Context()).operation
        importer.onnx_importer.NodeImporter.define_function(model.main_graph, module).import_all()
        module.verify()
    except Exception as failure:  # noqa: BLE001 - each library that the importer calls has its own
        reason = " ".join(str(failure).split()) or type(failure).__name__
        remedy = note(f"'iree-import-onnx {path} -o model.mlir' has options for models like it")
        raise CompileError(error(f"cannot import '{path}': {reason}", notes=[remedy])) from None
    return to_bytecode(module)
