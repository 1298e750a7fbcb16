"""Where the operations of an upgraded spec stand in the text that its author knows."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.upgrading.upgrade_report import Upgraded


def restore_places(module: mlir.Operation, upgraded: Upgraded) -> None:
    """Gives the operations that were parsed from an upgraded text the places that they had before."""
    lines = upgraded.text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    places: dict[tuple[int, int], Place] = {}

    def visitor(operation: mlir.Operation) -> None:
        location = operation.location
        if not isinstance(location, mlir.FileLineColLoc):
            return
        line, column = location.start_line, location.start_col
        place = places.get((line, column))
        if place is None:
            before = lines[line - 1].encode(errors="replace")[: column - 1]
            offset = starts[line - 1] + len(before.decode(errors="ignore"))
            place = places[line, column] = upgraded.origin(offset)
        operation.location = mlir.Location.file(
            place.file, place.line, place.column, operation.context
        )

    visit(module, visitor)
