"""Inputs of `tuninglink-opt`: splitting of files into chunks, and parsing of chunks."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int, c_void_p
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.compiler.native import StringRef, function, handled, object_at, pointer_of
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Place, error, from_mlir
from tuninglink.mlir.serialization import is_undecodable
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Iterator

SPLIT_MARKER = "// -----"
"""The separator of the chunks of a file."""

_MARKER_TAIL = 2
"""The number of characters at the end of a marker that may be wrong for a warning."""

_UNNAMED = "-"
"""The bindings' name of the source of a module that they parse."""


@dataclass(frozen=True)
class Chunk:
    """A part of an input, MLIR text or bytecode, with its first line and column, counted from 1."""

    name: str
    text: bytes
    line: int = 1
    column: int = 1

    @property
    def in_place(self) -> bytes:
        """The text, preceded by white space that preserves its lines and columns in the input."""
        return b"\n" * (self.line - 1) + b" " * (self.column - 1) + self.text

    @property
    def is_first(self) -> bool:
        """Whether the chunk starts at the beginning of the input."""
        return (self.line, self.column) == (1, 1)


def split_input(
    name: str, data: bytes, marker: str, diagnostics: DiagnosticSink | None = None
) -> Iterator[Chunk]:
    """Split an input at each `marker`. The part before the first marker may be empty.

    A marker with a mistake at its end does not split the input and causes a warning.
    """
    encoded = marker.encode()
    prefix, tail = encoded[:-_MARKER_TAIL], encoded[-_MARKER_TAIL:]
    start, search = 0, 0
    line, line_start = 1, 0
    while (position := data.find(prefix, search)) >= 0:
        search = position + len(prefix)
        if data[search : search + len(tail)] != tail or search + len(tail) >= len(data):
            if diagnostics:
                column = search - (data.rfind(b"\n", 0, search) + 1) + 1
                place = Place(name, line + data.count(b"\n", line_start, search), column)
                diagnostics.warning("near miss with file split marker", place)
            continue
        if position > start:
            yield Chunk(name, data[start:position], line, start - line_start + 1)
        search = position + len(encoded)
        line += data.count(b"\n", line_start, search)
        line_start = data.rfind(b"\n", 0, search) + 1
        start = search
    if start < len(data):
        yield Chunk(name, data[start:], line, start - line_start + 1)


def parse(
    chunk: Chunk, context: mlir.Context, diagnostics: DiagnosticSink, *, implicit_module: bool
) -> mlir.Operation | None:
    """Parse and verify a chunk.

    Args:
        chunk: the chunk.
        context: the context of the operation. It needs no handler of diagnostics.
        diagnostics: receives the errors.
        implicit_module: whether to wrap the source in a module unless it is one.

    Returns:
        The operation, or None after errors.
    """
    source = chunk.in_place
    collected: list[Diagnostic] = []
    with handled(context, collected.append):
        operation = _parse(source, chunk.name, context)
    if implicit_module and (operation is None or operation.name != names.MODULE):
        # The bindings wrap other sources in a module, but do not accept a name of the source.
        collected.clear()
        with handled(context, collected.append):
            operation = _parse_into_module(source, context, collected)
        if operation is not None and context.allow_unregistered_dialects:
            _check_names(pointer_of(operation), chunk.name)
        if operation is not None:
            _relocate(operation, chunk)
    for diagnostic in collected:
        diagnostics.emit(_placed(diagnostic, chunk))
    return operation


def _parse(source: bytes, name: str, context: mlir.Context) -> mlir.Operation | None:
    """Parse and verify one operation from named bytes, which the bindings do not support.

    The handlers of the context receive the errors. Handlers attached through the bindings must not be among them: they
    crash without Python's lock.
    """
    parse = function("mlirOperationCreateParse", c_void_p, c_void_p, StringRef, StringRef)
    encoded = name.encode(errors="surrogateescape")
    operation = parse(pointer_of(context), StringRef.of(source), StringRef.of(encoded))
    if not operation:
        return None
    if context.allow_unregistered_dialects:
        _check_names(operation, name)
    module = function("mlirModuleFromOperation", c_void_p, c_void_p)(operation)
    return (
        object_at(mlir.Module, module).operation if module else object_at(mlir.Operation, operation)
    )


def _check_names(operation: int, source: str) -> None:
    """Check the names of unregistered operations. The bindings abort on one that is not UTF-8.

    Args:
        operation: the pointer to the operation to walk.
        source: the name of the input.

    Raises:
        TuninglinkError: a name is not UTF-8.
    """
    callback = CFUNCTYPE(c_int, c_void_p, c_void_p)
    name_of = function("mlirOperationGetName", c_void_p, c_void_p)
    text_of = function("mlirIdentifierStr", StringRef, c_void_p)
    damaged: list[bytes] = []

    def visit_(inner: int, _: int | None) -> int:
        name = text_of(name_of(inner)).copy()
        if name.decode(errors="replace").encode() != name:
            damaged.append(name)
        return 0

    walk = function("mlirOperationWalk", None, c_void_p, callback, c_void_p, c_int)
    walk(operation, callback(visit_), None, 0)
    if damaged:
        message = "the input has an operation whose name is not UTF-8"
        raise TuninglinkError(error(message, Place(source, 1, 1)))


def _parse_into_module(
    source: bytes, context: mlir.Context, diagnostics: list[Diagnostic]
) -> mlir.Operation | None:
    try:
        return mlir.Module.parse(source, context).operation
    except mlir.MLIRError as failure:
        diagnostics += map(from_mlir, failure.error_diagnostics)
    except RuntimeError as failure:
        # The bindings fail to decode a message that quotes bytes other than UTF-8.
        if not is_undecodable(failure):
            raise
        message = "the input is damaged: it has a string that is not UTF-8"
        diagnostics.append(error(message, Place(_UNNAMED, 1, 1)))
    return None


def _relocate(module: mlir.Operation, chunk: Chunk) -> None:
    """Rename the source in locations that have the bindings' name for it."""
    context = module.context

    def relocated(location: mlir.Location) -> mlir.Location | None:
        if isinstance(location, mlir.FileLineColLoc) and location.filename == _UNNAMED:
            line, column = location.start_line, location.start_col
            return mlir.Location.file(chunk.name, line, column, context)
        return None

    def visitor(operation: mlir.Operation) -> None:
        location = relocated(operation.location)
        if location is not None:
            operation.location = location
        for region in operation.regions:
            for block in region:
                for argument in block.arguments:
                    location = relocated(argument.location)
                    if location is not None:
                        argument.set_location(location)

    visit(module, visitor)
    line, column = (0, 0) if chunk.is_first else (chunk.line, chunk.column)
    start = mlir.Location.file(chunk.name, line, column, context)
    module.location = start


def _placed(diagnostic: Diagnostic, chunk: Chunk) -> Diagnostic:
    """Set the source name of a diagnostic; place a diagnostic about a whole chunk at the chunk's start."""
    place = diagnostic.place
    if place and place.file == _UNNAMED:
        place = replace(place, file=chunk.name)
    if place == Place(chunk.name, 0, 0) and not chunk.is_first:
        place = Place(chunk.name, chunk.line, chunk.column)
    notes = tuple(_placed(note, chunk) for note in diagnostic.notes)
    return replace(diagnostic, place=place, notes=notes)
