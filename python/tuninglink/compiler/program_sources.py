"""Programs as sources of the compiler; what is none is told better than the parser would."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.compiler.onnx_models import SUFFIX, import_onnx
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.serialization import is_bytecode, without_mark
from tuninglink.specs.programs import is_only_a_spec

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler.session import NativeHandle, Session

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


def open_program(session: Session, path: str) -> NativeHandle:
    """Opens a file as a source of the compiler: MLIR, or a model of ONNX, which is imported; `-` is standard input.

    Raises:
        CompileError: the file is missing, unreadable, certainly no program, or a model that cannot be imported.
    """
    if path == STANDARD_STREAM:
        return session.open_file(path)
    beginning = _read_beginning(Path(path))
    if path.endswith(SUFFIX):
        return session.wrap(import_onnx(Path(path)), path)
    if beginning is not None:
        _check_is_mlir(beginning, path)
        if beginning != without_mark(beginning):
            return wrap_program(session, Path(path).read_bytes(), path)
    return session.open_file(path)


def wrap_program(session: Session, data: bytes, name: str) -> NativeHandle:
    """Makes a source of a program in memory, which locations and diagnostics call `name`.

    Raises:
        CompileError: the data is certainly no program.
    """
    _check_is_mlir(data, name)
    data = without_mark(data)
    return session.wrap(data if is_bytecode(data) else data + b"\0", name)


def _read_beginning(path: Path) -> bytes | None:
    """Returns the first bytes of a file, None for a pipe: what was read from one is gone."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return None
    try:
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as failure:
        raise CompileError(cannot("read", path, failure)) from None


def _check_is_mlir(beginning: bytes, name: str) -> None:
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning[:_BEGINNING] and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))
