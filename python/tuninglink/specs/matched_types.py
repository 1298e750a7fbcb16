"""The element types that a matcher asks for, without reading what else it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import element_type
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from tuninglink.specs.sequences import SequenceTable


def matched_element_types(table: SequenceTable, matcher: str) -> frozenset[str]:
    """Returns the types that stand in a matcher and in the sequences that it includes, as MLIR prints them.

    Args:
        table: the sequences of the matcher's module.
        matcher: the path of the matcher.
    """
    types: set[mlir.Type] = set()

    def visitor(operation: mlir.Operation) -> None:
        attributes = operation.attributes.values()
        types.update(each.value for each in attributes if isinstance(each, mlir.TypeAttr))
        types.update(each.type for each in operation.operands)

    for _, sequence in table.closure(matcher):
        visit(sequence, visitor)
    return frozenset(str(element_type(each)) for each in types)
