"""Layouts of convolutions by name, such as `nhwc_hwcf`, from their indexing maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import OpKind, Role, loops_by_role, loops_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

_SPATIAL: Final = "dhw"
"""The spatial dimensions, as linalg's named ops call them. Convolutions with fewer use the last ones."""

_LETTERS: Final = {
    Role.BATCH: "n",
    Role.INPUT_CHANNEL: "c",
    Role.OUTPUT_CHANNEL: "f",
    Role.DEPTH: "c",
}


def layout(maps: Sequence[mlir.AffineMap]) -> str:
    """Return the layout of a convolution's image and filter, or an empty string if it has no name.

    Args:
        maps: the indexing maps of the image, the filter and the output.
    """
    loops = loops_by_role(OpKind.CONVOLUTION, maps) if len(maps) == _OPERANDS else {}
    if not loops or not (loops[Role.INPUT_CHANNEL] or loops[Role.DEPTH]):
        return ""  # A pooling has no channels.
    letters = {loop: letter for role, letter in _LETTERS.items() for loop in loops[role]}
    image, filter_ = (
        "".join(_letter(result, letters, loops) for result in map_.results) for map_ in maps[:2]
    )
    return f"{image}_{filter_}" if "?" not in image + filter_ else ""


_OPERANDS: Final = 3


def _letter(
    expression: mlir.AffineExpr, letters: Mapping[int, str], loops: Mapping[Role, tuple[int, ...]]
) -> str:
    """Return the letter of a loop, or of the image dimension that a window slides along."""
    used = [
        loop
        for loop in (*loops[Role.OUTPUT_IMAGE], *loops[Role.FILTER], *letters)
        if loop in loops_in(expression)
    ]
    for role in (Role.FILTER, Role.OUTPUT_IMAGE):
        for position, loop in enumerate(loops[role]):
            if loop in used:
                return _SPATIAL[-len(loops[role]) :][position : position + 1] or "?"
    return letters.get(used[0], "?") if used else "?"
