"""The message of a failure of the compiler, with diagnostics and without."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir

from tuninglink.mlir import first_error


@pytest.mark.parametrize(
    ("emits", "message"),
    [(False, "undefined symbol alias id 'no'"), (True, "Unable to parse attribute")],
)
def test_a_failure_without_diagnostics_has_its_own_text(*, emits: bool, message: str) -> None:
    context = mlir.Context()
    context.emit_error_diagnostics = emits  # emitted diagnostics are not part of the exception
    with pytest.raises(mlir.MLIRError) as failure:
        mlir.Attribute.parse("#no", context)
    assert first_error(failure.value) == message
