"""Named convolutions, which a pipeline decomposes into one-dimensional ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.solver.expressions import all_of, any_of, number, select

if TYPE_CHECKING:
    from tuninglink.solver.expressions import Expression
    from tuninglink.spaces.cpu.cpu_rules import CpuRules


@dataclass(frozen=True)
class Window:
    """The loops of a convolution over rows and columns.

    Attributes:
        rows: the loop over the rows of the output.
        columns: the loop over its columns.
        filter_rows: the loop over the rows of the filter.
        filter_columns: the loop over its columns.
    """

    rows: int
    columns: int
    filter_rows: int
    filter_columns: int


LEVELS: Final = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL, CpuLevel.VECTOR_REDUCTION)
"""The levels that the compiler's verifier asks for, and goes by."""

_CHANNELS_LAST: Final = Window(1, 2, 4, 5)
_WINDOWS: Final = {
    "linalg.conv_2d_nhwc_hwcf": _CHANNELS_LAST,
    "linalg.depthwise_conv_2d_nhwc_hwc": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_sum": _CHANNELS_LAST,
    "linalg.conv_2d_nchw_fchw": Window(2, 3, 5, 6),
    "linalg.pooling_nchw_max": Window(2, 3, 4, 5),
    "linalg.pooling_nchw_sum": Window(2, 3, 4, 5),
}
"""The operations that the compiler's verifier knows; it refuses others with a name, and looks at no `linalg.generic`."""

_NAMES: Final = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")
"""How the names of convolutions begin."""

_UNKNOWN: Final = -1


def is_decomposed(operation: str) -> bool:
    """Return whether the compiler's verifier checks the operations with a name."""
    return operation.startswith(_NAMES)


def add_decomposition(rules: CpuRules) -> None:
    """Require tiling to leave a single row, or a single column, of output and filter."""
    operation = rules.nest.operation
    window = _WINDOWS.get(operation)
    if window is None:
        if operation.startswith(_NAMES):
            rules.add(False, f"this pipeline knows no '{operation}'")  # noqa: FBT003 - that is the rule
        return
    rows, columns = _left(rules, window.rows), _left(rules, window.columns)
    filter_rows, filter_columns = (
        _left(rules, window.filter_rows),
        _left(rules, window.filter_columns),
    )
    one_row = all_of(rows == 1, filter_rows == 1)
    one_column = all_of(columns == 1, filter_columns == 1)
    message = (
        "tiling must leave a single row or column of both output and filter; it leaves {}x{} and {}x{}, "
        f"where {_UNKNOWN} is an unknown number"
    )
    values = (rows, columns, filter_rows, filter_columns)
    rules.add(any_of(one_row, one_column), message, *values)


def _left(rules: CpuRules, loop: int) -> Expression:
    """Return the part of a loop that the levels leave, as the verifier computes it."""
    size = rules.nest.loops[loop].size
    left = number(_UNKNOWN if size is None else size)
    for level in LEVELS:
        tile = rules.tiles.tile(level, loop)
        divided = select(left % tile == 0, tile, number(_UNKNOWN))
        kept = any_of(left == _UNKNOWN, tile == 0)
        left = select(tile == 1, 1, select(kept, left, divided))
    return left
