"""The contents of `dense_resource` constants, to which the MLIR bindings give no access."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.tuning.devices.inputs import Bytes

_SECTION: Final = "\n{-#"
_BLOB: Final = re.compile(r'^\s*"?([^\s":]+)"?:\s*"0x([0-9A-Fa-f]*)"', re.MULTILINE)
_ALIGNMENT_DIGITS: Final = 8
"""The digits of the 32-bit alignment at the start of a blob (MLIR's AsmResourceBlob)."""


def resource_values(module: mlir.Operation) -> dict[str, Bytes]:
    """Return the bytes of all resources in the text of a module, by name."""
    text = str(module)
    start = text.rfind(_SECTION)
    if start < 0:
        return {}
    return {
        blob[1]: np.frombuffer(bytes.fromhex(blob[2][_ALIGNMENT_DIGITS:]), np.uint8)
        for blob in _BLOB.finditer(text, start)
    }
