"""Diagnostics as data: a severity, a message, a place, and notes; and the context of each thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler._mlir_libs import _mlir

from tuninglink.escaping import escaped
from tuninglink.plain_data import HIDDEN, named
from tuninglink.rules import Rule  # noqa: TC001 - the JSON Schema resolves the types of fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Severity(Enum):
    """The severity of a diagnostic. The value is the word that is printed."""

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
class Replacement:
    """A part of a file, from `start` up to `end`, and the text to put there."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """A message, its place if it has one, and notes about related places.

    Attributes:
        fix: the replacements in one file that fix the problem; empty if no fix is known.
        rule: the rule that is broken; None for what is not about a spec.
    """

    severity: Severity
    message: str
    place: Place | None = None
    notes: tuple[Diagnostic, ...] = ()
    fix: tuple[Replacement, ...] = field(default=(), metadata=HIDDEN)
    rule: Rule | None = field(default=None, metadata=named("code"))

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.severity.value}: {self.message}"


Anchor = mlir.Operation | mlir.OpView | mlir.Location | Place | None
"""The places that a diagnostic can be attached to."""


def place_of(location: mlir.Location) -> Place | None:
    """Return the first source position in `location`, or None if it contains none.

    A fused location yields the position of its first part that has one; a call site yields the callee's, and a named
    location its child's.
    """
    if type(location) is mlir.Location:
        # Locations of diagnostics have the base class.
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
    """Return the name of the file. The bindings abort on a name that is not UTF-8, as damaged bytecode may contain."""
    text = str(location)
    if "\\" not in text:
        return location.filename
    literal = text[text.index('"') : text.rindex('":') + 1]
    name = mlir.Attribute.parse(literal, location.context)
    assert isinstance(name, mlir.StringAttr)
    return name.value_bytes.decode(errors="replace")


def note(message: str, at: Anchor = None) -> Diagnostic:
    """Return a note, to be attached to another diagnostic."""
    return Diagnostic(Severity.NOTE, escaped(message), _place(at))


def error(
    message: str,
    at: Anchor = None,
    notes: Iterable[Diagnostic] = (),
    rule: Rule | None = None,
) -> Diagnostic:
    """Return an error, to be raised in an exception or emitted to a `DiagnosticSink`. The message is one line."""
    return Diagnostic(Severity.ERROR, escaped(message), _place(at), tuple(notes), rule=rule)


def from_mlir(diagnostic: mlir.Diagnostic | mlir.DiagnosticInfo) -> Diagnostic:
    """Convert a diagnostic of the compiler, which is valid only during the call that delivers it."""
    return Diagnostic(
        Severity[diagnostic.severity.name],
        diagnostic.message,
        place_of(diagnostic.location),
        tuple(from_mlir(note_) for note_ in diagnostic.notes),
    )


def first_error(failure: mlir.MLIRError) -> str:
    """Return the message of the first error of a failure, or its own text if the compiler emitted no diagnostic."""
    messages = [diagnostic.message for diagnostic in failure.error_diagnostics]
    return messages[0] if messages else str(failure)


class DiagnosticSink:
    """A consumer of diagnostics that hides their handling from their producers.

    Args:
        handler: called with each diagnostic, in the order of emission.

    Attributes:
        error_count: the number of errors emitted so far. A pass that increases it has failed.
    """

    def __init__(self, handler: Callable[[Diagnostic], None]) -> None:
        self._handler = handler
        self.error_count = 0

    def emit(self, diagnostic: Diagnostic) -> None:
        """Emit an existing diagnostic."""
        self.error_count += diagnostic.severity is Severity.ERROR
        self._handler(diagnostic)

    def error(
        self,
        message: str,
        at: Anchor = None,
        notes: Iterable[Diagnostic] = (),
        rule: Rule | None = None,
    ) -> None:
        """Emit an error at an operation, a location or a place."""
        self.emit(error(message, at, notes, rule))

    def warning(
        self,
        message: str,
        at: Anchor = None,
        notes: Iterable[Diagnostic] = (),
        rule: Rule | None = None,
    ) -> None:
        """Emit a warning."""
        message = escaped(message)
        self.emit(Diagnostic(Severity.WARNING, message, _place(at), tuple(notes), rule=rule))

    def remark(self, message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> None:
        """Emit a remark."""
        self.emit(Diagnostic(Severity.REMARK, escaped(message), _place(at), tuple(notes)))


def once(diagnostics: DiagnosticSink) -> DiagnosticSink:
    """Return a sink that forwards each diagnostic once, however often it is emitted."""
    emitted: set[Diagnostic] = set()

    def emit(diagnostic: Diagnostic) -> None:
        if diagnostic not in emitted:
            emitted.add(diagnostic)
            diagnostics.emit(diagnostic)

    return DiagnosticSink(emit)


def _place(at: Anchor) -> Place | None:
    if at is None or isinstance(at, Place):
        return at
    if isinstance(at, mlir.Location):
        return place_of(at)
    return place_of(at.location)


def callers(location: mlir.Location) -> Iterator[Diagnostic]:
    """Yield a note for each caller of a location, the innermost first."""
    site = _call_site(location)
    while site is not None:
        yield note("called from", site.caller)
        site = _call_site(site.caller)


def _call_site(location: mlir.Location) -> mlir.CallSiteLoc | None:
    """Return the first call site in `location`, through names and fusions, or None."""
    if isinstance(location, mlir.CallSiteLoc):
        return location
    if isinstance(location, mlir.NameLoc):
        return _call_site(location.child_loc)
    if isinstance(location, mlir.FusedLoc):
        parts = (part for part in location.locations if isinstance(part, mlir.Location))
        return next(filter(None, map(_call_site, parts)), None)
    return None


_local = threading.local()

# The bindings import the module of a dialect with the first op of it. That of linalg runs 60 builders of named ops,
# which takes 90 ms; the classes of its ops take 8 ms. Modules that need the builders import it themselves.
_bindings: Final[Any] = _mlir.globals  # type: ignore[attr-defined]
_bindings.dialect_search_modules = [
    "tuninglink.mlir.dialects",
    *_bindings.dialect_search_modules,
]


def thread_context() -> mlir.Context:
    """Return the context of the calling thread. The first call creates it."""
    context: mlir.Context | None = getattr(_local, "context", None)
    if context is None:
        context = _local.context = mlir.Context()
    return context


def quotes_operations(context: mlir.Context) -> bool:
    """Return whether the compiler's diagnostics about IR in `context` quote their operation.

    To quote an operation, the compiler verifies it, which never ends if the verifier itself emits a warning about it.
    """
    try:
        mlir.Operation.parse(_INVALID, context=context)
    except mlir.MLIRError as failure:
        return any(diagnostic.notes for diagnostic in failure.error_diagnostics)
    return False


_INVALID: Final = '"builtin.module"() : () -> ()'
"""An operation that the verifier refuses, as it lacks a region."""


@contextmanager
def collected_diagnostics(context: mlir.Context) -> Iterator[list[Diagnostic]]:
    """Collect the compiler's diagnostics about IR in `context` while the block runs.

    Errors in an `MLIRError` are left out. MLIR's thread pool is disabled in the block: a thread that emits a
    diagnostic would wait for the Python lock, whose holder waits for that thread.
    """
    collected: list[Diagnostic] = []

    def handler(diagnostic: mlir.Diagnostic) -> bool:
        collected.append(from_mlir(diagnostic))
        return True

    has_threads = context.get_num_threads() > 1
    context.enable_multithreading(False)  # noqa: FBT003 - the bindings name no argument
    attached = context.attach_diagnostic_handler(handler)
    try:
        yield collected
    finally:
        attached.detach()
        if has_threads:
            context.enable_multithreading(True)  # noqa: FBT003
