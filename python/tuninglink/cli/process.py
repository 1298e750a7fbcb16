"""The run of a command, from the command line to the exit code; standard streams and error handling."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

from tuninglink.cli.terminal import columns, folded, is_quiet
from tuninglink.cli.usage import (
    COMPLETE_HELP,
    COMPLETION_REQUEST,
    HELP_COMMAND,
    INSTALL_FLAG,
    SUMMARIES,
    help_text,
    module_of,
    overview,
    usage_error,
    usage_of,
    words_after,
)
from tuninglink.compiler_plugins import check_plugins
from tuninglink.errors import (
    Diagnostic,
    Severity,
    TuninglinkError,
    UsageError,
    did_you_mean,
    printable,
)
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.lazy import load_on_use
from tuninglink.llvm_flags import ambiguous
from tuninglink.mlir import (
    LONGEST_LINE,
    DiagnosticSink,
    Sources,
    error,
    is_undecodable,
    note,
    render,
    show_lines_of,
    wants_color,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


HELP_FLAGS: Final = ("--help", "-help", "-h", f"--{COMPLETE_HELP}")
_VERSION: Final = "--version"
_COMPLETION_FLAGS: Final = (INSTALL_FLAG, "--show-completion")


def run_command(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code of the command; only the module of the command is loaded."""
    first = "".join(arguments[:1])
    if COMPLETION_REQUEST in os.environ or first in _COMPLETION_FLAGS:
        from tuninglink.cli.completion import complete  # noqa: PLC0415 - typer takes as long as a small run

        return complete(arguments)
    if first == HELP_COMMAND:
        arguments = [*arguments[1:], "--help"]
    name, rest = ("", ()) if first == _VERSION else _command(arguments)
    # As a flag of iree-compile, --version names the revision, too.
    if first == _VERSION or (list(rest) == [_VERSION] and name != "compile"):
        from importlib import metadata  # noqa: PLC0415 - takes as long to load as a small run

        sys.stdout.write(f"tuninglink {metadata.version('tuninglink')}\n")
        sys.stdout.write(f"IREE compiler {metadata.version('iree-base-compiler')}\n")
        return 0
    if name not in SUMMARIES:
        sys.stdout.write(overview(name))
        return 0
    if not set(HELP_FLAGS).isdisjoint(rest):
        # Help needs no extra, which the modules of commands import.
        for package in ("iree.runtime", "ml_dtypes"):
            load_on_use(package)
        sys.stdout.write(help_text(usage_of(name), is_complete=f"--{COMPLETE_HELP}" in rest))
        return 0
    if message := ambiguous(rest):
        raise usage_error(message)
    # Without temporary files, the compiler crashes.
    folder = next(filter(None, map(os.environ.get, ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))), "/tmp")  # noqa: S108
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
    except OSError as failure:
        problem = cannot("write temporary files to", folder, failure)
        remedy = note("the compiler may crash without them; set TMPDIR to another directory")
        show(replace(problem, severity=Severity.WARNING, notes=(remedy,)))
    *_, function = name.split()
    code: int = getattr(module_of(name), f"{function}_command")(rest)
    return code


def _command(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the name of the command, or of the group whose overview is requested, and the command's arguments."""
    name = ""
    for position, word in enumerate(arguments):
        if word in HELP_FLAGS:
            break
        prefix, names = f"{name} " if name else "", words_after(name)
        name = f"{prefix}{word}"
        if word not in names:
            hint = did_you_mean(word, names)
            remedy = f"see 'tuninglink {prefix}--help'"
            raise usage_error(f"no such command '{name}'{hint}", remedy)
        if name in SUMMARIES:
            return name, arguments[position + 1 :]
    return name, ()


SUCCESS = 0
FAILURE = 1
USAGE_ERROR = 2

_sources = Sources()
_kept: list[object] = []
_began: list[float] = []
_failed: list[bool] = []


def run(arguments: Sequence[str], plugin_failures: Sequence[str] = ()) -> int:
    """Run a command line and return the exit code of the process.

    A user error prints its diagnostics on standard error. A closed pipe fails silently.
    """
    # The program name, in parentheses, may contain any character.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    age = max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    _began.append(time.monotonic() - age)
    try:
        check_plugins(plugin_failures)
        code = run_command(arguments)
        sys.stdout.flush()
    except TuninglinkError as failure:
        diagnostics, command = failure.diagnostics, "".join(arguments[:1])
        lacks_target = "no HAL devices defined in the module"
        if any(failed.message.startswith(lacks_target) for failed in diagnostics):
            from tuninglink.compiler import no_target  # noqa: PLC0415 - loads the compiler

            failure = no_target()
        show(*failure.diagnostics)
        # `compile` has the exit codes of iree-compile.
        is_usage = isinstance(failure, UsageError) and command != "compile"
        return USAGE_ERROR if is_usage else FAILURE
    except BrokenPipeError:
        pass
    except ModuleNotFoundError as failure:
        if not failure.name or failure.name.startswith("tuninglink"):
            raise
        remedy = note("'tuninglink doctor' lists the extras and their packages")
        show(error(f"the Python package '{failure.name}' is not installed", notes=[remedy]))
    except OSError as failure:  # such as a name that is too long, or a full disk
        show(cannot("access", failure.filename or "a file", failure))
    except (RuntimeError, UnicodeDecodeError) as failure:
        if not is_undecodable(failure):
            raise
        show(error("an input has a string that is not UTF-8"))
    else:
        return code or (FAILURE if _failed else SUCCESS)
    return FAILURE


def fail() -> None:
    """Let the command end with exit code 1, although it goes on after an error."""
    _failed.append(True)


def elapsed() -> float:
    """Return the seconds since the start of the command's process; 0 outside of commands."""
    return time.monotonic() - _began[-1] if _began else 0.0


def keep(*objects: object) -> None:
    """Keep modules until the process ends; freeing large modules op by op takes a tenth of the time of a command."""
    _kept.extend(objects)


def show(*diagnostics: Diagnostic) -> None:
    """Print diagnostics to standard error; remarks are omitted with `--quiet`."""
    stream = sys.stderr
    width = columns(stream) if stream.isatty() else LONGEST_LINE
    for diagnostic in diagnostics:
        if diagnostic.severity is not Severity.REMARK or not is_quiet():
            text = render(diagnostic, _sources, color=wants_color(stream), width=width)
            stream.write(folded(text, stream))  # a worker, which tunes, has the plain stream
            stream.flush()


def shown_diagnostics() -> DiagnosticSink:
    """Return a sink that shows diagnostics immediately."""
    return DiagnosticSink(show)


def read_standard_input(name: str = "<stdin>") -> bytes:
    """Return all of standard input, and register it as `name` for quotes in diagnostics."""
    try:
        content = sys.stdin.buffer.read()
    except OSError as failure:
        raise TuninglinkError(cannot("read", name, failure)) from None
    _sources.add(name, content)
    return content


def read_input(path: str) -> tuple[str, bytes]:
    """Return the name of an input in diagnostics, and its content; `-` is standard input."""
    if not path:
        raise usage_error("an input has an empty name; expected a file")
    if path == STANDARD_STREAM:
        return "<stdin>", read_standard_input()
    show_lines_of(path)
    try:
        return printable(path), Path(path).read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None


def refuse_binary_on_terminal() -> None:
    """Check that standard output accepts bytecode."""
    if sys.stdout.isatty():
        remedy = "name a file with -o, or pipe the output to a program"
        raise usage_error("binary output is not written to a terminal", remedy)
