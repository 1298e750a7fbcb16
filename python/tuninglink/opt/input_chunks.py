"""Inputs of `tuninglink-opt`: files split into chunks, and chunks parsed into operations."""

from __future__ import annotations

from ctypes import c_void_p
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.c_interface import StringRef, function, object_at, pointer_of
from tuninglink.mlir.diagnostics import Diagnostic, Place, from_mlir
from tuninglink.mlir.native_diagnostics import handled
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.mlir.diagnostics import DiagnosticSink

SPLIT_MARKER = "// -----"
"""What stands between the chunks of a file."""

_MARKER_TAIL = 2
"""How many characters at the end of a marker may be wrong for it to be worth a warning."""

_UNNAMED = "-"
"""What the bindings call the source of a module that they parse."""


@dataclass(frozen=True)
class Chunk:
    """A part of an input, MLIR text or bytecode, and the line and the column where it starts, from 1."""

    name: str
    text: bytes
    line: int = 1
    column: int = 1

    @property
    def in_place(self) -> bytes:
        """The text behind as much white space as gives it the lines and columns it has in the input."""
        return b"\n" * (self.line - 1) + b" " * (self.column - 1) + self.text

    @property
    def is_first(self) -> bool:
        """Whether the chunk starts where the input does."""
        return (self.line, self.column) == (1, 1)


def split_input(
    name: str, data: bytes, marker: str, diagnostics: DiagnosticSink | None = None
) -> Iterator[Chunk]:
    """Splits an input at each `marker`, wherever it stands; what comes before the first may be missing.

    A marker with a mistake at its end is no marker, and worth a warning.
    """
    encode = marker.encode()
    prefix, tail = encode[:-_MARKER_TAIL], encode[-_MARKER_TAIL:]
    start, search = 0, 0
    line, line_start = 1, 0
    while (result := data.find(prefix, search)) >= 0:
        search = result + len(prefix)
        if data[search : search + len(tail)] != tail or search + len(tail) >= len(data):
            if diagnostics:
                column = search - (data.rfind(b"\n", 0, search) + 1) + 1
                place = Place(name, line + data.count(b"\n", line_start, search), column)
                diagnostics.warning("near miss with file split marker", place)
            continue
        if result > start:
            yield Chunk(name, data[start:result], line, start - line_start + 1)
        search = result + len(encode)
        line += data.count(b"\n", line_start, search)
        line_start = data.rfind(b"\n", 0, search) + 1
        start = search
    if start < len(data):
        yield Chunk(name, data[start:], line, start - line_start + 1)


def parse(
    chunk: Chunk, context: mlir.Context, diagnostics: DiagnosticSink, *, implicit_module: bool
) -> mlir.Operation | None:
    """Parses and verifies a chunk.

    Args:
        chunk: what to parse.
        context: where the operation is to live. No handler of its diagnostics need be attached.
        diagnostics: is told what is wrong.
        implicit_module: whether what is not one module is put into one.

    Returns:
        The operation, or None if there were errors.
    """
    source = chunk.in_place
    result: list[Diagnostic] = []
    with handled(context, result.append):
        operation = _parse(source, chunk.name, context)
    if implicit_module and (operation is None or operation.name != names.MODULE):
        # The bindings put what is not one module into one, but do not let the source have a name.
        result.clear()
        with handled(context, result.append):
            operation = _parse_into_module(source, context, result)
        if operation is not None:
            _relocate(operation, chunk)
    for diagnostic in result:
        diagnostics.emit(_placed(diagnostic, chunk))
    return operation


def _parse(source: bytes, name: str, context: mlir.Context) -> mlir.Operation | None:
    """Parses and verifies one operation, which the bindings cannot do with bytes under a name.

    The handlers of the context get the errors. One that was attached through the bindings must not be among them: it
    crashes without Python's lock.
    """
    parse = function("mlirOperationCreateParse", c_void_p, c_void_p, StringRef, StringRef)
    encoded = name.encode(errors="surrogateescape")
    result = parse(pointer_of(context), StringRef.of(source), StringRef.of(encoded))
    if not result:
        return None
    module = function("mlirModuleFromOperation", c_void_p, c_void_p)(result)
    return object_at(mlir.Module, module).operation if module else object_at(mlir.Operation, result)


def _parse_into_module(
    source: bytes, context: mlir.Context, found: list[Diagnostic]
) -> mlir.Operation | None:
    try:
        return mlir.Module.parse(source, context).operation
    except mlir.MLIRError as failure:
        found += map(from_mlir, failure.error_diagnostics)
        return None


def _relocate(module: mlir.Operation, chunk: Chunk) -> None:
    """Gives locations in a source without a name the name that it should have had."""
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
    """Gives a diagnostic the name of its source, and what is about all of a chunk the chunk's place."""
    place = diagnostic.place
    if place and place.file == _UNNAMED:
        place = replace(place, file=chunk.name)
    if place == Place(chunk.name, 0, 0) and not chunk.is_first:
        place = Place(chunk.name, chunk.line, chunk.column)
    notes = tuple(_placed(note, chunk) for note in diagnostic.notes)
    return replace(diagnostic, place=place, notes=notes)
