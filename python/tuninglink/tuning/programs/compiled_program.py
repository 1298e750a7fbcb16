"""A compiled program with what one of its functions is called with, its weights, and element types as those of NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir

from tuninglink.mlir.walk import body
from tuninglink.tuning.programs import ParameterFile

_GLOBAL: Final = "util.global"
_INITIAL_VALUE: Final = "initial_value"
_PARAMETER: Final = re.compile(r'#\w+\.parameter\.named<(?:"([^"]*)"::)?"([^"]*)">')
"""The syntax of a parameter, for which the bindings have no class."""


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
    """The source of a program's parameters.

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
        is_stateful: whether its results may depend on earlier calls; then it starts again before it is called.
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


SCALE: Final = "f8E8M0FNU"
"""The type of scales of blocks: powers of two without a sign."""

_FLOATS: Final[dict[str, type]] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    SCALE: ml_dtypes.float8_e8m0fnu,
}
_INTEGERS: Final[dict[str, type]] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def element_type(name: str) -> np.dtype | None:
    """Return the type of the elements of a tensor in memory.

    Args:
        name: an element type as MLIR writes it.

    Returns:
        The type, or None if elements are not whole bytes, or of an unknown type: then their bytes are random,
        and outputs must be equal to the bit.
    """
    dtype = _FLOATS.get(name) or _INTEGERS.get(name.lstrip("su")) or {"i1": np.bool_}.get(name)
    return None if dtype is None else np.dtype(dtype)


def is_float(name: str) -> bool:
    """Return whether an element type is a floating-point type with a tolerance."""
    return name in _FLOATS
