"""The command lines of commands that take a program and what to compile it for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tuninglink.cli.terminal import is_verbose
from tuninglink.compiler.flags import FlagReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.llvm_flags import Flag


def read_flags(own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> FlagReader:
    """Read a command line, and show what `--target` stands for if the command is verbose.

    Raises:
        TuninglinkError: the command line is wrong; see `FlagReader`.
    """
    reader = FlagReader(own_flags, arguments)
    if reader.target and is_verbose():
        sys.stderr.write(f"--target {reader.target}: {' '.join(reader.target_flags)}\n")
    return reader
