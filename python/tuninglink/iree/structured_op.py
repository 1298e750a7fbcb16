"""Structured ops as data: kind, loops and their roles, sizes, element types, accumulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects.linalg` re-exports this, but takes 90 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.iree.op_kinds import (
    ATTENTION_OUTPUTS,
    OpKind,
    Role,
    affine_maps,
    indexing_loops,
    loops_by_role,
)
from tuninglink.mlir import names

Sizes = tuple[int | None, ...]
"""Sizes of loops or dimensions; None for a dynamic one."""

PARALLEL: Final = "parallel"
REDUCTION: Final = "reduction"

_SOURCE: Final = 0
_DESTINATION: Final = 1
"""The tensor operands of a relayout, by position."""


@dataclass(frozen=True)
class ValueType:
    """The type of an operand or result.

    Attributes:
        text: the type, as MLIR prints it.
        element: the element type of a shaped type, otherwise the type itself.
        sizes: the size of each dimension; None if the type is not shaped or has no rank.
        is_tensor: whether the type is a ranked tensor.
        encoding: the encoding of a tensor; empty if it has none.
    """

    text: str
    element: str
    sizes: Sizes | None
    is_tensor: bool
    encoding: str = ""

    @staticmethod
    def of(type_: mlir.Type) -> ValueType:
        """Convert a type to data."""
        is_tensor = isinstance(type_, mlir.RankedTensorType)
        encoding = str(type_.encoding or "") if isinstance(type_, mlir.RankedTensorType) else ""
        return ValueType(
            str(type_),
            str(element_type(type_)),
            shape(type_),
            is_tensor=is_tensor,
            encoding=encoding,
        )

    def __str__(self) -> str:
        """Return the sizes and the element type, such as `16x?xf16`."""
        if self.sizes is None:
            return self.element
        return "x".join(
            [*("?" if size is None else str(size) for size in self.sizes), self.element]
        )


@dataclass(frozen=True)
class Accumulation:
    """The accumulation of an op over its reduction loops.

    Attributes:
        element_type: the element type of the accumulator, as MLIR prints it.
        starts_from_fill: whether the accumulator starts from a constant rather than from given values.
    """

    element_type: str
    starts_from_fill: bool


@dataclass(frozen=True)
class StructuredOp:
    """A structured op as data.

    Each property is computed once, on first use. An op without indexing maps has no loops, except for packing and
    unpacking ops.

    Attributes:
        operation: the op, which must outlive this object.
    """

    operation: mlir.Operation

    @cached_property
    def name(self) -> str:
        """The name of the op."""
        return self.operation.name

    @cached_property
    def kind(self) -> OpKind:
        """The kind of computation."""
        if self.name in ATTENTION_OUTPUTS:
            return OpKind.ATTENTION
        if not self._is_linalg:
            return OpKind.OTHER
        if _mlirDialectsLinalg.isa_contraction_op(self.operation):
            return OpKind.CONTRACTION
        if _mlirDialectsLinalg.isa_convolution_op(self.operation):
            return OpKind.CONVOLUTION
        if self._iterators is None:
            return OpKind.OTHER
        return OpKind.REDUCTION if REDUCTION in self._iterators else OpKind.ELEMENTWISE

    @cached_property
    def maps_attribute(self) -> mlir.ArrayAttr | None:
        """The indexing maps as an attribute; None if the op has no maps."""
        indexing_maps: mlir.Attribute | None
        if self._is_linalg:
            indexing_maps = _mlirDialectsLinalg.get_indexing_maps(self.operation)
        else:
            indexing_maps = self.operation.attributes.get("indexing_maps")
        return indexing_maps if isinstance(indexing_maps, mlir.ArrayAttr) else None

    @cached_property
    def maps(self) -> tuple[mlir.AffineMap, ...]:
        """The indexing maps of the operands that have an indexing map."""
        return affine_maps(self.maps_attribute)

    @cached_property
    def operand_loops(self) -> tuple[tuple[int | None, ...], ...]:
        """The loop that indexes each dimension of each operand, or None for any other expression."""
        return tuple(map(indexing_loops, self.maps))

    @property
    def loop_count(self) -> int:
        """The number of loops."""
        return self.maps[0].n_dims if self.maps else len(self._relayout_sizes)

    @cached_property
    def iterator_types(self) -> tuple[str, ...]:
        """The iterator type of each loop, `parallel` or `reduction`.

        Named ops have no attribute for iterator types; loops that index none of their outputs are reductions.
        """
        if self._iterators is not None:
            return self._iterators
        if not self.maps:
            return (PARALLEL,) * self.loop_count
        outputs = self.operand_loops[self.first_output :]
        parallel = {loop for output in outputs for loop in output}
        return tuple(PARALLEL if loop in parallel else REDUCTION for loop in range(self.loop_count))

    @cached_property
    def loops(self) -> Mapping[Role, tuple[int, ...]]:
        """The loops in each role, for the kinds in `ROLES` and in their order; empty for the other kinds."""
        return loops_by_role(self.kind, self.maps, self.first_output)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The role of each loop."""
        roles = [Role.PARALLEL] * self.loop_count
        if self.kind is OpKind.REDUCTION:
            roles = [Role(type_) for type_ in self.iterator_types]
        for role, loops in self.loops.items():
            for loop in loops:
                roles[loop] = role
        return tuple(roles)

    @cached_property
    def sizes(self) -> Sizes:
        """The size of each loop, taken from the first static dimension that the loop alone indexes."""
        if not self.maps:
            return self._relayout_sizes
        sizes: list[int | None] = [None] * self.loop_count
        for operand, loops in zip(self.operation.operands, self.operand_loops, strict=False):
            for loop, size in zip(loops, shape(operand.type) or (), strict=False):
                if loop is not None and sizes[loop] is None:
                    sizes[loop] = size
        return tuple(sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The stride of each dimension of a convolution's image; empty for the other kinds."""
        return tuple(self._convolution.strides) if self._convolution else ()

    @cached_property
    def dilations(self) -> tuple[int, ...]:
        """The dilation of each dimension of a convolution's filter; empty for the other kinds."""
        return tuple(self._convolution.dilations) if self._convolution else ()

    @cached_property
    def operands(self) -> tuple[ValueType, ...]:
        """The types of the operands."""
        return tuple(ValueType.of(operand.type) for operand in self.operation.operands)

    @cached_property
    def results(self) -> tuple[ValueType, ...]:
        """The types of the results."""
        return tuple(ValueType.of(result.type) for result in self.operation.results)

    @cached_property
    def element_types(self) -> tuple[str, ...]:
        """The element types of the operands, inputs before outputs, as MLIR prints them."""
        return tuple(str(element_type(operand.type)) for operand in self.operation.operands)

    @property
    def first_output(self) -> int:
        """The position of the first output among the operands with indexing maps."""
        outputs = ATTENTION_OUTPUTS.get(self.name) or max(1, len(self.operation.results))
        return max(0, len(self.maps) - outputs)

    @cached_property
    def accumulation(self) -> Accumulation | None:
        """The accumulation of the op, or None without a reduction loop.

        Attention creates its accumulators, in f32. Other ops update their output.
        """
        if REDUCTION not in self.iterator_types:
            return None
        if self.name == names.ATTENTION:
            return Accumulation("f32", starts_from_fill=True)
        output = self.operation.operands[self.first_output]
        owner = output.owner
        is_filled = not isinstance(owner, mlir.Block) and owner.operation.name == names.FILL
        return Accumulation(str(element_type(output.type)), is_filled)

    @property
    def first_destination(self) -> int:
        """The position of the first destination operand, which a pack's padding value and tile sizes follow."""
        operation = self.operation
        return (
            _DESTINATION if self.is_relayout else len(operation.operands) - len(operation.results)
        )

    @cached_property
    def is_relayout(self) -> bool:
        """Whether the op packs a tensor into tiles or unpacks it."""
        return self.name in (names.PACK, names.UNPACK)

    @property
    def packed_elements(self) -> int | None:
        """The number of elements that one iteration of a relayout moves, or None if it is unknown."""
        tile = (shape(self.operation.operands[_DESTINATION].type) or ())[self.loop_count :]
        return None if None in tile else prod(size for size in tile if size is not None)

    @property
    def _relayout_sizes(self) -> Sizes:
        """The sizes of the loops of a relayout, which has no maps: over packed tiles, or over unpacked elements."""
        if not self.is_relayout:
            return ()
        sizes = shape(self.operation.operands[_DESTINATION].type) or ()
        unpacked = _SOURCE if self.name == names.PACK else _DESTINATION
        return sizes[: len(shape(self.operation.operands[unpacked].type) or ())]

    @property
    def _is_linalg(self) -> bool:
        return self.name.startswith("linalg.")

    @cached_property
    def _iterators(self) -> tuple[str, ...] | None:
        iterators = self.operation.attributes.get("iterator_types")
        if not isinstance(iterators, mlir.ArrayAttr):
            return None
        # Reading an element would import the dialect's Python module, see `_mlirDialectsLinalg`.
        printed = str(iterators).split(",") if len(iterators) else []
        return tuple(PARALLEL if f"<{PARALLEL}>" in iterator else REDUCTION for iterator in printed)

    @cached_property
    def _convolution(self) -> Any:
        """The dimensions of a convolution as the compiler infers them, or None for other kinds."""
        if self.kind is not OpKind.CONVOLUTION:
            return None
        return _mlirDialectsLinalg.infer_convolution_dimensions(self.operation)


def shape(type_: mlir.Type) -> Sizes | None:
    """Return the size of each dimension of a type; None if it is not shaped or has no rank."""
    if not isinstance(type_, mlir.ShapedType) or not type_.has_rank:
        return None
    return tuple(
        None if type_.is_dynamic_dim(position) else type_.get_dim_size(position)
        for position in range(type_.rank)
    )


def element_type(type_: mlir.Type) -> mlir.Type:
    """Return the element type of a shaped type, or any other type unchanged."""
    return type_.element_type if isinstance(type_, mlir.ShapedType) else type_
