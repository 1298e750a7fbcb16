"""The calls that lead to the place of a diagnostic."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir as mlir

from tuninglink.mlir.diagnostics import Diagnostic, note


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
