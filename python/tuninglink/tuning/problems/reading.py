"""Reading files with a problem on each line, in any of the supported forms."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuninglink.errors import TuninglinkError, counted
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir.diagnostics import Diagnostic, Place, error, note
from tuninglink.mlir.rendering import show_lines_of
from tuninglink.tuning.problems import Problem
from tuninglink.tuning.problems.aten_commands import ATEN_COMMAND, read_aten
from tuninglink.tuning.problems.blas_lines import (
    HIPBLASLT_COMMAND,
    LOGGED_FUNCTION,
    ROCBLAS_COMMAND,
    TUNABLE_OP,
    VALIDATOR,
    read_hipblaslt,
    read_logged_function,
    read_rocblas,
    read_tunable_op,
)
from tuninglink.tuning.problems.fusilli_commands import FUSILLI_COMMAND, read_fusilli
from tuninglink.tuning.problems.miopen_commands import MIOPEN_COMMAND, read_miopen
from tuninglink.tuning.problems.problem_text import ProblemError, UnsupportedError
from tuninglink.tuning.problems.words import read_words

_OTHER_COMMAND: Final = re.compile(
    r"^(?:\s*--?\w+\s+\d+)*\s*(?!fusilli_)(?P<operation>[A-Za-z./][\w:./-]*)(?=\s+-)"
)
"""The operation of a command that is not supported."""

_NO_PROBLEM: Final = re.compile(
    rf"\s*(?:$|#|{VALIDATOR}|\[SKIP\]|MIOpen\((?!.*MIOpenDriver(?:\.exe)?\s))"
)
"""The beginnings of lines without a problem; few lines of MIOpen's log are commands."""


def read_problems(line: str) -> tuple[Problem, ...]:
    """Read a line of a file.

    Returns:
        The problem, or those of the directions of a convolution; none for an empty line, a comment, a header of
        TunableOp, a line that Fusilli skips, or a line of MIOpen's log without a command.

    Raises:
        ProblemError: the line has none of the supported forms, or its problem is not supported.
    """
    if _NO_PROBLEM.match(line):
        return ()
    for pattern, read in _COMMANDS:
        if command := pattern.search(line):
            problems = read(line, command)
            return problems if isinstance(problems, tuple) else (problems,)
    if command := _OTHER_COMMAND.search(line):
        message = f"operation '{command['operation']}' is not supported"
        raise UnsupportedError(message, command.start("operation") + 1)
    return (read_words(line),)


_COMMANDS: Final[
    Sequence[tuple[re.Pattern[str], Callable[[str, re.Match[str]], Problem | tuple[Problem, ...]]]]
] = (
    (TUNABLE_OP, read_tunable_op),
    (LOGGED_FUNCTION, read_logged_function),
    (ATEN_COMMAND, read_aten),
    (HIPBLASLT_COMMAND, read_hipblaslt),
    (ROCBLAS_COMMAND, read_rocblas),
    (MIOPEN_COMMAND, read_miopen),
    (FUSILLI_COMMAND, read_fusilli),
)
"""The forms of lines of other tools, and their readers."""


@dataclass(frozen=True)
class ProblemFile:
    """The problems of a file.

    Attributes:
        name: the name of the file.
        problems: the problems.
        unsupported: the number of lines of other tools whose problems are not supported, by reason.
    """

    name: str
    problems: tuple[Problem, ...]
    unsupported: Mapping[str, int]

    @property
    def unsupported_lines(self) -> str:
        """The number of unsupported lines, in words."""
        return counted(sum(self.unsupported.values()), "line")


def read_problem_file(path: str, *, is_strict: bool = False) -> ProblemFile:
    """Read a file of problems.

    Args:
        path: the file; `-` for standard input.
        is_strict: whether lines whose problems are not supported are errors.

    Raises:
        TuninglinkError: the file cannot be read or has no problem, or lines have none of the supported forms.
    """
    name = "<stdin>" if path == STANDARD_STREAM else path
    problems: list[Problem] = []
    errors: list[Diagnostic] = []
    unsupported: Counter[str] = Counter()
    for number, line in enumerate(_lines(path), 1):
        try:
            problems += read_problems(line)
        except ProblemError as failure:
            if isinstance(failure, UnsupportedError) and not is_strict:
                unsupported[str(failure)] += 1
            else:
                errors.append(error(str(failure), Place(name, number, failure.column)))
    if len(errors) > _SHOWN_ERRORS:
        rest = error(f"{len(errors) - _SHOWN_ERRORS} more lines of '{name}' cannot be read")
        errors = [*errors[:_SHOWN_ERRORS], rest]
    if errors:
        raise TuninglinkError(*errors)
    if not problems:
        notes = [note(f"{reason} ({count})") for reason, count in unsupported.items()]
        raise TuninglinkError(error(f"there is no problem in '{name}'", notes=notes))
    return ProblemFile(name, tuple(problems), unsupported)


def _lines(path: str) -> list[str]:
    """Return the lines of a file or of standard input.

    Raises:
        TuninglinkError: the input cannot be read.
    """
    try:
        is_stream = path == STANDARD_STREAM
        show_lines_of(path)
        content = sys.stdin.buffer.read() if is_stream else Path(path).read_bytes()
        return content.decode().splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None


_SHOWN_ERRORS: Final = 10
"""The number of lines whose errors are reported one by one."""
