"""The uses of dispatches by their program: the places of their tensors in each call, and the data in the caches.

The weights of equal layers are parts of one binding. A call gets the offset of its layer as a constant. A variant of a
benchmark has the constants of a call that differs only in the places of tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dispatch_cost import DispatchCost, cost_of
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.tuning.programs.benchmark import Access, Binding, BufferLayout
from tuninglink.tuning.programs.binding_contents import buffer_layout, has_room
from tuninglink.tuning.programs.compiled_program import element_type

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
    """Make a dispatch use the constants of a variant where the variants differ.

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


CPU: Final = "llvm-cpu"
"""The backend for CPUs."""

_MOST_CPU_BYTES: Final = 128 << 20
"""The most data of a program between two calls on a CPU: last-level caches keep less for each core."""

_MOST_GPU_BYTES: Final = 256 << 20
"""The same on a GPU, of which the largest last-level cache has as much (an MI300X; an H200 has 50 MB)."""

_GPU_BOUND: Final = 64.0
"""The most operations per byte of a dispatch that waits for the memory of a GPU. An H200 does 206 in f16, and a decode
step at most two for each element of its weights and sequence of the batch."""

_CPU_BOUND: Final = 128.0
"""The same on a CPU. A core that does 115 operations in f32 while it reads 21 bytes does over 5 for each of them."""


@dataclass(frozen=True)
class DispatchUse:
    """The use of a dispatch by its program.

    Attributes:
        layout: the buffer of its benchmark.
        source: the dispatch at `executable-sources`, as bytecode.
        calls: the calls in a run of the program.
        backend: the backend that compiles it.
    """

    layout: BufferLayout
    source: bytes
    calls: int
    backend: str

    @property
    def is_on_cpu(self) -> bool:
        """Whether it runs on a CPU."""
        return self.backend == CPU


def with_program_sets(uses: Sequence[DispatchUse]) -> list[BufferLayout]:
    """Return the layouts of dispatches with the sets that the program uses between two calls of each.

    Weights come from the last-level cache or from memory in each run of the program. A benchmark that repeats its
    dispatch on the same data does not show what that costs, nor what cache tiles save. Data that the program has just
    computed is in the caches, so this is for dispatches that mostly read weights, and that may wait for memory, as all
    products in a decode step do. Others run at the rate of the arithmetic either way.
    """
    costs = [cost_of(mlir.Module.parse(use.source, thread_context()).operation) for use in uses]
    waits = [_waits_for_weights(use, cost) for use, cost in zip(uses, costs, strict=True)]
    weights = [
        _weight_bytes(use.layout, cost) if waiting else 0
        for use, cost, waiting in zip(uses, costs, waits, strict=True)
    ]
    used = sum(use.calls * own for use, own in zip(uses, weights, strict=True))
    layouts = []
    for use, own, waiting in zip(uses, weights, waits, strict=True):
        sets = 1
        if own:
            limit = _MOST_CPU_BYTES if use.is_on_cpu else _MOST_GPU_BYTES
            sets = max(1, min(used, limit) // own)
        elif waiting and not use.is_on_cpu:
            sets = use.layout.variants
        layouts.append(replace(use.layout, program_sets=sets))
    return layouts


def _waits_for_weights(use: DispatchUse, cost: DispatchCost) -> bool:
    if use.is_on_cpu:
        return cost.intensity is None or cost.intensity <= _CPU_BOUND
    return cost.intensity is not None and cost.intensity <= _GPU_BOUND


def _weight_bytes(layout: BufferLayout, cost: DispatchCost) -> int:
    """Return the bytes of arguments that a dispatch reads, if it mostly reads these; else 0.

    Args:
        layout: the bindings.
        cost: the cost of a call.
    """
    arguments = argument_bytes(layout)
    return arguments if 2 * arguments > (cost.bytes or 0) else 0


def argument_bytes(layout: BufferLayout) -> int:
    """Return the bytes of the bindings that are arguments of the program, such as weights.

    Arguments have their own buffers; results of dispatches and most constants are parts of larger buffers.
    """
    return sum(
        binding.byte_length
        for binding in layout.bindings
        if binding.access is Access.READ
        and len(binding.shape) > 1  # larger buffers have one dimension
        and binding.byte_length == _tensor_bytes(binding)
    )


def _tensor_bytes(binding: Binding) -> int:
    dtype = element_type(binding.element_type)
    return prod(binding.shape) * dtype.itemsize if dtype else 0
