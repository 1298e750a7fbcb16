"""Structural keys: equal for operations that differ only in the names of symbols and values."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


def structural_key(
    operation: mlir.Operation, replaced: Mapping[str, str] = MappingProxyType({})
) -> Hashable:
    """Return the structural key of an operation and its regions. Keys compare within one context only.

    The key ignores locations and the symbol that the operation defines.

    Args:
        operation: the operation.
        replaced: for referenced symbols, the symbols to use in their place.
    """
    return _KeyBuilder(replaced).operation(operation)


class _KeyBuilder:
    def __init__(self, replaced: Mapping[str, str]) -> None:
        self._replaced = replaced
        self._values: dict[mlir.Value[Any], int] = {}

    def operation(self, operation: mlir.Operation) -> Hashable:
        attributes = tuple(
            (name, self._attribute(attribute))
            for name, attribute in operation.attributes.items()
            if name != names.SYMBOL_NAME
        )
        operands = tuple(self._number(operand) for operand in operation.operands)
        results = tuple((self._number(result), result.type) for result in operation.results)
        replaced = self._replaced
        if operation.name in (names.MATCH_DAG, names.MATCH_REGIONS):
            self._replaced = {}  # The program that a matcher shows has its own symbols.
        blocks = tuple(
            tuple(self._block(block) for block in region.blocks) for region in operation.regions
        )
        self._replaced = replaced
        return operation.name, attributes, operands, results, blocks

    def _block(self, block: mlir.Block) -> Hashable:
        arguments = tuple((self._number(argument), argument.type) for argument in block.arguments)
        return arguments, tuple(
            self.operation(operation.operation) for operation in block.operations
        )

    def _number(self, value: mlir.Value[Any]) -> int:
        return self._values.setdefault(value, len(self._values))

    def _attribute(self, attribute: mlir.Attribute) -> Hashable:
        if isinstance(attribute, mlir.FlatSymbolRefAttr):
            return self._replaced.get(attribute.value, attribute.value)
        if isinstance(attribute, mlir.ArrayAttr):
            return tuple(map(self._attribute, attribute))
        return attribute
