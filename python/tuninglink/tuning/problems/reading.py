"""Reading files with a problem on each line, in any of the supported forms."""

from __future__ import annotations

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
from tuninglink.tuning.problems.problem import Problem, ProblemError
from tuninglink.tuning.problems.tunable_ops import SIGNATURE, VALIDATOR, read_tunable_op
from tuninglink.tuning.problems.words import read_words


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
