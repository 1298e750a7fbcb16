"""Remedies for operators of frameworks that the compiler does not support."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.mlir.diagnostics import note

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic

_UNSUPPORTED: Final = re.compile(
    r"failed to legalize operation 'torch\.operator'.*?name = \"(torch\.aten|onnx)\.([\w.]+)\""
)
_REMEDIES: Final = {
    "torch.aten": "the compiler does not know the operator 'aten.{}' of PyTorch; export with 'tuninglink.torch', or "
    "export what 'run_decompositions()' of the exported program returns",
    "onnx": "the compiler does not support the operator '{}' of ONNX as this model uses it; another opset, "
    "'torch.onnx.export' with 'dynamo=True', or a tool that infers shapes and folds constants may avoid it",
}


def with_import_remedy(diagnostic: Diagnostic) -> Diagnostic:
    """Return a diagnostic with a note if it is about an operator of PyTorch or ONNX."""
    match = _UNSUPPORTED.search(diagnostic.message)
    if match is None:
        return diagnostic
    remedy = note(_REMEDIES[match[1]].format(match[2]))
    return replace(diagnostic, notes=(remedy, *diagnostic.notes))
