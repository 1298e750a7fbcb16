"""Reading the diagnostics that the compiler emits while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.compiler import native
from tuninglink.ir.diagnostics import Diagnostic, Severity, note, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCATION_CAPSULE: Final = b"iree.compiler.ir.Location._CAPIPtr"
_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)


def read_diagnostic(diagnostic: int) -> Diagnostic:
    """Returns a diagnostic of the compiler as ours; the callers of its place become notes."""
    text: list[str] = []

    def keep(part: native.StringRef, _: int | None) -> None:
        text.append(part.decode())

    native.print_diagnostic(diagnostic, native.StringCallback(keep), None)
    location = _location(native.diagnostic_location(diagnostic))
    notes = [
        read_diagnostic(native.get_note(diagnostic, i))
        for i in range(native.count_notes(diagnostic))
    ]
    return Diagnostic(
        _SEVERITIES[native.diagnostic_severity(diagnostic)],
        "".join(text),
        place_of(location),
        (*_callers(location), *notes),
    )


def _location(pointer: int) -> mlir.Location:
    return mlir.Location._CAPICreate(native.make_capsule(pointer, _LOCATION_CAPSULE, None))  # noqa: SLF001


def _callers(location: mlir.Location) -> Iterator[Diagnostic]:
    while isinstance(location, mlir.CallSiteLoc):
        location = location.caller
        yield note("called from", location)
