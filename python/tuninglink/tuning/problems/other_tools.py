"""Reading command lines that MIOpen logs for its driver, and those of BOO and Fusilli in the same form."""

from __future__ import annotations

import ast
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from tuninglink.tuning.problems.problem import (
    LARGEST_SIZE,
    Attention,
    CommandFlags,
    Convolution,
    ElementType,
    Gradient,
    Layout,
    MappingEntries,
    Mask,
    Norm,
    Normalization,
    Problem,
    ProblemError,
    Product,
    RowOperation,
    Rows,
    UnsupportedError,
    read_size,
)

_MIOPEN_TYPES: Final = {
    "": ElementType.F32,
    "fp16": ElementType.F16,
    "bfp16": ElementType.BF16,
    "int8": ElementType.I8,
}
"""The types of operands by the ends of operations' names."""

_MIOPEN_NAMES: Final = {
    "batchsize": "n",
    "in_d": "!",
    "fil_d": "@",
    "conv_stride_d": "#",
    "pad_d": "$",
    "dilation_d": "^",
    "in_channels": "c",
    "in_h": "H",
    "in_w": "W",
    "out_channels": "k",
    "fil_h": "y",
    "fil_w": "x",
    "conv_stride_h": "u",
    "conv_stride_w": "v",
    "pad_h": "p",
    "pad_w": "q",
    "dilation_h": "l",
    "dilation_w": "j",
    "group_count": "g",
    "forw": "F",
    "mode": "m",
    "spatial_dim": "_",
    "pad_mode": "z",
    "trans_output_pad_d": "%",
    "trans_output_pad_h": "Y",
    "trans_output_pad_w": "X",
    "in_cast_type": "U",
    "wei_cast_type": "R",
    "out_cast_type": "T",
    "in_layout": "I",
    "fil_layout": "f",
    "out_layout": "O",
}
"""The long names of the flags of convolutions that are read."""

_PRODUCT_NAMES: Final = {
    "m": "a_h",
    "k": "a_w",
    "n": "b_w",
    "u": "transA",
    "v": "transB",
    "batch_count": "b",
    "isColMajor": "C",
    "forw": "F",
}
"""The other names of the flags of products that are read."""

_NORMALIZATION_NAMES: Final = {"input": "X", "forw": "F", "mode": "m", "normalized_dim": "o"}
"""The long names of the flags of normalizations that are read."""

_DIRECTIONS: Final = {1: None, 2: Gradient.DATA, 4: Gradient.WEIGHTS}
"""The directions by the bits of `-F`. 0 stands for all."""

_TRANSPOSED_DIRECTIONS: Final = {1: Gradient.DATA, 2: None, 4: Gradient.WEIGHTS}
"""The same of a transposed convolution, which is the gradient of a convolution's image."""


_LAYER_NORM: Final = "layernorm"
_NAME: Final = rf"(?:conv|gemm|{_LAYER_NORM})(?:fp16|bfp16|int8)?"
_TYPE_OF_FUSILLI: Final = r"(?:.*\s)?(?:-t|--type)[\s=]+b?f\d"

MIOPEN_COMMAND: Final = re.compile(
    r"MIOpenDriver(?:\.exe)?\s+(?P<driver>\S+)"
    rf"|(?<!\S)(?!{_LAYER_NORM}\s{_TYPE_OF_FUSILLI})(?P<alone>{_NAME})(?=\s+-)"
)
"""The operation of MIOpen's driver, after the name of the driver or without it, anywhere in a line."""


def read_miopen(line: str, command: re.Match[str]) -> tuple[Problem, ...]:
    """Read an operation of MIOpen's driver: a convolution and its gradients, a product or a normalization."""
    operation = command["driver"] or command["alone"]
    operations = {
        name + end: (read, element)
        for name, read in _MIOPEN_READERS.items()
        for end, element in _MIOPEN_TYPES.items()
        if name != _LAYER_NORM or not element.is_narrow
    }
    if operation not in operations:
        column = command.start("driver" if command["driver"] else "alone") + 1
        raise UnsupportedError.unknown("operation", operation, operations, column)
    read, element = operations[operation]
    return read(line, command, element)


def _read_convolutions(
    line: str, command: re.Match[str], element: ElementType
) -> tuple[Convolution, ...]:
    flags = CommandFlags(line, command.end(), _MIOPEN_NAMES)
    rank = _rank(flags)

    def extents(names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        return flags.numbers(names[-rank:], least, default)

    images, channels = flags.numbers("nc", 1)
    size, kernel = extents("!HW", 1), extents("@yx", 1)
    strides, dilations = extents("#uv", 1, 1), extents("^lj", 1, 1)
    padding = _padding(flags, extents("$pq", 0, 0))
    outputs, layout = flags.number("k", 1), _layout(flags, rank)
    mode = flags.text("m", "conv")
    if mode not in ("conv", "trans") and not mode.isdecimal():
        raise UnsupportedError.unknown("mode", mode, ["conv", "trans"], flags.column("m"))
    is_transposed = mode == "trans"
    if is_transposed:
        # The operands exchange their roles.
        channels, outputs, layout = outputs, channels, layout.transposed
        parts = zip(size, kernel, strides, padding, dilations, extents("%YX", 0, 0), strict=True)
        size = tuple(
            (count - 1) * stride - 2 * margin + dilation * (window - 1) + 1 + more
            for count, window, stride, margin, dilation, more in parts
        )
        if min(size) < 1:
            raise ProblemError("the padding exceeds the result", flags.column("p"))
    switches = {"fp16": ElementType.F16, "bf16": ElementType.BF16}
    given = [switched for name, switched in switches.items() if flags.has(name)]
    switched_type = given[0] if given else element
    convolution = Convolution(
        *(images, channels, size, outputs, kernel, switched_type),
        *(strides, padding, dilations, layout, flags.number("g", 1, 1)),
    )
    gradients = _TRANSPOSED_DIRECTIONS if is_transposed else _DIRECTIONS
    chosen = _directions(flags)
    return tuple(
        replace(convolution, gradient=gradient)
        for bit, gradient in gradients.items()
        if bit & chosen
    )


def _read_gemm(line: str, command: re.Match[str], element: ElementType) -> tuple[Product, ...]:
    flags = CommandFlags(line, command.end(), _PRODUCT_NAMES)
    if flags.number("F", 0, 1) != 1:
        raise UnsupportedError("only forward products are supported ('-F 1')", flags.column("F"))
    if flags.number("C", 0, 0):
        raise UnsupportedError("matrices stored by columns are not supported", flags.column("C"))
    height, width, columns = (flags.number(name, 1) for name in ("a_h", "a_w", "b_w"))
    # BOO, whose lines lack the name of the driver, takes the width for the rows.
    rows, terms = (height, width) if command["driver"] else (width, height)
    transposes = (bool(flags.number(name, 0, 0)) for name in ("transA", "transB"))
    batch = flags.number("b", 1, 1)
    return (Product(rows, columns, terms, element, batch if batch > 1 else None, *transposes),)


def _read_layer_norm(
    line: str, command: re.Match[str], element: ElementType
) -> tuple[Normalization, ...]:
    flags = CommandFlags(line, command.end(), _NORMALIZATION_NAMES)
    if flags.number("F", 0, 1) != 1:
        message = "only forward layer normalizations are supported ('-F 1')"
        raise UnsupportedError(message, flags.column("F"))
    sizes, first = flags.sizes("X", 2), flags.number("o", 0, 3)
    if first >= len(sizes):
        message = f"dimension {first} of {len(sizes)} cannot be normalized ('-o')"
        raise ProblemError(message, flags.column("o"))
    rows, columns = math.prod(sizes[:first]), math.prod(sizes[first:])
    return (Normalization(Norm.LAYER, rows, columns, element, bool(flags.number("m", 0, 0))),)


_MIOPEN_READERS: Final[
    dict[str, Callable[[str, re.Match[str], ElementType], tuple[Problem, ...]]]
] = {
    "conv": _read_convolutions,
    "gemm": _read_gemm,
    "layernorm": _read_layer_norm,
}
"""Readers by the beginnings of operations' names."""


def _directions(flags: CommandFlags) -> int:
    """Return the directions as a sum of bits; the default is the forward direction, as in BOO."""
    # Fusilli has another long name for this flag.
    name = "m" if flags.text("m", "").isdecimal() else "F"
    value, every = flags.number(name, 0, 1), sum(_DIRECTIONS)
    if value > every:
        form = "a sum of 1 (forward), 2 (gradient of the data) and 4 (of the weights), or 0 for all"
        raise UnsupportedError(
            f"direction {value} is not supported: expected {form}", flags.column(name)
        )
    return value or every


def _padding(flags: CommandFlags, padding: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding, which is 0 in the mode `valid`. Casts of operands are rejected."""
    modes = ("default", "conv", "valid")
    if (mode := flags.text("z", modes[0])) not in modes:
        raise UnsupportedError.unknown("padding mode", mode, modes, flags.column("z"))
    for name in "URT":
        if flags.text(name, ""):
            raise UnsupportedError("casts of operands are not supported", flags.column(name))
    return (0,) * len(padding) if mode == "valid" else padding


_AXES: Final = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of an image's extents in layouts, by their number."""


def _rank(flags: CommandFlags) -> int:
    """Return the number of an image's extents, which follows from the layouts."""
    implied = (len(flags.text(name, "")) - 2 for name in "IfO")
    rank = flags.number("_", 1, next(filter(_AXES.__contains__, implied), 2))
    if rank not in _AXES:
        message = "only convolutions in one to three dimensions are supported"
        raise UnsupportedError(message, flags.column("_"))
    return rank


def _layout(flags: CommandFlags, rank: int) -> Layout:
    """Return the layout; N and C are filters and channels in filters, and images and filters in results."""
    default = f"NC{_AXES[rank]}"
    given = [flags.text(name, default) for name in "IfO"]
    for name, layout in zip("IfO", given, strict=True):
        if sorted(layout) != sorted(default):
            form = f"the letters of {default} in any order"
            message = f"unknown layout '{layout}': expected {form}"
            raise UnsupportedError(message, flags.column(name))
    image, filters, result = (layout.lower() for layout in given)
    return Layout(image, filters.replace("n", "f"), result.replace("c", "f"))


# --- Reading command lines of Fusilli's benchmarks, whose convolutions have the form of MIOpen's driver

FUSILLI_COMMAND: Final = re.compile(r"(?:^|\s)(?P<operation>matmul|sdpa|layernorm)(?=\s+-)")
"""The operation of a benchmark of Fusilli."""

_FUSILLI_TYPES: Final = {
    element.value: element for element in (ElementType.F32, ElementType.F16, ElementType.BF16)
}

_FUSILLI_NAMES: Final = {
    "m": "M",
    "n": "N",
    "k": "K",
    "b": "B",
    "batch": "B",
    "head_dim": "d",
    "type": "t",
    "dropout": "p",
    "input": "X",
    "forw": "F",
}


def read_fusilli(line: str, command: re.Match[str]) -> Product | Attention | Normalization:
    """Read a benchmark of Fusilli."""
    flags = CommandFlags(line, command.end(), _FUSILLI_NAMES)
    return _FUSILLI_READERS[command["operation"]](flags)


def _fusilli_product(flags: CommandFlags) -> Product:
    element = flags.operand_type(_FUSILLI_TYPES)
    batch = flags.number("B", 1, 1)
    return Product(
        flags.number("M", 1),
        flags.number("N", 1),
        flags.number("K", 1),
        element,
        batch if batch > 1 else None,
        transposes_a=flags.has("transA"),
        transposes_b=flags.has("transB"),
    )


def _fusilli_attention(flags: CommandFlags) -> Attention:
    if (dropout := flags.text("p", "0")) not in ("0", "0.0"):
        message = f"dropout of {dropout} is not supported: results would be random"
        raise UnsupportedError(message, flags.column("p"))
    batch, queries, keys = (flags.number(name, 1) for name in ("B", "heads_q", "heads_kv"))
    if queries % keys or (queries != keys and not flags.has("gqa")):
        message = f"{queries} heads of queries and {keys} of keys need '--gqa', and a whole ratio"
        raise ProblemError(message, flags.column("heads_kv"))
    given, causal = flags.has("mask"), flags.has("causal")
    if given and causal:
        raise ProblemError("'--mask' and '--causal' exclude each other", flags.column("causal"))
    return Attention(
        batch * queries,
        *(flags.number("seq_q", 1), flags.number("seq_kv", 1), flags.number("d", 1)),
        flags.choice("t", _FUSILLI_TYPES),
        Mask.GIVEN if given else Mask.CAUSAL if causal else None,
        batch * keys if queries != keys else None,
    )


def _fusilli_layer_norm(flags: CommandFlags) -> Normalization:
    """Read a layer normalization over all dimensions but the first."""
    if flags.number("F", 0, 1) != 1:
        message = "only forward layer normalizations are supported ('-F 1')"
        raise UnsupportedError(message, flags.column("F"))
    rows, *columns = flags.sizes("X", 2)
    element = flags.choice("t", _FUSILLI_TYPES)
    return Normalization(
        Norm.LAYER, rows, math.prod(columns), element, flags.has("elementwise_affine")
    )


_FUSILLI_READERS: Final[
    dict[str, Callable[[CommandFlags], Product | Attention | Normalization]]
] = {
    "matmul": _fusilli_product,
    "sdpa": _fusilli_attention,
    "layernorm": _fusilli_layer_norm,
}
"""Readers of the flags of an operation."""


# --- Reading products that libraries of linear algebra log: lines of TunableOp, and of rocBLAS and hipBLASLt

_BLAS_TYPES: Final = {
    "f32_r": ElementType.F32,
    "f16_r": ElementType.F16,
    "bf16_r": ElementType.BF16,
    "i8_r": ElementType.I8,
    "f8_r": ElementType.F8E4M3FN,
    "bf8_r": ElementType.F8E5M2,
    "f8_fnuz_r": ElementType.F8E4M3FNUZ,
    "bf8_fnuz_r": ElementType.F8E5M2FNUZ,
    "s": ElementType.F32,
    "h": ElementType.F16,
}

_LIBRARY_TYPES: Final = {
    "float": ElementType.F32,
    "tf32": ElementType.F32,
    "Half": ElementType.F16,
    "BFloat16": ElementType.BF16,
    "Float8_e4m3fn": ElementType.F8E4M3FN,
    "Float8_e5m2": ElementType.F8E5M2,
    "Float8_e4m3fnuz": ElementType.F8E4M3FNUZ,
    "Float8_e5m2fnuz": ElementType.F8E5M2FNUZ,
}
_SCALED: Final = "ScaledGemmTunableOp"
_SCALED_TYPES: Final = re.compile(r"(Float8_[^_]+)_(Float8_[^_]+)_\w+")
"""The types of the operands and of the result. Scales are applied to the result, in operations after the product."""

_OPERATIONS: Final = (
    *("GemmTunableOp", "GemmAndBiasTunableOp", "GemmStridedBatchedTunableOp"),
    _SCALED,
)
_BATCHED: Final = "GemmStridedBatchedTunableOp"

_SIZES: Final = re.compile(r"([nt])([nt])_(\d+)_(\d+)_(\d+)(?:_B_(\d+))?(?=_|$)")

VALIDATOR: Final = "Validator,"
"""The beginning of lines with the versions of the libraries."""

TUNABLE_OP: Final = re.compile(r"^\s*(\w+TunableOp)_")
"""The beginning of a line with a problem."""


def read_tunable_op(line: str, _line: re.Match[str]) -> Product:
    """Read a line of TunableOp, which `TUNABLE_OP` matches."""
    indent = len(line) - len(line.lstrip())
    # Split `OPERATION_TYPE_LETTERS,LETTERS_SIZES`.
    operation_text, _, rest = line.strip().partition(",")
    sizes_text = rest.partition(",")[0]
    operation, _, type_and_letters = operation_text.partition("_")
    if operation not in _OPERATIONS:
        raise UnsupportedError.unknown("operation", operation, _OPERATIONS, indent + 1)
    type_text = type_and_letters.rpartition("_")[0]
    column = indent + len(operation) + 2
    if operation == _SCALED and (operands := _SCALED_TYPES.fullmatch(type_text)):
        type_text = operands[1]
        if operands[2] != type_text:
            raise UnsupportedError("operands of different types are not supported", column)
    if type_text not in _LIBRARY_TYPES:
        raise UnsupportedError.unknown("type", type_text, _LIBRARY_TYPES, column)
    # Read the letters of transposition, and the sizes.
    letters_and_sizes = _SIZES.match(sizes_text)
    is_batched = operation == _BATCHED
    first, second, *texts = letters_and_sizes.groups() if letters_and_sizes else ("", "")
    sizes = [read_size(text) for text in texts if text is not None]
    valid = [size for size in sizes if size is not None]
    if len(valid) < len(sizes) or len(sizes) != (4 if is_batched else 3):
        form = "nt_M_N_K_B_BATCH" if is_batched else "nt_M_N_K"
        column = indent + len(operation_text) + 2
        raise ProblemError(f"invalid sizes '{sizes_text}': expected {form}", column)
    # The operands are column-major: rows and columns are exchanged.
    columns, rows, terms, *batch = valid
    return Product(
        rows,
        columns,
        terms,
        _LIBRARY_TYPES[type_text],
        batch[0] if batch else None,
        transposes_a=second == "t",
        transposes_b=first == "t",
    )


HIPBLASLT_COMMAND: Final = re.compile(r"(?<![\w-])hipblaslt-bench(?=\s)")
"""The name of hipBLASLt's benchmark, anywhere in a line."""

ROCBLAS_COMMAND: Final = re.compile(r"(?<![\w-])rocblas-bench(?=\s)")
"""The name of rocBLAS's benchmark, anywhere in a line."""

LOGGED_FUNCTION: Final = re.compile(r"^\s*-\s*\{(?=.*\bfunction\s*:|.*\brocblas_function\s*:)")
"""The beginning of a line of the logs of both libraries in YAML."""

_BLAS_NAMES: Final = {
    "r": "precision",
    "B": "batch_count",
    "transposeA": "transA",
    "transposeB": "transB",
    "function": "f",
    "rocblas_function": "f",
    "M": "m",
    "N": "n",
    "K": "k",
    "sizem": "m",
    "sizen": "n",
    "sizek": "k",
}

_FUNCTION: Final = re.compile(r"matmul|(?:rocblas_)?gemm(?:_strided)?(?:_batched)?(?:_ex)?(?:_64)?")

_SCALES_OF_RESULTS: Final = ("0", "1", "2", "s", "v")
"""The scales of `hipblaslt-bench` for none, a scalar and a vector, in new and old releases."""


def read_hipblaslt(line: str, command: re.Match[str]) -> Product:
    """Read a product of `hipblaslt-bench`."""
    flags = CommandFlags(line, command.end(), _BLAS_NAMES)
    for name in ("scaleA", "scaleB"):
        # Scales of whole matrices and of rows are applied after the product.
        if (scale := flags.text(name, "0")) not in _SCALES_OF_RESULTS:
            raise UnsupportedError.unknown("scale", scale, _SCALES_OF_RESULTS, flags.column(name))
    if flags.has("grouped_gemm"):
        raise UnsupportedError("grouped products are not supported", flags.column("grouped_gemm"))
    return _read_product(flags)


def read_rocblas(line: str, command: re.Match[str]) -> Product:
    """Read a product of `rocblas-bench`."""
    flags = CommandFlags(line, command.end(), _BLAS_NAMES)
    _check_function(flags)
    return _read_product(flags)


def read_logged_function(line: str, start: re.Match[str]) -> Product:
    """Read a product of a log in YAML."""
    entries = MappingEntries(line, start.end(), _BLAS_NAMES)
    _check_function(entries)
    return _read_product(entries)


def _check_function(flags: CommandFlags) -> None:
    function = flags.text("f", "")
    if not _FUNCTION.fullmatch(function):
        message = (
            f"function '{function}' is not supported: expected gemm, gemm_ex or another product"
        )
        raise UnsupportedError(message, flags.column("f"))


def _read_product(flags: CommandFlags) -> Product:
    letters = {"N": False, "T": True}
    transposed = [
        flags.choice(name, letters, "N", noun=f"--{name}") for name in ("transA", "transB")
    ]
    element = flags.operand_type(_BLAS_TYPES, flags.text("precision", "f32_r"))
    batch = flags.number("batch_count", 1, 1)
    return Product(
        flags.number("n", 1),
        flags.number("m", 1),
        flags.number("k", 1),
        element,
        batch if batch > 1 else None,
        transposes_a=transposed[1],
        transposes_b=transposed[0],
    )


# --- Reading operations of PyTorch with the shapes of their operands, in the form of BOO's driver and of profiles

ATEN_COMMAND: Final = re.compile(r"(?<!\S)aten::(?P<operation>[\w.]+)(?=\s|$)")
"""An operation of PyTorch, anywhere in a line."""

_ATEN_TYPES: Final = {
    "float": ElementType.F32,
    "c10::Half": ElementType.F16,
    "c10::BFloat16": ElementType.BF16,
}


@dataclass(frozen=True)
class _Tensor:
    """A tensor among the arguments."""

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int], strides: Sequence[int]) -> _Tensor:
        """Return a tensor with a shape and strides."""
        order = sorted(range(len(shape)), key=lambda index: -strides[index])
        step = 1
        for index in reversed(order):
            # The stride of a dimension with one element is arbitrary.
            if strides[index] != step and shape[index] > 1:
                message = (
                    f"strides {[*strides]} of a tensor of {[*shape]} are not supported: it has gaps"
                )
                raise UnsupportedError(message)
            step *= shape[index]
        return cls(tuple(shape), tuple(order))

    @property
    def is_transposed(self) -> bool:
        """Whether the last two dimensions are stored in reverse order."""
        *outer, row, column = range(len(self.shape))
        if self.order not in ((*outer, row, column), (*outer, column, row)):
            raise UnsupportedError(
                f"dimensions stored in the order {[*self.order]} are not supported"
            )
        return self.order[-1] == row

    def rows(self, first: int) -> tuple[int, int]:
        """Return the sizes of the matrix whose rows are the dimensions from `first` on, stored in order."""
        if self.order != tuple(range(len(self.shape))):
            raise UnsupportedError(
                f"dimensions stored in the order {[*self.order]} are not supported"
            )
        return math.prod(self.shape[:first]), math.prod(self.shape[first:])


@dataclass(frozen=True)
class _Call:
    """The arguments of an operation."""

    arguments: tuple[Any, ...]
    element: ElementType

    def tensors(self, *positions: int) -> list[_Tensor]:
        """Return the tensors at the given positions."""
        tensors = [self.value(position) for position in positions]
        if not all(isinstance(tensor, _Tensor) for tensor in tensors):
            raise ProblemError(f"expected tensors as arguments {', '.join(map(str, positions))}")
        return tensors

    def value(self, position: int, default: Any = None) -> Any:
        return self.arguments[position] if position < len(self.arguments) else default


def read_aten(line: str, command: re.Match[str]) -> Problem:
    """Read an operation of PyTorch."""
    column = command.start() + 1
    read = _ATEN_READERS.get(command["operation"])
    if read is None:
        names = [f"aten::{name}" for name in _ATEN_READERS]
        raise UnsupportedError.unknown("operation", command[0], names, column)
    arguments_column = command.end() + 2
    try:
        # Read the arguments of an operation: quoted lists of their shapes, types, strides and values.
        text = line[command.end() :]
        shapes, types, strides, values = map(ast.literal_eval, shlex.split(text)[:4])
        elements, arguments = [], []
        for shape, kind, steps, value in zip(shapes, types, strides, values, strict=True):
            if value != "":
                arguments.append(ast.literal_eval(value))
            elif not shape and kind not in _ATEN_TYPES:
                # An optional argument that is absent.
                arguments.append(None)
            else:
                if kind not in _ATEN_TYPES:
                    raise UnsupportedError.unknown("type", kind, _ATEN_TYPES)
                if not all(isinstance(size, int) and 0 < size <= LARGEST_SIZE for size in shape):
                    raise ProblemError(
                        f"invalid shape {shape}: expected numbers from 1 to {LARGEST_SIZE}"
                    )
                elements.append(_ATEN_TYPES[kind])
                arguments.append(_Tensor.of(shape, steps))
        if len(set(elements)) > 1:
            raise UnsupportedError("operands of different types are not supported")
        read_call = _Call(tuple(arguments), elements[0])
        return read(read_call)
    except ProblemError as failure:
        raise type(failure)(str(failure), arguments_column) from None
    except (ValueError, TypeError, IndexError, SyntaxError):
        message = (
            "expected lists of shapes, types, strides and values, each quoted, for the arguments"
        )
        raise ProblemError(f"{message} of '{command[0]}'", arguments_column) from None


def _product(call: _Call, first: int) -> Product:
    left, right = call.tensors(first, first + 1)
    *batch, m, k = left.shape
    *_, n = right.shape
    if right.shape != (*batch, k, n):
        raise ProblemError(f"shapes {[*left.shape]} and {[*right.shape]} cannot be multiplied")
    transposes = (left.is_transposed, right.is_transposed)
    return Product(m, n, k, call.element, batch[0] if batch else None, *transposes)


def _linear(call: _Call) -> Product:
    rows, weights = call.tensors(0, 1)
    n, k = weights.shape
    m, terms = rows.rows(len(rows.shape) - 1)
    if terms != k:
        raise ProblemError(f"shapes {[*rows.shape]} and {[*weights.shape]} cannot be multiplied")
    return Product(m, n, k, call.element, transposes_b=not weights.is_transposed)


def _attention(call: _Call) -> Attention:
    queries, keys, values = call.tensors(0, 1, 2)
    (heads, _), (kv_heads, _), (_, value_size) = (
        tensor.rows(2) for tensor in (queries, keys, values)
    )
    *_, length, features = queries.shape
    if value_size != math.prod(keys.shape[2:]):
        raise UnsupportedError("values whose size differs from that of keys are not supported")
    if call.value(4):
        raise UnsupportedError("dropout is not supported: results would be random")
    given = isinstance(call.value(3), _Tensor)
    return Attention(
        *(heads, length, keys.shape[2], features, call.element),
        Mask.GIVEN if given else Mask.CAUSAL if call.value(5) else None,
        kv_heads if kv_heads != heads else None,
    )


def _convolution(call: _Call, groups: int) -> Convolution:
    """Read a convolution."""
    image, filters = call.tensors(0, 1)
    strides, padding, dilations = (tuple(call.value(position)) for position in (3, 4, 5))
    if groups > _FLAT_GROUPS and call.value(_FLAT_GROUPS):
        raise UnsupportedError("transposed convolutions are not supported: use words")
    default = Layout.default(len(image.shape) - 2)
    image_order, filters_order = (
        "".join(letters[index] for index in tensor.order)
        for letters, tensor in ((default.image, image), (default.filters, filters))
    )
    # PyTorch stores channels last if it does so in an operand.
    is_last = image_order[-1] == "c" or filters_order[-1] == "c"
    result = f"n{default.axes}f" if is_last else default.result
    (images, channels, *size), (outputs, _, *kernel) = image.shape, filters.shape
    return Convolution(
        *(images, channels, tuple(size), outputs, tuple(kernel), call.element),
        *(
            strides,
            padding,
            dilations,
            Layout(image_order, filters_order, result),
            call.value(groups),
        ),
    )


_FLAT_GROUPS: Final = 6
"""The position of the groups in a `conv2d`; a `convolution` has the flag `transposed` there."""


def _layer_norm(call: _Call) -> Normalization:
    (matrix,) = call.tensors(0)
    rows, columns = matrix.rows(len(matrix.shape) - len(call.value(1)))
    is_affine = isinstance(call.value(2), _Tensor)
    return Normalization(Norm.LAYER, rows, columns, call.element, is_affine)


def _of_rows(call: _Call, operation: RowOperation) -> Rows:
    (matrix,) = call.tensors(0)
    rank, dimension = len(matrix.shape), call.value(1)
    if dimension not in (rank - 1, -1):
        raise UnsupportedError(f"dimension {dimension} is not supported: expected the last one")
    return Rows(operation, *matrix.rows(rank - 1), call.element)


_ATEN_READERS: Final[dict[str, Callable[[_Call], Problem]]] = {
    "mm": partial(_product, first=0),
    "bmm": partial(_product, first=0),
    "addmm": partial(_product, first=1),
    "baddbmm": partial(_product, first=1),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
    "convolution": partial(_convolution, groups=8),
    **{f"conv{rank}d": partial(_convolution, groups=_FLAT_GROUPS) for rank in (1, 2, 3)},
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "argmax": partial(_of_rows, operation=RowOperation.ARG_COMPARE),
    "softmax": partial(_of_rows, operation=RowOperation.SOFTMAX),
    "_softmax": partial(_of_rows, operation=RowOperation.SOFTMAX),
}
"""Readers of the arguments of an operation."""
