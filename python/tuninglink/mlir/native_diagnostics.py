"""Handlers for the diagnostics of a context that run without Python's lock, through the C interface.

The bindings' own handlers require the caller to hold the lock.
"""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int, c_int8, c_ssize_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.c_interface import StringCallback, function, object_at, pointer_of
from tuninglink.mlir.diagnostics import Diagnostic, Severity, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tuninglink.mlir.c_interface import StringRef

_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)
_Handler = CFUNCTYPE(c_int8, c_void_p, c_void_p)


@contextmanager
def handled(context: mlir.Context, handle: Callable[[Diagnostic], None]) -> Iterator[None]:
    """Pass the compiler's diagnostics about IR in `context` to a function while the block runs."""
    detach = attach(pointer_of(context), lambda pointer: handle(read_diagnostic(pointer)))
    try:
        yield
    finally:
        detach()


def attach(context: int, handle: Callable[[int], None]) -> Callable[[], None]:
    """Call a function with a pointer to each diagnostic of a context. Return the function that detaches it."""

    def called(diagnostic: int, _: int | None) -> int:
        handle(diagnostic)
        return 1

    attach_handler = function(
        "mlirContextAttachDiagnosticHandler", c_uint64, c_void_p, _Handler, c_void_p, c_void_p
    )
    detach_handler = function("mlirContextDetachDiagnosticHandler", None, c_void_p, c_uint64)
    callback = _Handler(called)
    number = attach_handler(context, callback, None, None)

    def detach(_: object = callback) -> None:  # the default argument keeps the callback alive
        detach_handler(context, number)

    return detach


def read_diagnostic(
    pointer: int, notes_at: Callable[[mlir.Location], Iterable[Diagnostic]] = lambda _: ()
) -> Diagnostic:
    """Convert a diagnostic of the compiler.

    Args:
        pointer: the diagnostic.
        notes_at: returns notes for a diagnostic at a location, which precede its own.
    """
    severity = function("mlirDiagnosticGetSeverity", c_int, c_void_p)(pointer)
    bare = object_at(
        mlir.Location, function("mlirDiagnosticGetLocation", c_void_p, c_void_p)(pointer)
    )
    location = mlir.Location.from_attr(bare.attr, bare.context)  # Now of its derived class.
    count = function("mlirDiagnosticGetNumNotes", c_ssize_t, c_void_p)(pointer)
    get_note = function("mlirDiagnosticGetNote", c_void_p, c_void_p, c_ssize_t)
    notes = (read_diagnostic(get_note(pointer, index), notes_at) for index in range(count))
    return Diagnostic(
        _SEVERITIES[severity],
        _message(pointer),
        place_of(location),
        (*notes_at(location), *notes),
    )


def _message(pointer: int) -> str:
    parts: list[bytes] = []

    def take(part: StringRef, _: int | None) -> None:
        parts.append(part.copy())

    print_message = function("mlirDiagnosticPrint", None, c_void_p, StringCallback, c_void_p)
    print_message(pointer, StringCallback(take), None)
    return b"".join(parts).decode(errors="replace")
