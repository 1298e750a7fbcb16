"""Reading files with a problem on each line, in any of the supported forms; the lines that PyTorch's TunableOp writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.files import cannot
from tuninglink.mlir.diagnostics import Place, error
from tuninglink.tuning.problems.commands import (
    HIPBLASLT_COMMAND,
    MIOPEN_COMMAND,
    read_hipblaslt,
    read_miopen,
)
from tuninglink.tuning.problems.problem import (
    ElementType,
    Problem,
    ProblemError,
    Product,
    read_size,
)
from tuninglink.tuning.problems.words import read_words

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
    """Read a line that TunableOp writes, such as `GemmTunableOp_Half_NT,nt_25088_4096_64,…`.

    Raises:
        ProblemError: the operation, its type or its sizes are not known.
    """
    indent = len(line) - len(line.lstrip())
    operation_text, _, rest = line.strip().partition(",")
    sizes_text = rest.partition(",")[0]
    operation, _, type_and_letters = operation_text.partition("_")
    if operation not in _OPERATIONS:
        raise ProblemError.unknown("operation", operation, _OPERATIONS, indent + 1)
    type_text = type_and_letters.rpartition("_")[0]
    if type_text not in _TYPES:
        column = indent + len(operation) + 2
        raise ProblemError.unknown("type", type_text, _TYPES, column)
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


def read_problem(line: str) -> Problem | None:
    """Read a line of a file.

    Returns:
        The problem; None for an empty line, a comment, or a header of TunableOp.

    Raises:
        ProblemError: the line has none of the supported forms.
    """
    if not line.strip() or line.lstrip().startswith(("#", VALIDATOR)):
        return None
    if SIGNATURE.match(line):
        return read_tunable_op(line)
    if command := MIOPEN_COMMAND.search(line):
        return read_miopen(line, command)
    if command := HIPBLASLT_COMMAND.search(line):
        return read_hipblaslt(line, command)
    return read_words(line)


def read_problem_file(path: str) -> list[Problem]:
    """Read a file of problems.

    Raises:
        TuninglinkError: the file cannot be read or has no problem, or lines have none of the supported forms.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None
    problems, errors = [], []
    for number, line in enumerate(lines, 1):
        try:
            problem = read_problem(line)
        except ProblemError as failure:
            errors.append(error(str(failure), Place(path, number, failure.column)))
            continue
        if problem is not None:
            problems.append(problem)
    if len(errors) > _SHOWN_ERRORS:
        rest = error(f"{len(errors) - _SHOWN_ERRORS} more lines of '{path}' cannot be read")
        errors = [*errors[:_SHOWN_ERRORS], rest]
    if errors:
        raise TuninglinkError(*errors)
    if not problems:
        raise TuninglinkError(error(f"there is no problem in '{path}'"))
    return problems


_SHOWN_ERRORS: Final = 10
"""The number of lines whose errors are reported one by one."""
