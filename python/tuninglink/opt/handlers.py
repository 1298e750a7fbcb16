"""Listening to the diagnostics of a context, also while Python's lock is free."""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int, c_int8, c_ssize_t, c_uint64, c_void_p
from typing import TYPE_CHECKING

from tuninglink.mlir.c_interface import StringRef, function
from tuninglink.mlir.diagnostics import Diagnostic, Severity, place_of
from tuninglink.opt.capi import Handle, context_handle, location_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from iree.compiler import ir as mlir

_Handler = CFUNCTYPE(c_int8, c_void_p, c_void_p)
_TakeString = CFUNCTYPE(None, StringRef, c_void_p)
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)


@contextmanager
def handled(context: mlir.Context, handle: Callable[[Diagnostic], None]) -> Iterator[None]:
    """Gives what the compiler says about IR in `context` to a function while the block runs.

    The handlers of the bindings need Python's lock to be held when they are called; these do not.
    """

    def called(diagnostic: int, _: object) -> int:
        handle(_read(diagnostic))
        return 1

    attach = function("mlirContextAttachDiagnosticHandler", c_uint64, *_ATTACH)
    detach = function("mlirContextDetachDiagnosticHandler", None, Handle, c_uint64)
    callback = _Handler(called)
    number = attach(context_handle(context), callback, None, None)
    try:
        yield
    finally:
        detach(context_handle(context), number)


_ATTACH = (Handle, _Handler, c_void_p, c_void_p)


def _read(pointer: int) -> Diagnostic:
    diagnostic = Handle(pointer)
    location = function("mlirDiagnosticGetLocation", Handle, Handle)(diagnostic)
    severity = function("mlirDiagnosticGetSeverity", c_int, Handle)(diagnostic)
    count = function("mlirDiagnosticGetNumNotes", c_ssize_t, Handle)(diagnostic)
    get_note = function("mlirDiagnosticGetNote", Handle, Handle, c_ssize_t)
    return Diagnostic(
        _SEVERITIES[severity],
        _message(diagnostic),
        place_of(location_at(location.pointer)),
        tuple(_read(get_note(diagnostic, index).pointer) for index in range(count)),
    )


def _message(diagnostic: Handle) -> str:
    parts: list[bytes] = []

    def take(part: StringRef, _: object) -> None:
        parts.append(part.copy())

    function("mlirDiagnosticPrint", None, Handle, _TakeString, c_void_p)(
        diagnostic, _TakeString(take), None
    )
    return b"".join(parts).decode(errors="replace")
