"""Telling programs from what is none, better than the parser would."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.mlir.serialization import is_bytecode
from tuninglink.specs.programs import is_only_a_spec

if TYPE_CHECKING:
    from pathlib import Path

    from iree.compiler import ir as mlir

_BEGINNING: Final = 4096
"""How much of a file is looked at to tell MLIR from anything else."""


def refuse_spec(module: mlir.Operation) -> None:
    """Refuses a tuning spec as a program; nothing would be left of it after a few passes.

    Raises:
        CompileError: the module is a spec.
    """
    if is_only_a_spec(module):
        message = (
            "this is a tuning spec, not a program; give it with --spec, and a program as input"
        )
        raise CompileError(error(message, module))


def check_readable(path: Path) -> None:
    """Refuses a file that cannot be read or is certainly no program.

    Raises:
        CompileError: the file is missing, unreadable, empty or of another kind.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # What was read from a pipe is gone.
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise CompileError(error(f"cannot read '{os.fspath(path)}': {reason}")) from None
    check_is_mlir(beginning, os.fspath(path))


def check_is_mlir(beginning: bytes, name: str) -> None:
    """Refuses what is certainly no program, by its first bytes.

    Raises:
        CompileError: it is empty, or neither text nor bytecode.
    """
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning[:_BEGINNING] and not is_bytecode(beginning):
        importer = note(f"'iree-import-onnx {name} -o model.mlir' makes MLIR of it")
        notes = [importer] if name.endswith(".onnx") else []
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode", notes=notes))
