"""Common parts of all commands: exit codes, standard streams and error handling."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli.terminal import is_quiet
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Severity, error
from tuninglink.mlir.rendering import Sources, print_diagnostic
from tuninglink.mlir.serialization import is_undecodable

if TYPE_CHECKING:
    from collections.abc import Callable

SUCCESS = 0
FAILURE = 1

_sources = Sources()
_kept: list[object] = []
_began: list[float] = []


def run(body: Callable[[], int]) -> int:
    """Run the body of a command and return the exit code of the process.

    A user error prints its diagnostics on standard error. A closed pipe fails silently.
    """
    _began.append(time.monotonic() - _age())
    try:
        code = body()
        sys.stdout.flush()
    except TuninglinkError as failure:
        show(*failure.diagnostics)
    except BrokenPipeError:
        pass
    except (RuntimeError, UnicodeDecodeError) as failure:
        if not is_undecodable(failure):
            raise
        show(error("an input has a string that is not UTF-8"))
    else:
        return code
    return FAILURE


def elapsed() -> float:
    """Return the seconds since the start of the command's process; 0 outside of commands."""
    return time.monotonic() - _began[-1] if _began else 0.0


def _age() -> float:
    """Return the seconds since the start of this process."""
    # The program name, in parentheses, may contain any character.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def keep(*objects: object) -> None:
    """Keep modules until the process ends, since freeing large ones op by op takes a tenth of the time of a command."""
    _kept.extend(objects)


def show(*diagnostics: Diagnostic) -> None:
    """Print diagnostics to standard error; remarks are omitted with `--quiet`."""
    for diagnostic in diagnostics:
        if diagnostic.severity is not Severity.REMARK or not is_quiet():
            print_diagnostic(diagnostic, _sources)


def shown_diagnostics() -> DiagnosticSink:
    """Return a sink that shows diagnostics immediately."""
    return DiagnosticSink(show)


def read_standard_input(name: str = "<stdin>") -> bytes:
    """Return all of standard input, and register it as `name` for quotes in diagnostics.

    Raises:
        TuninglinkError: standard input cannot be read.
    """
    try:
        content = sys.stdin.buffer.read()
    except OSError as failure:
        raise TuninglinkError(cannot("read", name, failure)) from None
    _sources.add(name, content)
    return content


def read_input(path: str) -> tuple[str, bytes]:
    """Return the name of an input in diagnostics, and its content; `-` is standard input.

    Raises:
        TuninglinkError: the file cannot be read.
    """
    if not path:
        raise TuninglinkError(error("an input has an empty name; expected a file"))
    if path == STANDARD_STREAM:
        return "<stdin>", read_standard_input()
    try:
        return path, Path(path).read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None


def refuse_binary_on_terminal() -> None:
    """Check that standard output accepts bytecode.

    Raises:
        TuninglinkError: standard output is a terminal.
    """
    if sys.stdout.isatty():
        message = "bytecode is not written to a terminal; name a file with -o"
        raise TuninglinkError(error(message))
