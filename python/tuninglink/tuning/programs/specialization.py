"""Giving the dynamic dimensions of a program sizes, so that it can be tuned at them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.programs.entry_functions import public_functions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WRITTEN: Final = re.compile(r"(?:(\d+)\.(\d+)=)?([1-9]\d*)")


@dataclass(frozen=True)
class DimensionSize:
    """The size of dynamic dimensions.

    Attributes:
        size: the size.
        argument: the position of an argument of the functions that callers see; None for every argument.
        dimension: the position of one of its dimensions; None for every dynamic one.
    """

    size: int
    argument: int | None = None
    dimension: int | None = None

    @classmethod
    def parse(cls, text: str) -> DimensionSize:
        """Reads `SIZE`, or `ARGUMENT.DIMENSION=SIZE`.

        Raises:
            ValueError: the text is something else.
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ValueError("expected a size, or ARGUMENT.DIMENSION=SIZE such as 0.1=128")
        argument, dimension, size = found.groups()
        if argument is None:
            return cls(int(size))
        return cls(int(size), int(argument), int(dimension))

    def is_about(self, argument: int, dimension: int) -> bool:
        """Tells whether a dimension gets this size."""
        return self.argument is None or (self.argument, self.dimension) == (argument, dimension)

    def __str__(self) -> str:
        where = "" if self.argument is None else f"{self.argument}.{self.dimension}="
        return f"{where}{self.size}"


def specialize(module: mlir.Operation, sizes: Sequence[DimensionSize]) -> None:
    """Gives dynamic dimensions of the arguments of public functions sizes.

    An argument gets a static type and is cast back to its own, from where the compiler propagates the sizes.

    Args:
        module: a program at `input`; changed in place.
        sizes: the sizes; of two for one dimension the later one holds.

    Raises:
        CompileError: there is no such dynamic dimension.
    """
    functions = list(public_functions(module))
    dynamic = [each for function in functions for each in _dynamic_dimensions(function)]
    for size in sizes:
        if not any(size.is_about(*each) for each in dynamic):
            known = ", ".join(f"{argument}.{dimension}" for argument, dimension in dynamic)
            remedy = note(f"dynamic dimensions: {known or 'none'}")
            message = f"'--dim {size}' is about no dynamic dimension of the program's arguments"
            raise CompileError(error(message, notes=[remedy]))
    with module.context, mlir.Location.unknown():
        for function in functions:
            _specialize_function(function, sizes)


def _dynamic_dimensions(function: mlir.Operation) -> Iterator[tuple[int, int]]:
    for position, argument in enumerate(function.regions[0].blocks[0].arguments):
        kind = argument.type
        if isinstance(kind, mlir.RankedTensorType):
            yield from ((position, each) for each in range(kind.rank) if kind.is_dynamic_dim(each))


def _specialize_function(function: mlir.Operation, sizes: Sequence[DimensionSize]) -> None:
    block = function.regions[0].blocks[0]
    wanted: dict[int, dict[int, int]] = {}
    for argument, dimension in _dynamic_dimensions(function):
        for each in sizes:
            if each.is_about(argument, dimension):
                wanted.setdefault(argument, {})[dimension] = each.size
    for position, found in wanted.items():
        _specialize_argument(block, block.arguments[position], found)
    declared: Any = function.attributes["function_type"]
    types = [each.type for each in block.arguments]
    function.attributes["function_type"] = mlir.TypeAttr.get(
        mlir.FunctionType.get(types, declared.value.results)
    )


def _specialize_argument(block: mlir.Block, argument: Any, sizes: dict[int, int]) -> None:
    old = argument.type
    shape = [sizes.get(position, extent) for position, extent in enumerate(old.shape)]
    argument.set_type(mlir.RankedTensorType.get(shape, old.element_type, old.encoding))
    cast = mlir.Operation.create(
        "tensor.cast",
        operands=[argument],
        results=[old],
        ip=mlir.InsertionPoint.at_block_begin(block),
    )
    argument.replace_all_uses_except(cast.result, cast)
