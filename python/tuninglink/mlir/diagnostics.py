"""Diagnostics as data: what is wrong, where, and what else is involved.

The compiler's own diagnostics and ours become the same `Diagnostic`, and reach whoever renders or checks
them through one `DiagnosticSink`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Severity(Enum):
    """How grave a diagnostic is; the value is the word that is printed."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True)
class Place:
    """A position in a source file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message, its place if it has one, and notes about the other places involved."""

    severity: Severity
    message: str
    place: Place | None = None
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.severity.value}: {self.message}"


Anchor = mlir.Operation | mlir.OpView | mlir.Location | Place | None
"""What a diagnostic can be attached to."""


def place_of(location: mlir.Location) -> Place | None:
    """Return the first source position in `location`, or None if it names no file.

    Fused locations give their first part with a position, call sites give the callee, named locations
    what they stand for.
    """
    if type(location) is mlir.Location:
        # The locations of diagnostics come without their kind.
        location = mlir.Location.from_attr(location.attr, location.context)
    if isinstance(location, mlir.FileLineColLoc):
        return Place(_file_name(location), location.start_line, location.start_col)
    if isinstance(location, mlir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, mlir.CallSiteLoc):
        return place_of(location.callee)
    if isinstance(location, mlir.FusedLoc):
        parts = (part for part in location.locations if isinstance(part, mlir.Location))
        return next(filter(None, map(place_of, parts)), None)
    return None


def _file_name(location: mlir.FileLineColLoc) -> str:
    """Return the file's name. In damaged bytecode it may be no UTF-8, on which the bindings end the process."""
    text = str(location)
    if "\\" not in text:
        return location.filename
    literal = text[text.index('"') : text.rindex('":') + 1]
    name = mlir.Attribute.parse(literal, location.context)
    assert isinstance(name, mlir.StringAttr)
    return name.value_bytes.decode(errors="replace")


def note(message: str, at: Anchor = None) -> Diagnostic:
    """Return a note, to be attached to another diagnostic."""
    return Diagnostic(Severity.NOTE, message, _place(at))


def error(message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> Diagnostic:
    """Return an error; attach it to an exception or give it to a `DiagnosticSink`."""
    return Diagnostic(Severity.ERROR, message, _place(at), tuple(notes))


def from_mlir(diagnostic: mlir.Diagnostic | mlir.DiagnosticInfo) -> Diagnostic:
    """Return the compiler's diagnostic as ours; the original dies with the call that delivered it."""
    return Diagnostic(
        Severity[diagnostic.severity.name],
        diagnostic.message,
        place_of(diagnostic.location),
        tuple(from_mlir(each) for each in diagnostic.notes),
    )


class DiagnosticSink:
    """Where diagnostics go. Whatever produces them knows the sink, never what becomes of them.

    Args:
        handler: called with each diagnostic, in the order in which they are emitted.

    Attributes:
        error_count: the number of errors emitted so far; a pass has failed when it grew.
    """

    def __init__(self, handler: Callable[[Diagnostic], None]) -> None:
        self._handler = handler
        self.error_count = 0

    def emit(self, diagnostic: Diagnostic) -> None:
        """Hand on a diagnostic that exists already."""
        self.error_count += diagnostic.severity is Severity.ERROR
        self._handler(diagnostic)

    def error(self, message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> None:
        """Emit an error at an operation, a location or a place."""
        self.emit(error(message, at, notes))

    def warning(self, message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> None:
        """Emit a warning."""
        self.emit(Diagnostic(Severity.WARNING, message, _place(at), tuple(notes)))

    def remark(self, message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> None:
        """Emit a remark."""
        self.emit(Diagnostic(Severity.REMARK, message, _place(at), tuple(notes)))


def once(diagnostics: DiagnosticSink) -> DiagnosticSink:
    """Return a sink that hands each diagnostic on once, however often it is emitted."""
    said: set[Diagnostic] = set()

    def emit(diagnostic: Diagnostic) -> None:
        if diagnostic not in said:
            said.add(diagnostic)
            diagnostics.emit(diagnostic)

    return DiagnosticSink(emit)


def _place(at: Anchor) -> Place | None:
    if at is None or isinstance(at, Place):
        return at
    if isinstance(at, mlir.Location):
        return place_of(at)
    return place_of(at.location)
