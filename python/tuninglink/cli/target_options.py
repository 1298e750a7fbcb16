"""The command lines of commands that take a program and what to compile it for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tuninglink.cli import process
from tuninglink.cli.terminal import is_verbose
from tuninglink.compiler.flags import FlagReader
from tuninglink.compiler.preprocessing_specs import spec_diagnostics
from tuninglink.compiler.session import set_up_command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.llvm_flags import Flag


def set_up_compiler(program: str, flags: Sequence[str], *, upgrade: bool = True) -> None:
    """Set process-wide flags for a command that compiles programs, and report its preprocessing specs.

    Raises:
        CompileError: a pass pipeline or a preprocessing spec is malformed.
    """
    set_up_command_line(program, flags)
    process.show(*spec_diagnostics(flags, upgrade=upgrade))


def read_flags(own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> FlagReader:
    """Read a command line, and show what `--target` stands for if the command is verbose.

    Raises:
        TuninglinkError: the command line is wrong; see `FlagReader`.
    """
    reader = FlagReader(own_flags, arguments)
    if reader.target and is_verbose():
        sys.stderr.write(f"--target {reader.target}: {' '.join(reader.target_flags)}\n")
    return reader
