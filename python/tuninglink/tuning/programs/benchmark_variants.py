"""Variants of a benchmark: the constants of all calls in the program that differ in the places of tensors alone.

The weights of equal layers are parts of one binding. A call gets the offset of its layer as a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.tuning.programs.benchmark import BufferLayout
from tuninglink.tuning.programs.binding_contents import buffer_layout, has_room
from tuninglink.tuning.programs.program_caches import argument_bytes

Value = mlir.Value[Any]

_MOST: Final = 256
_SELECT: Final = "arith.select"
_EQUAL: Final = 0
"""The value of `eq` in `arith.cmpi`."""


def other_variants(
    module: mlir.Operation,
    lengths: Sequence[int],
    layout: BufferLayout,
    constants: tuple[int, ...],
    calls: Iterable[tuple[int | None, ...]],
) -> list[tuple[int, ...]]:
    """Return the constants of further variants of a benchmark.

    Args:
        module: the benchmark at `executable-sources`.
        lengths: the bytes of each binding.
        layout: the buffer of the benchmark.
        constants: its constants.
        calls: the constants of each call in the program.
    """
    if argument_bytes(layout):
        return []  # copies of the bindings have weights of their own
    variants = []
    for call in dict.fromkeys(calls):
        values = tuple(value for value in call if value is not None)
        is_other = len(values) == len(constants) and values != constants
        is_alike = is_other and buffer_layout(module, lengths, values) == layout
        if is_alike and has_room(module, lengths, values):
            variants.append(values)
    return variants[: _MOST - 1]


def select_constants(
    dispatch: mlir.Operation,
    positions: range,
    variant: Value,
    variants: Sequence[tuple[int, ...]],
) -> None:
    """Let a dispatch take the constants of a variant, where they differ.

    Args:
        dispatch: the dispatch.
        positions: the positions of the constants among its operands.
        variant: the number of the variant.
        variants: the constants of all variants.
    """
    operands = dispatch.operands
    predicate = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), _EQUAL)
    for position, values in zip(positions, zip(*variants, strict=True), strict=True):
        if len(set(values)) == 1:
            continue
        selected = operands[position]
        for number, value in enumerate(values[1:], 1):
            is_variant = mlir.Operation.create(
                "arith.cmpi",
                results=[mlir.IntegerType.get_signless(1)],
                operands=[variant, constant_operation(mlir.IndexType.get(), number)],
                attributes={"predicate": predicate},
            ).result
            selected = mlir.Operation.create(
                _SELECT,
                results=[selected.type],
                operands=[is_variant, constant_operation(selected.type, value), selected],
            ).result
        operands[position] = selected


def of_first_variant(value: Value) -> Value:
    """Return the value in the first variant of an operand that `select_constants` may have replaced."""
    while not isinstance(value.owner, mlir.Block) and value.owner.operation.name == _SELECT:
        value = value.owner.operation.operands[2]  # the value where the condition is false
    return value


def constant_operation(kind: mlir.Type, value: int) -> Value:
    """Return a constant before the current insertion point."""
    result: Value = mlir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": mlir.IntegerAttr.get(kind, value)}
    ).result
    return result
