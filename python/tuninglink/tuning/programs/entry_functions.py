"""The public functions of a program and their arguments, read at the phase `abi`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.given_sizes import SizeCombination
from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect

Functions = Mapping[str, mlir.Operation]

_ASYNC: Final = "$async"
"""The suffix of the functions with fences that importers of frameworks put next to one without."""

_BUFFER_VIEW: Final = "!hal.buffer_view"
_FENCE: Final = "!hal.fence"
_IMPORT: Final = "hal.tensor.import"
_ALIAS: Final = "hal.tensor.alias"
_EXPORT: Final = "hal.tensor.export"
_RETURN: Final = "util.return"
_STORES: Final = ("util.global.store", "util.global.store.indirect")


@dataclass(frozen=True)
class Argument:
    """An argument of a function.

    Attributes:
        element_type: the element type, as MLIR writes it.
        shape: the sizes of a tensor, None where they are dynamic; None for a scalar.
        is_updated: whether the function writes results to the argument.
    """

    element_type: str
    shape: tuple[int | None, ...] | None
    is_updated: bool = False


@dataclass(frozen=True)
class Result:
    """A result of a function.

    Attributes:
        element_type: the element type, as MLIR writes it.
        shape: the sizes of a tensor, None where they are dynamic; empty for a scalar.
    """

    element_type: str
    shape: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        sizes = ("?" if size is None else str(size) for size in self.shape)
        return "x".join((*sizes, self.element_type))


@dataclass(frozen=True)
class EntryFunction:
    """A public function of a program.

    Attributes:
        name: its symbol.
        arguments: its arguments without fences.
        has_fences: whether a fence to wait for and a fence to signal follow its arguments.
        obstacle: the reason why it cannot be called; empty if it can.
        results: its results without the arguments that it updates; None where they cannot be read.
    """

    name: str
    arguments: tuple[Argument, ...]
    has_fences: bool = False
    obstacle: str = ""
    results: tuple[Result | None, ...] = ()

    def dynamic_dimensions(self) -> Iterator[tuple[int, int]]:
        """Yield the arguments and dimensions with dynamic sizes."""
        for number, argument in enumerate(self.arguments):
            for dimension, size in enumerate(argument.shape or ()):
                if size is None:
                    yield number, dimension

    def with_sizes(self, combination: SizeCombination) -> EntryFunction:
        """Return the function with sizes for its dynamic dimensions."""
        arguments = [
            replace(
                argument,
                shape=None
                if argument.shape is None
                else tuple(
                    combination.size_of(number, dimension) if size is None else size
                    for dimension, size in enumerate(argument.shape)
                ),
            )
            for number, argument in enumerate(self.arguments)
        ]
        return replace(self, arguments=tuple(arguments))


class _UnsupportedError(Exception):
    """A function cannot be called."""


def read_entry_functions(module: mlir.Operation) -> list[EntryFunction]:
    """Return the public functions of a program, in order.

    Args:
        module: a program at `abi`.
    """
    functions = {symbol_name(function) or "": function for function in public_functions(module)}
    entries = []
    for name, function in functions.items():
        if name.endswith(_ASYNC) and name.removesuffix(_ASYNC) in functions:
            continue
        try:
            entries.append(_read(name, function, functions))
        except _UnsupportedError as failure:
            entries.append(EntryFunction(name, (), obstacle=str(failure)))
    return entries


def public_functions(module: mlir.Operation) -> Iterator[mlir.Operation]:
    """Yield the public functions of a program."""
    for function in body(module):
        visibility = function.attributes.get(names.SYMBOL_VISIBILITY)
        is_private = isinstance(visibility, mlir.StringAttr) and visibility.value == "private"
        if function.name == names.UTIL_FUNCTION and not is_private and function.regions[0].blocks:
            yield function


def is_stateful(module: mlir.Operation) -> bool:
    """Return whether a function of a program changes a global, on which later calls may depend."""
    return any(collect(op, *_STORES) for op in body(module) if op.name == names.UTIL_FUNCTION)


def _read(name: str, function: mlir.Operation, functions: Functions) -> EntryFunction:
    arguments = list(function.regions[0].blocks[0].arguments)
    fences = [str(argument.type) == _FENCE for argument in arguments]
    has_fences = fences[-2:] == [True, True]
    if has_fences:
        arguments = arguments[:-2]
    return EntryFunction(
        name,
        tuple(_argument(argument, number, functions) for number, argument in enumerate(arguments)),
        has_fences,
        results=tuple(_result(value, functions) for value in _returned(function)),
    )


def _returned(function: mlir.Operation) -> list[mlir.Value[Any]]:
    """Return the operands of a function's last return op."""
    returns = [
        operation
        for block in function.regions[0].blocks
        for operation in block.operations
        if operation.operation.name == _RETURN
    ]
    return list(returns[-1].operation.operands) if returns else []


def _result(value: mlir.Value[Any], functions: Functions) -> Result | None:
    """Return the description of a returned value, read from the function that computes it; None if it cannot be read."""
    if isinstance(value.type, (mlir.IntegerType, mlir.IndexType, mlir.FloatType)):
        return Result(str(value.type))
    if not isinstance(value, mlir.OpResult):
        return None
    operation = value.owner.operation
    if operation.name == names.UTIL_CALL:
        callee = functions.get(_callee(operation))
        return (
            None if callee is None else _result(_returned(callee)[value.result_number], functions)
        )
    if operation.name != _EXPORT:
        return None
    tensor = operation.operands[0].type
    return (
        Result(str(tensor.element_type), _shape(tensor))
        if isinstance(tensor, mlir.RankedTensorType)
        else None
    )


def _callee(call: mlir.Operation) -> str:
    return str(call.attributes["callee"]).lstrip("@").strip('"')


def _shape(tensor: mlir.RankedTensorType) -> tuple[int | None, ...]:
    return tuple(
        None if tensor.is_dynamic_dim(number) else tensor.get_dim_size(number)
        for number in range(tensor.rank)
    )


def _argument(value: mlir.Value[Any], number: int, functions: Functions) -> Argument:
    kind = value.type
    if isinstance(kind, (mlir.IntegerType, mlir.IndexType, mlir.FloatType)):
        return Argument(str(kind), None)
    if str(kind) != _BUFFER_VIEW:
        raise _UnsupportedError(f"argument {number} is of type '{kind}'")
    types: list[mlir.RankedTensorType] = []
    is_updated = False
    for use in _uses(value, functions):
        if use.name == _IMPORT and isinstance(use.results[0].type, mlir.RankedTensorType):
            types.append(use.results[0].type)
        elif use.name == _ALIAS:
            is_updated = True
            types += [
                operand.type
                for operand in use.operands
                if isinstance(operand.type, mlir.RankedTensorType)
            ]
        elif use.name != "hal.buffer_view.dim":
            raise _UnsupportedError(f"argument {number} is not used as a tensor")
    if not types:
        return Argument("f32", (1,))  # it is not used: any tensor does
    (tensor, *_) = types
    return Argument(str(tensor.element_type), _shape(tensor), is_updated)


def _uses(value: mlir.Value[Any], functions: Functions) -> Iterator[mlir.Operation]:
    """Yield the operations that use an argument, including those in functions that receive it."""
    for use in value.uses:
        user = use.owner.operation
        if user.name != names.UTIL_CALL:
            yield user
            continue
        callee = functions.get(_callee(user))
        if callee is None:
            yield user
            continue
        for number, operand in enumerate(user.operands):
            if operand == value:
                yield from _uses(callee.regions[0].blocks[0].arguments[number], functions)
