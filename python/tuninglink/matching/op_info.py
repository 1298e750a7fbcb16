"""An op, as seen by matchers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import Sizes, StructuredOp
from tuninglink.matching.graphs import regions_key
from tuninglink.matching.matcher import NotUnderstoodError
from tuninglink.mlir import names

_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.ROOT_OP, names.UKERNEL}
)


@dataclass(frozen=True)
class OpInfo(StructuredOp):
    """A structured op, with the further properties that matchers test.

    Attributes:
        is_configured: whether it had a configuration before specs were applied.
    """

    is_configured: bool = False

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for ops that matchers cannot distinguish, apart from producers."""
        types = tuple(each.text for each in (*self.operands, *self.results))
        attributes = frozenset(self.attributes.items())
        return self.name, self.is_configured, types, attributes, self.maps_text, self.regions

    @cached_property
    def maps_text(self) -> str:
        """The indexing maps, as MLIR prints them; empty without maps."""
        return "" if self.maps_attribute is None else str(self.maps_attribute)

    @cached_property
    def role_sizes(self) -> Mapping[str, Sizes]:
        """The sizes of the loops by role; roles are named like the results of matcher ops."""
        sizes: dict[str, Sizes] = {
            role.value.replace(" ", "_"): tuple(self.sizes[loop] for loop in loops)
            for role, loops in self.loops.items()
        }
        if self.kind is OpKind.CONVOLUTION:
            sizes |= {"strides": self.strides, "dilations": self.dilations}
        return sizes

    @cached_property
    def dimension_names(self) -> Mapping[tuple[int, int], str]:
        """The role of each dimension of an operand that has a unique one."""
        called: dict[int, str] = {}
        for role, loops in self.loops.items():
            for position, loop in enumerate(loops):
                called[loop] = role.value if len(loops) == 1 else f"{role.value}[{position}]"
        return {
            (operand, dimension): called[loop]
            for operand, loops in enumerate(self.operand_loops)
            for dimension, loop in enumerate(loops)
            if loop is not None and loop in called
        }

    @cached_property
    def regions(self) -> Hashable | None:
        """A key of the computation in the regions; None if they capture values."""
        try:
            return regions_key(self.operation)
        except NotUnderstoodError:
            return None

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes without configurations, as MLIR prints them."""
        return {
            name: str(value)
            for name, value in self.operation.attributes.items()
            if name not in _CONFIGURATION or self.is_configured
        }
