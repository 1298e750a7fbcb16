"""Reading the lines that PyTorch's TunableOp writes, such as `GemmTunableOp_Half_NT,nt_25088_4096_64,…`.

It stores matrices by columns, as hipBLASLt does: its m is our n, and its first matrix is our right-hand side.
"""

from __future__ import annotations

import re
from typing import Final

from tuninglink.tuning.problems.problem import (
    ElementType,
    ProblemError,
    Product,
    UnsupportedError,
    read_size,
)

_TYPES: Final = {
    "float": ElementType.F32,
    "tf32": ElementType.F32,
    "Half": ElementType.F16,
    "BFloat16": ElementType.BF16,
}
_OPERATIONS: Final = ("GemmTunableOp", "GemmAndBiasTunableOp", "GemmStridedBatchedTunableOp")
_BATCHED: Final = "GemmStridedBatchedTunableOp"

_SIZES: Final = re.compile(r"([nt])([nt])_(\d+)_(\d+)_(\d+)(?:_B_(\d+))?(?=_|$)")

VALIDATOR: Final = "Validator,"
"""The beginning of lines with the versions of the libraries."""

SIGNATURE: Final = re.compile(r"\s*(\w+TunableOp)_")
"""The beginning of a line with a problem."""


def read_tunable_op(line: str) -> Product:
    """Read a product.

    Raises:
        ProblemError: the operation, its type or its sizes are not known.
    """
    indent = len(line) - len(line.lstrip())
    operation_text, _, rest = line.strip().partition(",")
    sizes_text = rest.partition(",")[0]
    operation, _, type_and_letters = operation_text.partition("_")
    if operation not in _OPERATIONS:
        raise UnsupportedError.unknown("operation", operation, _OPERATIONS, indent + 1)
    type_text = type_and_letters.rpartition("_")[0]
    if type_text not in _TYPES:
        column = indent + len(operation) + 2
        raise UnsupportedError.unknown("type", type_text, _TYPES, column)
    letters_and_sizes = _SIZES.match(sizes_text)
    is_batched = operation == _BATCHED
    first, second, *texts = letters_and_sizes.groups() if letters_and_sizes else ("", "")
    sizes = [read_size(text) for text in texts if text is not None]
    valid = [size for size in sizes if size is not None]
    if len(valid) < len(sizes) or len(sizes) != (4 if is_batched else 3):
        form = "nt_M_N_K_B_BATCH" if is_batched else "nt_M_N_K"
        column = indent + len(operation_text) + 2
        raise ProblemError(f"invalid sizes '{sizes_text}': expected {form}", column)
    columns, rows, terms, *batch = valid
    return Product(
        rows,
        columns,
        terms,
        _TYPES[type_text],
        batch[0] if batch else None,
        transposes_a=second == "t",
        transposes_b=first == "t",
    )
