"""Values of arguments that a user gives, as `iree-run-module` takes them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error
from tuninglink.tuning.programs.compiled_program import ProgramInput, element_type, is_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.programs import GivenInput
    from tuninglink.tuning.programs.entry_functions import Argument, Result

_LITERAL: Final = re.compile(r"(?:((?:\d+x)*)([a-zA-Z]\w*)=)?(.+)", re.DOTALL)


def read_input(given: GivenInput, argument: Argument, place: str) -> ProgramInput:
    """Return an argument with the value that was given for it.

    Args:
        given: the value: `@FILE.npy`, `2x3xf32=1,2,3,4,5,6`, `2x3xf32=0` or a number.
        argument: the argument.
        place: what diagnostics call the argument.

    Raises:
        CompileError: the value cannot be read, or its type or shape is another.
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
        given: the value, as for `read_input`; of floating-point types, any does.
        result: what the function returns; None if that cannot be read.
        place: what diagnostics call the result.

    Raises:
        CompileError: the value cannot be read, or its type or shape is another.
    """
    is_file = given.text.startswith("@")
    value = _load(given) if is_file else _literal(given)[0]
    if result is None:
        return value
    dtype = element_type(result.element_type)
    if (
        is_file
        and value.dtype.kind == "V"
        and dtype is not None
        and value.dtype.itemsize == dtype.itemsize
    ):
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
    except (OSError, ValueError) as failure:
        raise CompileError(error(f"cannot read input '{path}': {failure}")) from None
    if not isinstance(loaded, np.ndarray):
        message = f"'{path}' holds several arrays; an input is one, as np.save writes it"
        raise CompileError(error(message))
    return loaded


def _literal(given: GivenInput) -> tuple[np.ndarray, str]:
    """Return the elements of a value, and the element type that it names or nothing."""
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
    """Return whether an array holds elements of a type; NumPy writes types that it lacks as plain bytes."""
    is_alike = actual.kind == "V" or (actual.kind in "iu" and expected.kind == "i")
    return actual.itemsize == expected.itemsize if is_alike else actual == expected
