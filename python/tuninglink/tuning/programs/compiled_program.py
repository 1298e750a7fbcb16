"""A compiled program with the arguments of one of its functions, its weights, and the NumPy types of elements.

Users give values of arguments as `iree-run-module` takes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.walk import body
from tuninglink.tuning.programs import ParameterFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.programs import GivenInput
    from tuninglink.tuning.programs.entry_functions import Argument, Result


_GLOBAL: Final = "util.global"
_INITIAL_VALUE: Final = "initial_value"
_PARAMETER: Final = re.compile(r'#\w+\.parameter\.named<(?:"([^"]*)"::)?"([^"]*)">')
"""The syntax of a parameter, for which the bindings have no class."""


@dataclass(frozen=True)
class Parameter:
    """A weight that a program loads when it starts.

    Attributes:
        scope: the scope of its name; empty without one.
        key: its name.
        element_type: the element type, in MLIR syntax.
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
        parameters: the parameters that the program loads.
        files: the files that hold them; with none, the parameters are random.
    """

    parameters: tuple[Parameter, ...] = ()
    files: tuple[ParameterFile, ...] = ()

    @property
    def is_synthetic(self) -> bool:
        """Whether the parameters are random."""
        return bool(self.parameters) and not self.files

    def check(self) -> None:
        """Check that the files can be read, and hold the parameters of their scopes.

        Raises:
            CompileError: a file is damaged, or lacks a parameter.
        """
        if not self.files:
            return
        try:
            from iree import runtime as rt  # noqa: PLC0415 - an extra, which running the program asks for
        except ImportError:
            return
        indexes: dict[str, Any] = {}
        for file in self.files:
            try:
                indexes.setdefault(file.scope, rt.ParameterIndex()).load(file.path)
            except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
                message = f"cannot read parameters from '{file.path}': {failure}"
                raise CompileError(error(message)) from None
        lengths = {
            scope: {key: entry.length for key, entry in index.items()}
            for scope, index in indexes.items()
        }
        for parameter in self.parameters:
            if parameter.scope not in lengths:
                continue
            length = lengths[parameter.scope].get(parameter.key)
            bits = re.search(r"\d+", parameter.element_type)
            needed = math.prod(parameter.shape) * int(bits[0] if bits else 8) // 8
            if length is None or length < needed:
                has = "is missing" if length is None else f"has {length} bytes instead of {needed}"
                raise CompileError(
                    error(f"parameter '{parameter.key}' {has} in the files of --parameters")
                )


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
        element_type: the element type, in MLIR syntax.
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
    """A compiled program and the arguments of one of its functions.

    Attributes:
        image: the module, a VM FlatBuffer.
        function: the name of the function.
        inputs: its arguments other than fences.
        has_fences: whether a fence to wait for and a fence to signal follow the arguments.
        is_stateful: whether its results may depend on earlier calls; if so, each call gets a fresh context.
        parameters: the source of its weights.
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
        name: an element type in MLIR syntax.

    Returns:
        The type, or None if elements are not whole bytes, or of an unknown type: then their bytes are random,
        and outputs must be bitwise equal.
    """
    dtype = _FLOATS.get(name) or _INTEGERS.get(name.lstrip("su")) or {"i1": np.bool_}.get(name)
    return None if dtype is None else np.dtype(dtype)


def is_float(name: str) -> bool:
    """Return whether an element type is a floating-point type with a tolerance."""
    return name in _FLOATS


_LITERAL: Final = re.compile(r"(?:((?:\d+x)*)([a-zA-Z]\w*)=)?(.+)", re.DOTALL)


def read_input(given: GivenInput, argument: Argument, place: str) -> ProgramInput:
    """Return an argument with the value that was given for it.

    Args:
        given: the value: `@FILE.npy`, `2x3xf32=1,2,3,4,5,6`, `2x3xf32=0` or a number.
        argument: the argument.
        place: the name of the argument in diagnostics.

    Raises:
        CompileError: the value cannot be read, or its type or shape differs.
    """
    dtype = element_type(argument.element_type)
    if dtype is None:
        raise CompileError(
            error(f"{place} is of type '{argument.element_type}', which is not supported")
        )
    # Load a file, or parse a literal.
    if given.text.startswith("@"):
        value = _load(given)
        kind = str(value.dtype)
        is_typed = _is_same_type(value.dtype, dtype)
    else:
        value, kind = _literal(given)
        is_typed = kind in {"", argument.element_type}
    # Compare shape and type with those of the argument.
    shape = argument.shape or ()
    fits = len(value.shape) == len(shape) and all(
        size in {None, actual} for size, actual in zip(shape, value.shape, strict=True)
    )
    if not fits or not is_typed:
        sizes = "".join("?x" if size is None else f"{size}x" for size in shape)
        actual = "".join(f"{size}x" for size in value.shape)
        message = f"{place} is {sizes}{argument.element_type}; '{given}' is {actual}{kind}"
        raise CompileError(error(message))
    # A file has the element type's bits, a literal its value.
    elements = value.astype(dtype) if not given.text.startswith("@") else value.view(dtype)
    return ProgramInput(
        value.shape,
        argument.element_type,
        np.ascontiguousarray(elements).tobytes(),
        is_scalar=argument.shape is None,
        is_updated=argument.is_updated,
    )


def read_expected(given: GivenInput, result: Result | None, place: str) -> NDArray[Any]:
    """Return a value that a function is expected to return.

    Args:
        given: the value, as for `read_input`; any floating-point type is accepted.
        result: the result of the function; None if that cannot be read.
        place: the name of the result in diagnostics.

    Raises:
        CompileError: the value cannot be read, or its type or shape differs.
    """
    is_file = given.text.startswith("@")
    value = _load(given) if is_file else _literal(given)[0]
    if result is None:
        return value
    dtype = element_type(result.element_type)
    is_raw = is_file and value.dtype.kind == "V"  # NumPy has no such type
    if is_raw and dtype is not None and _is_same_type(value.dtype, dtype):
        value = value.view(dtype)
    fits = len(value.shape) == len(result.shape) and all(
        size in {None, actual} for size, actual in zip(result.shape, value.shape, strict=True)
    )
    is_number = (
        dtype is None or is_float(result.element_type) or value.dtype.kind != "f" or not is_file
    )
    if not fits or not is_number:
        actual = "".join(f"{size}x" for size in value.shape)
        raise CompileError(error(f"{place} is {result}; '{given}' is {actual}{value.dtype}"))
    if dtype is not None and not is_float(result.element_type):
        value = value.astype(dtype)
    return value


def _load(given: GivenInput) -> np.ndarray:
    path = given.text.removeprefix("@")
    try:
        loaded = np.load(Path(path), allow_pickle=False)
    except Exception as failure:  # noqa: BLE001 - damaged files raise many kinds
        raise CompileError(error(f"cannot read input '{path}': {failure}")) from None
    if not isinstance(loaded, np.ndarray):
        message = f"'{path}' holds several arrays; an input is one, as np.save writes it"
        raise CompileError(error(message))
    return loaded


def _literal(given: GivenInput) -> tuple[np.ndarray, str]:
    """Return the elements of a value, and its explicit element type, if any."""
    parts = _LITERAL.fullmatch(given.text)
    try:
        assert parts is not None
        numbers = [float(number) for number in re.split(r"[,\s]+", parts[3].strip())]
    except ValueError:
        message = f"'{given}' is not an input; expected @FILE.npy, SHAPExTYPE=VALUES or a number"
        raise CompileError(error(message)) from None
    shape = tuple(int(size) for size in (parts[1] or "").split("x") if size)
    if len(numbers) == 1:
        return np.full(shape, numbers[0]), parts[2] or ""
    if len(numbers) != math.prod(shape):
        message = f"'{given}' has {len(numbers)} values, and its shape {math.prod(shape)}"
        raise CompileError(error(message))
    return np.array(numbers).reshape(shape), parts[2] or ""


def _is_same_type(actual: np.dtype, expected: np.dtype) -> bool:
    """Return whether an array holds elements of a type; NumPy stores unsupported types as plain bytes."""
    is_alike = actual.kind == "V" or (actual.kind in "iu" and expected.kind == "i")
    return actual.itemsize == expected.itemsize if is_alike else actual == expected
