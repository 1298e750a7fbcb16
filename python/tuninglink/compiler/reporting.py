"""Reading the diagnostics that the compiler emits while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.compiler import native
from tuninglink.mlir.diagnostics import Diagnostic, Severity, note, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.mlir.c_interface import StringRef

_LOCATION_CAPSULE: Final = b"iree.compiler.ir.Location._CAPIPtr"
_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)


def read_diagnostic(diagnostic: int) -> Diagnostic:
    """Returns a diagnostic of the compiler as ours; the callers of its place become notes."""
    text: list[str] = []

    def keep(part: StringRef, _: int | None) -> None:
        text.append(part.copy().decode(errors="replace"))

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
    capsule = native.make_capsule(pointer, _LOCATION_CAPSULE, None)
    location = mlir.Location._CAPICreate(capsule)  # noqa: SLF001
    return mlir.Location.from_attr(location.attr, location.context)  # Now of its own kind.


def _callers(location: mlir.Location) -> Iterator[Diagnostic]:
    site = _call_site(location)
    while site is not None:
        yield note("called from", site.caller)
        site = _call_site(site.caller)


def _call_site(location: mlir.Location) -> mlir.CallSiteLoc | None:
    """Returns the first call site in `location`, through names and fusions, or None."""
    if isinstance(location, mlir.CallSiteLoc):
        return location
    if isinstance(location, mlir.NameLoc):
        return _call_site(location.child_loc)
    if isinstance(location, mlir.FusedLoc):
        parts = (part for part in location.locations if isinstance(part, mlir.Location))
        return next(filter(None, map(_call_site, parts)), None)
    return None
