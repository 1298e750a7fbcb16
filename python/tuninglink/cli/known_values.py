"""Known values of flags for shell completion, and the check of names against a database."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tuninglink.tuning.database import Database

_LINES: Final = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""The variables with the command line so far: bash's, and that of other shells."""

_SECONDS: Final = 5
"""The time limit for finding the dispatches of a program, while a shell waits."""


def typed_words() -> list[str]:
    """Return the words of the command line that a shell completes."""
    line = _typed_line()
    try:
        return shlex.split(line)
    except ValueError:  # a quote is open
        return line.split()


def is_new_word() -> bool:
    """Return whether the word that a shell completes is empty."""
    return _typed_line()[-1:].isspace()


def _typed_line() -> str:
    return next((os.environ[variable] for variable in _LINES if variable in os.environ), "")


def known_compiler_flags() -> Mapping[str, Sequence[str]]:
    """Return the compiler's `iree-` flags, with the values that its help lists and the names of known targets."""
    from tuninglink.compiler.probing import listed_values  # noqa: PLC0415 - loads the compiler
    from tuninglink.compiler.target_flags import compile_flags  # noqa: PLC0415
    from tuninglink.iree.targets import known_target_names  # noqa: PLC0415

    flags = {name: values for name, values in listed_values().items() if name.startswith("iree-")}
    flags["iree-opt-level"] = ["O0", "O1", "O2", "O3"]
    for target in known_target_names().values():
        for flag in compile_flags(target):
            name, _, value = flag.removeprefix("--").partition("=")
            flags.setdefault(name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in flags.items()}


def known_devices() -> Iterable[str]:
    """Return the drivers of the runtime; the name of a driver also names its first device."""
    try:
        from iree import runtime  # noqa: PLC0415 - an extra
    except ImportError:
        return ()
    return sorted(runtime.query_available_drivers())


def known_searches() -> Iterable[str]:
    """Return the names of search algorithms."""
    from tuninglink.tuning.search import search_names  # noqa: PLC0415 - only a shell needs the list

    return search_names()


def known_records(column: str) -> Callable[[], Iterable[str]]:
    """Return a function that returns the values of a column of the database on the command line that a shell completes.

    Args:
        column: see `Database.values`.
    """

    def known() -> Iterable[str]:
        from tuninglink.tuning.database import Database, DatabaseError  # noqa: PLC0415

        path = next((word for word in typed_words()[3:] if Path(word).is_file()), None)
        if path is None:
            return ()
        try:
            with Database(Path(path), read_only=True) as database:
                return list(filter(None, database.values(column)))
        except DatabaseError:
            return ()

    return known


def known_pipelines() -> Iterable[str]:
    """Return the names of the compiler's pipelines."""
    from tuninglink.iree.release import CPU_PIPELINES, GPU_PIPELINES, gpu_enumerators  # noqa: PLC0415

    return sorted(CPU_PIPELINES.union(*map(gpu_enumerators, GPU_PIPELINES)))


def check_pipelines(names: Iterable[str]) -> None:
    """Check that the compiler has pipelines.

    Raises:
        UsageError: the compiler lacks a pipeline.
    """
    for name in names:
        pipelines = known_pipelines()
        if name not in pipelines:
            listed = note(f"the compiler has {', '.join(pipelines)}")
            message = f"unknown pipeline '{name}'{did_you_mean(name, pipelines)}"
            raise UsageError(error(message, notes=[listed]))


def known_dispatches() -> Iterable[str]:
    """Return the names of the dispatches of the program on the command line that a shell completes."""
    from tuninglink.compiler.probing import iree_compile  # noqa: PLC0415 - loads the compiler

    words = typed_words()
    program = next((word for word in words[2:] if Path(word).is_file()), None)
    if program is None:
        return ()
    flags = [word for word in words if word.startswith("--iree-")]
    command = [str(iree_compile()), program, *flags, "--compile-to=flow", "--emit-mlir-bytecode"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return ()
    return _executables(done.stdout)


def _executables(content: bytes) -> list[str]:
    from iree.compiler import ir  # noqa: PLC0415

    from tuninglink.mlir.diagnostics import thread_context  # noqa: PLC0415
    from tuninglink.mlir.serialization import parse_module  # noqa: PLC0415

    module = parse_module(content, "", thread_context())
    return [
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in module.regions[0].blocks[0]
        if op.name == "flow.executable"
    ]


def check_recorded(
    database: Database, noun: str, names: Iterable[str], columns: Iterable[str]
) -> None:
    """Check that names of problems are in a database, since a spelling mistake would select nothing.

    Args:
        database: the database.
        noun: the noun for a name.
        names: the names.
        columns: the columns that may contain the names; see `Database.values`.

    Raises:
        TuninglinkError: a name is missing from the database.
    """
    recorded = {value for column in columns for value in database.values(column) if value}
    for name in names:
        if name not in recorded:
            listed = note(f"it has {', '.join(sorted(recorded)) or 'no trials'}")
            message = f"the database has no {noun} '{name}'{did_you_mean(name, recorded)}"
            raise TuninglinkError(error(message, notes=[listed]))
