"""Weights next to a program: what it expects, and the files that hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
