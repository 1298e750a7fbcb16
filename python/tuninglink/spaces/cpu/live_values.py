"""The values that are alive at once in the body of an op, each of which may be a vector on the stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

_EXPANDED: Final[Mapping[str, int]] = {
    "math.erf": 13,
    "math.powf": 11,
    "math.log1p": 10,
    "math.expm1": 10,
    "math.atanh": 9,
    "math.tan": 8,
    "math.log": 8,
    "math.log2": 8,
    "math.asinh": 8,
    "math.acosh": 8,
    "math.sin": 7,
    "math.cos": 7,
    "math.acos": 7,
    "math.sinh": 6,
    "math.cosh": 6,
    "math.atan2": 6,
    "math.cbrt": 5,
    "math.atan": 5,
    "math.exp": 4,
    "math.exp2": 4,
    "math.asin": 4,
    "math.roundeven": 3,
}
"""The values alive within the code of a function, its operands and its result included: LLVM's stack frame for vectors of
16 KiB, divided by 16 KiB and rounded up (IREE 3.13.0, f32 on znver4). That of any other op holds two."""

_PLAIN: Final = 2


def live_values(operation: mlir.Operation) -> int:
    """Return the largest number of values that are alive at once in the body of an op; 0 without a body."""
    bodies = [block for region in operation.regions for block in region.blocks]
    return max((_most_alive(list(block.operations)) for block in bodies), default=0)


def _most_alive(body: Sequence[mlir.OpView]) -> int:
    """Return the largest number of live values in a block: those within an op, and those that pass it by."""
    last_uses = {
        operand: position
        for position, inner in enumerate(body)
        for operand in inner.operation.operands
        if not _is_constant(operand)
    }
    computed_at: dict[mlir.Value[mlir.Type], int] = {
        result: position
        for position, inner in enumerate(body)
        for result in inner.operation.results
    }
    most = 0
    for position, inner in enumerate(body):
        if not inner.operation.results or inner.operation.name.endswith(".constant"):
            continue
        own = {*inner.operation.operands, *inner.operation.results}
        passing = sum(
            computed_at.get(value, -1) < position < last
            for value, last in last_uses.items()
            if value not in own
        )
        most = max(most, passing + _EXPANDED.get(inner.operation.name, _PLAIN))
    return most


def _is_constant(value: mlir.Value[mlir.Type]) -> bool:
    owner = value.owner
    return isinstance(owner, mlir.Operation | mlir.OpView) and owner.operation.name.endswith(
        ".constant"
    )
