"""A compiled program with what one of its functions is called with, and its weights."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.tuning.programs.call_options import ParameterFile


_GLOBAL: Final = "util.global"
_INITIAL_VALUE: Final = "initial_value"
_PARAMETER: Final = re.compile(r'#\w+\.parameter\.named<(?:"([^"]*)"::)?"([^"]*)">')
"""How the compiler writes a parameter, for which the bindings have no class."""


@dataclass(frozen=True)
class Parameter:
    """A weight that a program loads when it starts.

    Attributes:
        scope: the scope of its name, or nothing.
        key: its name.
        element_type: the element type, as MLIR writes it.
        shape: its sizes.
    """

    scope: str
    key: str
    element_type: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ParameterSource:
    """Where a program gets its parameters from.

    Attributes:
        parameters: what it loads.
        files: the files that hold them; with none, the parameters are random.
    """

    parameters: tuple[Parameter, ...] = ()
    files: tuple[ParameterFile, ...] = ()

    @property
    def is_synthetic(self) -> bool:
        """Whether the parameters are random."""
        return bool(self.parameters) and not self.files


def read_parameters(module: mlir.Operation) -> tuple[Parameter, ...]:
    """Return the parameters of a program, in order.

    Args:
        module: a program at `abi`.
    """
    return tuple(_parameters(module))


def _parameters(module: mlir.Operation) -> Iterator[Parameter]:
    for operation in body(module):
        if operation.name != _GLOBAL or _INITIAL_VALUE not in operation.attributes:
            continue
        value = operation.attributes[_INITIAL_VALUE]
        kind = operation.attributes["type"]
        assert isinstance(kind, mlir.TypeAttr)
        tensor = kind.value
        if not isinstance(tensor, mlir.RankedTensorType) or not tensor.has_static_shape:
            continue
        named = _PARAMETER.match(str(value))
        if named is not None:
            scope, key = named.groups("")
            yield Parameter(scope, key, str(tensor.element_type), tuple(tensor.shape))


PLAIN_INTEGERS = (1, 3)
"""The range of random integers, which may be indices: small, positive and not all equal."""


@dataclass(frozen=True)
class ProgramInput:
    """An argument of a call.

    Attributes:
        shape: the sizes.
        element_type: the element type, as MLIR writes it.
        content: the bytes of the elements; None for random ones.
        is_scalar: whether it is a number instead of a tensor.
        is_updated: whether the function writes results to it.
    """

    shape: tuple[int, ...]
    element_type: str
    content: bytes | None = field(default=None, repr=False)
    is_scalar: bool = False
    is_updated: bool = False


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled program and what one of its functions is called with.

    Attributes:
        image: the module, a VM FlatBuffer.
        function: the name of the function.
        inputs: its arguments, fences aside.
        has_fences: whether a fence to wait for and a fence to signal follow the arguments.
        is_stateful: whether its results may depend on earlier calls; then it starts anew before it is called.
        parameters: where it gets its weights from.
        integers: the least and the largest random integer among the inputs.
    """

    image: bytes = field(repr=False)
    function: str
    inputs: tuple[ProgramInput, ...]
    has_fences: bool = False
    is_stateful: bool = False
    parameters: ParameterSource = field(default_factory=ParameterSource)
    integers: tuple[int, int] = PLAIN_INTEGERS
