"""What every command has in common: exit codes, standard streams, and how failures end."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli.verbosity import is_quiet
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir.diagnostics import DiagnosticSink, Severity, error
from tuninglink.mlir.rendering import Sources, print_diagnostic
from tuninglink.mlir.serialization import is_undecodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.mlir.diagnostics import Diagnostic

SUCCESS = 0
FAILURE = 1

_sources = Sources()
_kept: list[object] = []
_began: list[float] = []


def run(body: Callable[[], int]) -> int:
    """Run the body of a command and return the exit code of the process.

    A mistake of the user ends with its diagnostics on standard error. If the reader of a pipe has closed it, the
    command fails without a message.
    """
    _began.append(time.monotonic() - _age())
    try:
        code = body()
        sys.stdout.flush()
    except TuninglinkError as failure:
        show(*failure.diagnostics)
    except BrokenPipeError:
        pass
    except RuntimeError as failure:
        if not is_undecodable(failure):
            raise
        show(error("an input has a string that is not UTF-8"))
    else:
        return code
    return FAILURE


def elapsed() -> float:
    """Return the seconds since the process of the command began; 0 where no command runs."""
    return time.monotonic() - _began[-1] if _began else 0.0


def _age() -> float:
    """Return the seconds since this process began."""
    # The name of the program, in parentheses, may hold anything.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def keep(*objects: object) -> None:
    """Keep modules until the process ends, since freeing large ones op by op takes a tenth of the time of a command."""
    _kept.extend(objects)


def show(*diagnostics: Diagnostic) -> None:
    """Print diagnostics to standard error, remarks unless the command is to be quiet."""
    for diagnostic in diagnostics:
        if diagnostic.severity is not Severity.REMARK or not is_quiet():
            print_diagnostic(diagnostic, _sources)


def shown_diagnostics() -> DiagnosticSink:
    """Return a sink that shows what it is given at once."""
    return DiagnosticSink(show)


def read_standard_input(name: str = "<stdin>") -> bytes:
    """Return all of standard input, which diagnostics then can quote from as `name`.

    Raises:
        TuninglinkError: it cannot be read.
    """
    try:
        content = sys.stdin.buffer.read()
    except OSError as failure:
        raise TuninglinkError(cannot("read", name, failure)) from None
    _sources.add(name, content)
    return content


def read_input(path: str) -> tuple[str, bytes]:
    """Return what diagnostics call an input, and its content; `-` is standard input.

    Raises:
        TuninglinkError: the file cannot be read.
    """
    if path == STANDARD_STREAM:
        return "<stdin>", read_standard_input()
    try:
        return path, Path(path).read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None


def refuse_binary_on_terminal() -> None:
    """Check that standard output is something to write bytecode to.

    Raises:
        TuninglinkError: it is a terminal.
    """
    if sys.stdout.isatty():
        message = "bytecode is not written to a terminal; name a file with -o"
        raise TuninglinkError(error(message))
