"""Preprocessing specs for the compiler, which reads them from files: old ones are upgraded in a copy."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from tuninglink.errors import CompileError, Diagnostic, SpecError, printable
from tuninglink.files import cannot
from tuninglink.mlir import DiagnosticSink, show_lines_of, thread_context, to_bytecode
from tuninglink.specs import PREPROCESSING_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterable


def with_current_specs(flags: Iterable[str]) -> list[str]:
    """Return flags of the compiler with copies in place of old preprocessing specs."""
    result = []
    for flag in flags:
        spec = _content(flag)
        copy = _read(*spec)[0] if spec else None
        result.append(flag if copy is None else f"{PREPROCESSING_FLAG}=/dev/fd/{copy.fileno()}")
    return result


def spec_diagnostics(flags: Iterable[str], *, upgrade: bool = True) -> list[Diagnostic]:
    """Return the remarks and warnings about the preprocessing specs among flags.

    Args:
        flags: flags of the compiler.
        upgrade: whether old specs are upgraded; otherwise they are rejected.

    Raises:
        CompileError: a preprocessing spec cannot be read.
    """
    specs = filter(None, map(_content, flags))
    return [diagnostic for spec in specs for diagnostic in _read(*spec, upgrade=upgrade)[1]]


def _content(flag: str) -> tuple[str, bytes] | None:
    """Return the path and the content of the spec that a flag names; None for other flags and for directories."""
    name, _, path = flag.partition("=")
    if name != PREPROCESSING_FLAG or not path or Path(path).is_dir():
        return None
    try:
        return path, Path(path).read_bytes()
    except OSError as failure:
        raise CompileError(cannot("read the preprocessing spec", path, failure)) from None


@cache
def _read(
    path: str, data: bytes, *, upgrade: bool = True
) -> tuple[IO[bytes] | None, tuple[Diagnostic, ...]]:
    """Return a copy of a spec if it is old, and the diagnostics about its upgrade.

    The copy has no name, so it vanishes with the process. Its locations are those of the original.
    """
    from tuninglink.specs import read_preprocessing_spec  # noqa: PLC0415 - rarely needed

    show_lines_of(path)
    diagnostics: list[Diagnostic] = []
    sink = DiagnosticSink(diagnostics.append)
    try:
        module = read_preprocessing_spec(
            data, printable(path), thread_context(), upgrade=upgrade, diagnostics=sink
        )
    except SpecError as failure:
        raise CompileError(*failure.diagnostics) from None
    if not diagnostics:
        return None, ()
    copy = TemporaryFile()  # noqa: SIM115 - the compiler reads it later
    copy.write(to_bytecode(module))
    copy.flush()
    return copy, tuple(diagnostics)
