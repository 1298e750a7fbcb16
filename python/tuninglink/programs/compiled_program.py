"""A compiled program with the arguments of one of its functions, its weights, and the NumPy types of elements.

Users give values of arguments as `iree-run-module` takes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.errors import CompileError
from tuninglink.iree import SizeCombination, Sizes, shape
from tuninglink.llvm_flags import option
from tuninglink.mlir import body, collect, error, names, symbol_name

_PARAMETER: Final = re.compile(r'#\w+\.parameter\.named<(?:"([^"]*)"::)?"([^"]*)">')
"""The syntax of a parameter, for which the bindings have no class."""


@dataclass(frozen=True)
class Parameter:
    """A weight that a program loads when it starts; its scope may be empty."""

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
        """Raise a `CompileError` if a file cannot be read, or lacks a parameter of its scope."""
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
                message = f"parameter '{parameter.key}' {has} in the files of --parameters"
                raise CompileError(error(message))


def read_parameters(module: mlir.Operation) -> tuple[Parameter, ...]:
    """Return the parameters of a program, in order."""
    parameters = []
    for operation in body(module):
        tensor: Any = operation.attributes.get("type")
        named = _PARAMETER.match(str(operation.attributes.get("initial_value")))
        if operation.name == "util.global" and named is not None:
            sizes = shape(tensor.value)
            if sizes is not None and None not in sizes:
                scope, key = named.groups("")
                kind = str(tensor.value.element_type)
                parameters.append(Parameter(scope, key, kind, tuple(tensor.value.shape)))
    return tuple(parameters)


PLAIN_INTEGERS = (1, 3)
"""The range of random integers, which may be indices: small, positive and not all equal."""


@dataclass(frozen=True)
class ProgramInput:
    """An argument of a call.

    Attributes:
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

_FLOATS: Final = frozenset(
    {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", SCALE}
)


def element_type(name: str) -> np.dtype | None:
    """Return the type of the elements of a tensor in memory, for an element type in MLIR syntax.

    None means that elements are not whole bytes, or of an unknown type: then their bytes are random, and outputs must
    be bitwise equal.
    """
    numpy_name = {"index": "int64", "i1": "bool"}.get(name, "")
    if name in _FLOATS:
        numpy_name = name.replace("f", "float", 1)  # of ml_dtypes, for example float8_e4m3fn
    elif name.lstrip("su") in {"i8", "i16", "i32", "i64"}:
        numpy_name = name.lstrip("su").replace("i", "int")
    if numpy_name.startswith(("float8", "bfloat")):
        import ml_dtypes  # noqa: PLC0415 - an extra that `explain` does without

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, numpy_name.replace("E", "_e", 1).lower()))
        return dtype
    return np.dtype(numpy_name) if numpy_name else None


def is_float(name: str) -> bool:
    """Return whether an element type is a floating-point type with a tolerance."""
    return name in _FLOATS


_LITERAL: Final = re.compile(r"(?:((?:\d+x)*)([a-zA-Z]\w*)=)?(.+)", re.DOTALL)


def read_input(given: GivenInput, argument: Argument, place: str) -> ProgramInput:
    """Return an argument with the value that was given for it."""
    dtype = element_type(argument.element_type)
    if dtype is None:
        raise CompileError(
            error(f"{place} is of type '{argument.element_type}', which is not supported")
        )
    value, kind = _read(given)
    is_file = given.text.startswith("@")
    is_named = kind in {"", argument.element_type}
    is_typed = _is_same_type(value.dtype, dtype) if is_file else is_named
    _check(given, argument, place, value, kind, is_typed=is_typed)
    # A file has the element type's bits, a literal its value.
    elements = value.view(dtype) if is_file else value.astype(dtype)
    content, is_scalar = np.ascontiguousarray(elements).tobytes(), argument.shape is None
    kind, is_updated = argument.element_type, argument.is_updated
    return ProgramInput(value.shape, kind, content, is_scalar, is_updated)


def read_expected(given: GivenInput, result: Argument | None, place: str) -> np.typing.NDArray[Any]:
    """Return a value that a function is expected to return."""
    is_file = given.text.startswith("@")
    value, _ = _read(given)
    if result is None:
        return value
    dtype = element_type(result.element_type)
    is_raw = is_file and value.dtype.kind == "V"  # NumPy has no such type
    if is_raw and dtype is not None and _is_same_type(value.dtype, dtype):
        value = value.view(dtype)
    if dtype is None or is_float(result.element_type):
        dtype = value.dtype
    is_typed = dtype == value.dtype or value.dtype.kind != "f" or not is_file
    _check(given, result, place, value, str(value.dtype), is_typed=is_typed)
    return value.astype(dtype, copy=False)


def _check(
    given: GivenInput,
    expected: Argument,
    place: str,
    value: np.ndarray,
    kind: str,
    *,
    is_typed: bool,
) -> None:
    """Raise an error unless a value has the expected sizes, and a type that suits."""
    shape = expected.shape or ()
    sizes = zip(shape, value.shape, strict=False)
    fits = len(value.shape) == len(shape) and all(size in {None, actual} for size, actual in sizes)
    if not fits or not is_typed:
        expectation, actual = (
            "".join("?x" if size is None else f"{size}x" for size in part) + name
            for name, part in ((expected.element_type, shape), (kind, value.shape))
        )
        raise CompileError(error(f"{place} is {expectation}; '{given}' is {actual}"))


def _read(given: GivenInput) -> tuple[np.ndarray, str]:
    """Return the elements of a file or of a literal, and their type, which may be empty for a literal."""
    if given.text.startswith("@"):
        path = given.text.removeprefix("@")
        try:
            loaded = np.load(Path(path), allow_pickle=False)
        except Exception as failure:  # noqa: BLE001 - damaged files raise many kinds
            raise CompileError(error(f"cannot read input '{path}': {failure}")) from None
        if not isinstance(loaded, np.ndarray):
            message = f"'{path}' holds several arrays; an input is one, as np.save writes it"
            raise CompileError(error(message))
        return loaded, str(loaded.dtype)
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
    is_alike = actual.kind == "V" or (actual.kind in "iu" and expected.kind == "i")
    return actual.itemsize == expected.itemsize if is_alike else actual == expected


# --- The public functions of a program and their arguments, read at the phase `abi` --------------

_Functions = Mapping[str, mlir.Operation]
_NUMBERS: Final = (mlir.IntegerType, mlir.IndexType, mlir.FloatType)

_ASYNC: Final = "$async"
"""The suffix of the functions with fences that importers of frameworks put next to one without."""


@dataclass(frozen=True)
class Argument:
    """An argument or a result of a function; a number has no shape."""

    element_type: str
    shape: Sizes | None = None
    is_updated: bool = False


@dataclass(frozen=True)
class EntryFunction:
    """A public function of a program; the obstacle is the reason why it cannot be called."""

    name: str
    arguments: tuple[Argument, ...]
    has_fences: bool = False
    obstacle: str = ""
    results: tuple[Argument | None, ...] = ()

    @property
    def dynamic_dimensions(self) -> list[tuple[int, int]]:
        """The arguments and dimensions with dynamic sizes."""
        return [
            (number, dimension)
            for number, argument in enumerate(self.arguments)
            for dimension, size in enumerate(argument.shape or ())
            if size is None
        ]

    def with_sizes(self, combination: SizeCombination) -> EntryFunction:
        """Return the function with sizes for its dynamic dimensions."""
        arguments = []
        for number, argument in enumerate(self.arguments):
            sizes = argument.shape and tuple(
                combination.size_of(number, dimension) if size is None else size
                for dimension, size in enumerate(argument.shape)
            )
            arguments.append(replace(argument, shape=sizes))
        return replace(self, arguments=tuple(arguments))


class _ObstacleError(Exception):
    """A function cannot be called."""


def read_entry_functions(module: mlir.Operation) -> list[EntryFunction]:
    """Return the public functions of a program, in order."""
    functions = {
        symbol_name(function) or "": function
        for function in body(module)
        if function.name == names.UTIL_FUNCTION
        and str(function.attributes.get(names.SYMBOL_VISIBILITY)) != '"private"'
        and function.regions[0].blocks
    }
    entries = []
    for name, function in functions.items():
        if name.endswith(_ASYNC) and name.removesuffix(_ASYNC) in functions:
            continue
        values = list(function.regions[0].blocks[0].arguments)
        has_fences = [str(value.type) for value in values[-2:]] == 2 * ["!hal.fence"]
        values = values[:-2] if has_fences else values
        try:
            arguments = tuple(_argument(value, at, functions) for at, value in enumerate(values))
        except _ObstacleError as obstacle:
            entries.append(EntryFunction(name, (), obstacle=str(obstacle)))
            continue
        results = tuple(_result(value, functions) for value in _returned(function))
        entries.append(EntryFunction(name, arguments, has_fences, results=results))
    return entries


def is_stateful(module: mlir.Operation) -> bool:
    """Return whether a function of a program changes a global, on which later calls may depend."""
    stores = ("util.global.store", "util.global.store.indirect")
    return any(collect(op, *stores) for op in body(module) if op.name == names.UTIL_FUNCTION)


def _returned(function: mlir.Operation) -> list[mlir.Value[Any]]:
    """Return the operands of a function's last return op."""
    returns = collect(function, "util.return")
    return list(returns[-1].operands) if returns else []


def _result(value: mlir.Value[Any], functions: _Functions) -> Argument | None:
    """Return the description of a returned value, read from the function that computes it; None if it cannot be read."""
    if isinstance(value.type, _NUMBERS):
        return Argument(str(value.type))
    if not isinstance(value, mlir.OpResult):
        return None
    operation = value.owner.operation
    if callee := _callee(operation, functions):
        returned = _returned(callee)[value.result_number]
        return _result(returned, functions)
    tensor = operation.operands[0].type if operation.name == "hal.tensor.export" else None
    if not isinstance(tensor, mlir.RankedTensorType):
        return None
    return Argument(str(tensor.element_type), shape(tensor))


def _callee(operation: mlir.Operation, functions: _Functions) -> mlir.Operation | None:
    """Return the public function that an operation calls, if any."""
    is_call = operation.name == names.UTIL_CALL
    name = str(operation.attributes["callee"]).lstrip("@").strip('"') if is_call else ""
    return functions.get(name)


def _argument(value: mlir.Value[Any], number: int, functions: _Functions) -> Argument:
    """Return the description of an argument; raise an error if a call cannot have one."""
    if isinstance(value.type, _NUMBERS):
        return Argument(str(value.type))
    if str(value.type) != "!hal.buffer_view":
        raise _ObstacleError(f"argument {number} is of type '{value.type}'")
    types: list[mlir.RankedTensorType] = []
    is_updated = False
    for use in _uses(value, functions):
        is_alias, is_import = use.name == "hal.tensor.alias", use.name == "hal.tensor.import"
        values = use.operands if is_alias else use.results if is_import else ()
        tensors = [v.type for v in values if isinstance(v.type, mlir.RankedTensorType)]
        if not tensors and not is_alias and use.name != "hal.buffer_view.dim":
            raise _ObstacleError(f"argument {number} is not used as a tensor")
        is_updated |= is_alias
        types += tensors
    if not types:
        return Argument("f32", (1,))  # it is not used: any tensor does
    return Argument(str(types[0].element_type), shape(types[0]), is_updated)


def _uses(value: mlir.Value[Any], functions: _Functions) -> Iterator[mlir.Operation]:
    """Yield the operations that use an argument, including those in functions that receive it."""
    for use in value.uses:
        user = use.owner.operation
        callee = _callee(user, functions)
        if callee is None:
            yield user
            continue
        arguments = callee.regions[0].blocks[0].arguments
        for operand, received in zip(user.operands, arguments, strict=True):
            if operand == value:
                yield from _uses(received, functions)


# --- Programs as tasks, with options for their calls: the functions that count, their inputs, and files with weights

_WEIGHT: Final = re.compile(r"([^=]+)(?:=([1-9]\d*))?")
_INPUT: Final = re.compile(r"(?:([^:@=]+):)?(.+)", re.DOTALL)
_SUFFIXES: Final = (".irpa", ".safetensors", ".gguf")


@dataclass(frozen=True)
class FunctionWeight:
    """A function whose time counts, as often as its weight says."""

    name: str
    weight: int = 1

    @classmethod
    def parse(cls, text: str) -> FunctionWeight:
        """Read `NAME[=WEIGHT]`; raise a `ValueError` if the text has another form."""
        parts = _WEIGHT.fullmatch(text)
        if parts is None:
            raise ValueError("expected NAME or NAME=WEIGHT, a whole number such as 100")
        return cls(parts[1].lstrip("@"), int(parts[2] or 1))


@dataclass(frozen=True)
class GivenInput:
    """A value for an argument, as the user wrote it; no function means the only one."""

    function: str
    text: str

    @classmethod
    def parse(cls, text: str) -> GivenInput:
        """Read `[FUNCTION:]VALUE`; raise a `ValueError` without a value."""
        parts = _INPUT.fullmatch(text)
        if parts is None:
            raise ValueError(
                "expected [FUNCTION:]@FILE.npy, [FUNCTION:]SHAPExTYPE=VALUES or a number"
            )
        return cls(parts[1] or "", parts[2])

    def __str__(self) -> str:
        return f"{self.function}:{self.text}" if self.function else self.text


@dataclass(frozen=True)
class ParameterFile:
    """A file with parameters, which may belong to a scope."""

    scope: str
    path: str

    @classmethod
    def parse(cls, text: str) -> ParameterFile:
        """Read `[SCOPE=]FILE`; raise a `ValueError` if the file does not exist, or has an unsupported type."""
        scope, _, path = text.rpartition("=")
        if not path.endswith(_SUFFIXES):
            raise ValueError(f"expected [SCOPE=]FILE, a file in {', '.join(_SUFFIXES)}")
        if not Path(path).is_file():
            raise ValueError(f"file '{path}' does not exist")
        return cls(scope, str(Path(path).resolve()))


@dataclass(frozen=True)
class CallOptions:
    """The user's options for calls of a program, as flags of `tuninglink tune` set them."""

    functions: tuple[FunctionWeight, ...] = option(
        (),
        name="function",
        read=FunctionWeight.parse,
        repeats=True,
        metavar="NAME[=N]",
        help="Count this function of the program, each call N times. May be repeated. Default: all functions, one call "
        "each.",
    )
    inputs: tuple[GivenInput, ...] = option(
        (),
        name="input",
        read=GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="An input of function F: @FILE.npy, 2x3xf32=0 or a number. As iree-run-module takes them, one for each argument "
        "of the whole program. Default: random.",
    )
    parameters: tuple[ParameterFile, ...] = option(
        (),
        read=ParameterFile.parse,
        repeats=True,
        metavar="[S=]FILE",
        help="Weights of the program (.irpa, .safetensors, .gguf) with scope S. May be repeated. Default: random weights.",
    )
    expected: tuple[GivenInput, ...] = option(
        (),
        read=GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="What function F should return for these inputs, as for --input, such as the outputs of the framework that "
        "the model comes from. One for each result. Default: what the same program computes on the CPU.",
    )


ALL_CALLS: Final[CallOptions] = CallOptions()
"""One call of each function, with random inputs."""
