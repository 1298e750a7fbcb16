"""Reading products that libraries of linear algebra log: lines of TunableOp, and of rocBLAS and hipBLASLt.

These libraries store matrices by columns: their m is n here, and their first matrix is the right-hand side. PyTorch
writes lines of TunableOp, such as `GemmTunableOp_Half_NT,nt_25088_4096_64,…`.
"""

from __future__ import annotations

import re
from typing import Final

from tuninglink.tuning.problems import Product
from tuninglink.tuning.problems.problem_text import (
    CommandFlags,
    ElementType,
    MappingEntries,
    ProblemError,
    UnsupportedError,
    read_size,
)

_BLAS_TYPES: Final = {
    "f32_r": ElementType.F32,
    "f16_r": ElementType.F16,
    "bf16_r": ElementType.BF16,
    "i8_r": ElementType.I8,
    "f8_r": ElementType.F8E4M3FN,
    "bf8_r": ElementType.F8E5M2,
    "f8_fnuz_r": ElementType.F8E4M3FNUZ,
    "bf8_fnuz_r": ElementType.F8E5M2FNUZ,
    "s": ElementType.F32,
    "h": ElementType.F16,
}

_TYPES: Final = {
    "float": ElementType.F32,
    "tf32": ElementType.F32,
    "Half": ElementType.F16,
    "BFloat16": ElementType.BF16,
    "Float8_e4m3fn": ElementType.F8E4M3FN,
    "Float8_e5m2": ElementType.F8E5M2,
    "Float8_e4m3fnuz": ElementType.F8E4M3FNUZ,
    "Float8_e5m2fnuz": ElementType.F8E5M2FNUZ,
}
_SCALED: Final = "ScaledGemmTunableOp"
_SCALED_TYPES: Final = re.compile(r"(Float8_[^_]+)_(Float8_[^_]+)_\w+")
"""The types of the operands and of the result. Scales are applied to the result, in operations after the product."""

_OPERATIONS: Final = (
    *("GemmTunableOp", "GemmAndBiasTunableOp", "GemmStridedBatchedTunableOp"),
    _SCALED,
)
_BATCHED: Final = "GemmStridedBatchedTunableOp"

_SIZES: Final = re.compile(r"([nt])([nt])_(\d+)_(\d+)_(\d+)(?:_B_(\d+))?(?=_|$)")

VALIDATOR: Final = "Validator,"
"""The beginning of lines with the versions of the libraries."""

TUNABLE_OP: Final = re.compile(r"^\s*(\w+TunableOp)_")
"""The beginning of a line with a problem."""


def read_tunable_op(line: str, _line: re.Match[str]) -> Product:
    """Read a line of TunableOp, which `TUNABLE_OP` matches.

    Raises:
        ProblemError: the operation, its type or its sizes are unknown.
    """
    indent = len(line) - len(line.lstrip())
    # Split `OPERATION_TYPE_LETTERS,LETTERS_SIZES`.
    operation_text, _, rest = line.strip().partition(",")
    sizes_text = rest.partition(",")[0]
    operation, _, type_and_letters = operation_text.partition("_")
    if operation not in _OPERATIONS:
        raise UnsupportedError.unknown("operation", operation, _OPERATIONS, indent + 1)
    type_text = type_and_letters.rpartition("_")[0]
    column = indent + len(operation) + 2
    if operation == _SCALED and (operands := _SCALED_TYPES.fullmatch(type_text)):
        type_text = operands[1]
        if operands[2] != type_text:
            raise UnsupportedError("operands of different types are not supported", column)
    if type_text not in _TYPES:
        raise UnsupportedError.unknown("type", type_text, _TYPES, column)
    # Read the letters of transposition, and the sizes.
    letters_and_sizes = _SIZES.match(sizes_text)
    is_batched = operation == _BATCHED
    first, second, *texts = letters_and_sizes.groups() if letters_and_sizes else ("", "")
    sizes = [read_size(text) for text in texts if text is not None]
    valid = [size for size in sizes if size is not None]
    if len(valid) < len(sizes) or len(sizes) != (4 if is_batched else 3):
        form = "nt_M_N_K_B_BATCH" if is_batched else "nt_M_N_K"
        column = indent + len(operation_text) + 2
        raise ProblemError(f"invalid sizes '{sizes_text}': expected {form}", column)
    # The operands are column-major: rows and columns are exchanged.
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


HIPBLASLT_COMMAND: Final = re.compile(r"(?<![\w-])hipblaslt-bench(?=\s)")
"""The name of hipBLASLt's benchmark, anywhere in a line."""

ROCBLAS_COMMAND: Final = re.compile(r"(?<![\w-])rocblas-bench(?=\s)")
"""The name of rocBLAS's benchmark, anywhere in a line."""

LOGGED_FUNCTION: Final = re.compile(r"^\s*-\s*\{(?=.*\bfunction\s*:|.*\brocblas_function\s*:)")
"""The beginning of a line of the logs of both libraries in YAML."""

_LONG_NAMES: Final = {
    "r": "precision",
    "B": "batch_count",
    "transposeA": "transA",
    "transposeB": "transB",
    "function": "f",
    "rocblas_function": "f",
    "M": "m",
    "N": "n",
    "K": "k",
    "sizem": "m",
    "sizen": "n",
    "sizek": "k",
}

_FUNCTION: Final = re.compile(r"matmul|(?:rocblas_)?gemm(?:_strided)?(?:_batched)?(?:_ex)?(?:_64)?")

_SCALES_OF_RESULTS: Final = ("0", "1", "2", "s", "v")
"""The scales of `hipblaslt-bench` for none, a scalar and a vector, in new and old releases."""


def read_hipblaslt(line: str, command: re.Match[str]) -> Product:
    """Read a product of `hipblaslt-bench`.

    Args:
        line: the line.
        command: the match of `HIPBLASLT_COMMAND` in it.

    Raises:
        ProblemError: a size is missing or a value unknown.
    """
    flags = CommandFlags(line, command.end(), _LONG_NAMES)
    for name in ("scaleA", "scaleB"):
        # Scales of whole matrices and of rows are applied after the product.
        if (scale := flags.text(name, "0")) not in _SCALES_OF_RESULTS:
            raise UnsupportedError.unknown("scale", scale, _SCALES_OF_RESULTS, flags.column(name))
    if flags.has("grouped_gemm"):
        raise UnsupportedError("grouped products are not supported", flags.column("grouped_gemm"))
    return _read_product(flags)


def read_rocblas(line: str, command: re.Match[str]) -> Product:
    """Read a product of `rocblas-bench`.

    Args:
        line: the line.
        command: the match of `ROCBLAS_COMMAND` in it.

    Raises:
        ProblemError: it is another function, a size is missing or a value unknown.
    """
    flags = CommandFlags(line, command.end(), _LONG_NAMES)
    _check_function(flags)
    return _read_product(flags)


def read_logged_function(line: str, start: re.Match[str]) -> Product:
    """Read a product of a log in YAML.

    Args:
        line: the line.
        start: the match of `LOGGED_FUNCTION` in it.

    Raises:
        ProblemError: it is another function, a size is missing or a value unknown.
    """
    entries = MappingEntries(line, start.end(), _LONG_NAMES)
    _check_function(entries)
    return _read_product(entries)


def _check_function(flags: CommandFlags) -> None:
    function = flags.text("f", "")
    if not _FUNCTION.fullmatch(function):
        message = (
            f"function '{function}' is not supported: expected gemm, gemm_ex or another product"
        )
        raise UnsupportedError(message, flags.column("f"))


def _read_product(flags: CommandFlags) -> Product:
    letters = {"N": False, "T": True}
    transposed = [
        flags.choice(name, letters, "N", noun=f"--{name}") for name in ("transA", "transB")
    ]
    element = flags.operand_type(_BLAS_TYPES, flags.text("precision", "f32_r"))
    batch = flags.number("batch_count", 1, 1)
    return Product(
        flags.number("n", 1),
        flags.number("m", 1),
        flags.number("k", 1),
        element,
        batch if batch > 1 else None,
        transposes_a=transposed[1],
        transposes_b=transposed[0],
    )
