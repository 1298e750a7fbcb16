"""An operation as matchers look at it: what it is, which loops it has, and what it works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.explaining.structure import regions_key
from tuninglink.iree.structured import (
    contraction_loops,
    convolution_loops,
    indexing_maps,
    is_contraction,
    is_convolution,
)
from tuninglink.matching.necessary_conditions import Kind
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

Sizes = tuple[int | None, ...]
"""Sizes of dimensions; None for one that is dynamic."""

ATTENTIONS: Final = frozenset({names.ATTENTION, names.ONLINE_ATTENTION})

ROLES: Final = {
    Kind.CONTRACTION: ("batch", "m", "n", "k"),
    Kind.CONVOLUTION: (
        *("batch", "output image", "output channels", "filter", "input channels", "depth"),
        *("strides", "dilations"),
    ),
    Kind.ATTENTION: ("batch", "m", "n", "k1", "k2"),
}
"""What the lists of numbers are called that a matcher of a kind gives, in its order."""

_CONVOLUTION_LOOPS: Final = (
    *("batch", "output_image", "output_channel", "filter", "input_channel", "depth"),
)
_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.ROOT_OP, names.UKERNEL}
)


@dataclass(frozen=True)
class OperandType:
    """The type of a value.

    Attributes:
        text: the type, as MLIR prints it.
        element: the element type of a shaped type; else the type itself.
        sizes: the size of each dimension; None if it is no shaped type, or has no rank.
        is_tensor: whether it is a ranked tensor.
        encoding: the tensor's encoding, or nothing.
    """

    text: str
    element: str
    sizes: Sizes | None
    is_tensor: bool
    encoding: str = ""

    @staticmethod
    def of(kind: mlir.Type) -> OperandType:
        """Returns what is asked of a type."""
        if not isinstance(kind, mlir.ShapedType):
            text = str(kind)
            return OperandType(text, text, None, is_tensor=False)
        sizes = None
        if kind.has_rank:
            sizes = tuple(
                None if kind.is_dynamic_dim(each) else kind.get_dim_size(each)
                for each in range(kind.rank)
            )
        is_tensor = isinstance(kind, mlir.RankedTensorType)
        encoding = str(kind.encoding or "") if isinstance(kind, mlir.RankedTensorType) else ""
        return OperandType(
            str(kind), str(kind.element_type), sizes, is_tensor=is_tensor, encoding=encoding
        )

    def __str__(self) -> str:
        """The type in short: its sizes and its element type."""
        if self.sizes is None:
            return self.element
        return "x".join(
            [*("?" if each is None else str(each) for each in self.sizes), self.element]
        )


class Subject:
    """An operation that matchers are asked about. What is asked twice is found out once.

    Args:
        operation: the operation; it must live as long as it is asked.
        is_configured: whether it had a configuration before specs were applied.
    """

    def __init__(self, operation: mlir.Operation, *, is_configured: bool = False) -> None:
        self.operation = operation
        self.is_configured = is_configured
        self.name: str = operation.name

    @cached_property
    def operands(self) -> tuple[OperandType, ...]:
        """The types of the operands."""
        return tuple(OperandType.of(each.type) for each in self.operation.operands)

    @cached_property
    def results(self) -> tuple[OperandType, ...]:
        """The types of the results."""
        return tuple(OperandType.of(each.type) for each in self.operation.results)

    @cached_property
    def kind(self) -> Kind | None:
        """What `match.contraction` and its like take the operation for; None if they take it for nothing."""
        if self.name in ATTENTIONS:
            return Kind.ATTENTION
        if self.name.startswith("linalg."):
            if is_contraction(self.operation):
                return Kind.CONTRACTION
            if is_convolution(self.operation):
                return Kind.CONVOLUTION
        return None

    @cached_property
    def maps_attribute(self) -> mlir.ArrayAttr | None:
        """The indexing maps, None without them."""
        found: mlir.Attribute | None
        if self.name.startswith("linalg."):
            found = indexing_maps(self.operation)
        else:
            found = self.operation.attributes.get("indexing_maps")
        return found if isinstance(found, mlir.ArrayAttr) else None

    @cached_property
    def maps_text(self) -> str:
        """The indexing maps, as MLIR prints them; nothing without them."""
        return "" if self.maps_attribute is None else str(self.maps_attribute)

    @cached_property
    def maps(self) -> Sequence[mlir.AffineMap]:
        """The indexing maps, one for each operand that has one."""
        found = self.maps_attribute or ()
        return [each.value for each in found if isinstance(each, mlir.AffineMapAttr)]

    @cached_property
    def operand_loops(self) -> tuple[tuple[int | None, ...], ...]:
        """For each operand, for each of its dimensions, the loop that runs over it; None for more than one."""
        return tuple(
            tuple(
                each.position if isinstance(each, mlir.AffineDimExpr) else None
                for each in one.results
            )
            for one in self.maps
        )

    @cached_property
    def loops(self) -> Sizes:
        """The size of each loop: that of the first static dimension that it alone runs over."""
        sizes: list[int | None] = [None] * (self.maps[0].n_dims if self.maps else 0)
        for operand, loops in zip(self.operands, self.operand_loops, strict=False):
            if operand.sizes is None:
                continue
            for loop, size in zip(loops, operand.sizes, strict=False):
                if loop is not None and sizes[loop] is None:
                    sizes[loop] = size
        return tuple(sizes)

    @cached_property
    def role_loops(self) -> Mapping[str, tuple[int, ...]]:
        """The loops in each role, where the operation is of a kind; in the order of `ROLES`."""
        if self.kind is Kind.CONTRACTION:
            found = contraction_loops(self.maps)
            return {role: tuple(found.get(role, ())) for role in ROLES[Kind.CONTRACTION]}
        if self.kind is Kind.CONVOLUTION:
            found = convolution_loops(self.maps)
            loops = zip(ROLES[Kind.CONVOLUTION], _CONVOLUTION_LOOPS, strict=False)
            return {role: tuple(found.get(name, ())) for role, name in loops}
        if self.kind is Kind.ATTENTION:
            outputs = 3 if self.name == names.ONLINE_ATTENTION else 1
            query, key, value = self.maps[:3]
            output = self.maps[len(self.maps) - outputs]
            detail = iree_codegen.get_attention_op_detail(query, key, value, output)
            return {role: tuple(getattr(detail, f"{role}_dims")) for role in ROLES[Kind.ATTENTION]}
        return {}

    @cached_property
    def roles(self) -> Mapping[str, Sizes]:
        """The sizes in each role, where the operation is of a kind; in the order of `ROLES`."""
        sizes = {
            role: tuple(self.loops[loop] for loop in loops)
            for role, loops in self.role_loops.items()
        }
        if self.kind is Kind.CONVOLUTION:
            sizes |= self._steps
        return sizes

    @cached_property
    def _steps(self) -> dict[str, Sizes]:
        """The strides and dilations of a convolution, read off the map of its image."""
        image, filters = self.role_loops["output image"], self.role_loops["filter"]
        factors: dict[int, int] = {}
        for each in self.maps[0].results:
            factors.update(_factors(each))
        return {
            "strides": tuple(factors.get(each) for each in image),
            "dilations": tuple(factors.get(each) for each in filters),
        }

    @cached_property
    def dimension_names(self) -> Mapping[tuple[int, int], str]:
        """What to call a dimension of an operand, where it has a role of its own."""
        called: dict[int, str] = {}
        for role, loops in self.role_loops.items():
            for position, loop in enumerate(loops):
                called[loop] = role if len(loops) == 1 else f"{role}[{position}]"
        return {
            (operand, dimension): called[loop]
            for operand, loops in enumerate(self.operand_loops)
            for dimension, loop in enumerate(loops)
            if loop is not None and loop in called
        }

    @cached_property
    def regions(self) -> Hashable:
        """What the regions do; equal for regions that do the same."""
        return regions_key(self.operation)

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes but for configurations, as MLIR prints them."""
        return {
            name: str(value)
            for name, value in self.operation.attributes.items()
            if name not in _CONFIGURATION or self.is_configured
        }


def _factors(expression: mlir.AffineExpr) -> dict[int, int]:
    """Returns what each loop is multiplied with in a sum of products."""
    if isinstance(expression, mlir.AffineDimExpr):
        return {expression.position: 1}
    if isinstance(expression, mlir.AffineAddExpr):
        return _factors(expression.lhs) | _factors(expression.rhs)
    if isinstance(expression, mlir.AffineMulExpr):
        for one, other in (
            (expression.lhs, expression.rhs),
            (expression.rhs, expression.lhs),
        ):
            if isinstance(one, mlir.AffineDimExpr) and isinstance(other, mlir.AffineConstantExpr):
                return {one.position: other.value}
    return {}
