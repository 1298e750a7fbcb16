"""Reading files with a problem on each line, as words or in the forms of other tools.

The tools are MIOpen, BOO, Fusilli, TunableOp, hipBLASLt, rocBLAS and PyTorch, with their command lines and logs.
"""

from __future__ import annotations

import ast
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from tuninglink.errors import Diagnostic, Place, TuninglinkError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir import error, note, show_lines_of
from tuninglink.tuning.problems.problem import (
    LARGEST_SIZE,
    Attention,
    Convolution,
    ElementType,
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MatrixProblem,
    Problem,
    ProblemError,
    Product,
    UnsupportedError,
    read_sizes,
    read_words,
)

_Value = TypeVar("_Value")


class CommandFlags:
    """The flags that follow a command anywhere in a line, with their values."""

    _NAME: ClassVar = re.compile(r"(?<!\S)-{1,2}([A-Za-z_!@#$^%]\w*)")
    _VALUE: ClassVar = re.compile(_NAME.pattern + r"(?:=|\s+)(?!-[A-Za-z_!@#$^%-])(\S+)")

    def __init__(self, command: re.Match[str], long_names: Mapping[str, str]) -> None:
        self._end = len(command.string.rstrip()) + 1
        self.switches = set(self._NAME.findall(command.string, command.end()))
        self._values = {
            long_names.get(match[1], match[1]): match
            for match in self._VALUE.finditer(command.string, command.end())
        }

    def text(self, name: str, default: str | None = None) -> str:
        """Return the value of a flag; without a default it must be given."""
        match = self._values.get(name)
        if not match and default is None:
            raise ProblemError(f"flag '-{name}' is missing", self._end)
        return match[2] if match else default or ""

    def column(self, name: str) -> int:
        match = self._values.get(name)
        return match.start(2) + 1 if match else self._end

    def check(self, name: str, is_supported: object, message: str) -> None:
        """Raise an error at a flag's value unless the value is supported."""
        if not is_supported:
            raise UnsupportedError(message, self.column(name))

    def choice(
        self,
        name: str,
        choices: Mapping[str, _Value],
        default: str | None = None,
        *,
        noun: str = "type",
    ) -> _Value:
        """Return the meaning of a flag's value."""
        text = self.text(name, default)
        if text not in choices:
            raise UnsupportedError.unknown(noun, text, choices, self.column(name))
        return choices[text]

    def operand_type(self, choices: Mapping[str, _Value], default: str | None = None) -> _Value:
        """Return the type of both operands of a product."""
        types = {self.choice(name, choices, default) for name in ("a_type", "b_type")}
        self.check("b_type", len(types) == 1, _DIFFERENT_TYPES)
        return types.pop()

    def numbers(
        self, name: str, form: str, least: int = 1, default: str | None = None, fewest: int = 0
    ) -> tuple[int, ...]:
        """Return the number in the value of a flag, or at least `fewest` numbers with `x` between them."""
        text = self.text(name, default)
        numbers = read_sizes(text.split("x" if fewest else None), least)
        if numbers is None or len(numbers) < fewest:
            # The error names the flag as the line does.
            match = self._values.get(name)
            flag = match.string[match.start() : match.end(1)] if match else f"-{name}"
            message = f"invalid value '{text}' for '{flag}': expected {form}"
            raise ProblemError(message, self.column(name))
        return numbers

    def number(self, name: str, least: int, default: int | None = None) -> int:
        form = f"a number from {least} to {LARGEST_SIZE}"
        return self.numbers(name, form, least, None if default is None else str(default))[0]

    def normalized_sizes(self) -> tuple[int, ...]:
        """Return the sizes of an operand that is normalized."""
        is_forward = self.number("F", 0, 1) == 1
        self.check("F", is_forward, "only forward layer normalizations are supported ('-F 1')")
        form = f"at least 2 numbers from 1 to {LARGEST_SIZE} with 'x' between them"
        return self.numbers("X", form, fewest=2)

    def batch(self, name: str) -> int | None:
        """Return the number of products; None for a single one."""
        count = self.number(name, 1, 1)
        return count if count > 1 else None


class MappingEntries(CommandFlags):
    """The entries of a mapping on one line, as in YAML."""

    _NAME: ClassVar = re.compile(r"\b(\w+)\s*:")
    _VALUE: ClassVar = re.compile(_NAME.pattern + r"\s*['\"]?([^\s,'\"}]+)")


_DIFFERENT_TYPES: Final = "operands of different types are not supported"
_NO_DROPOUT: Final = "is not supported: results would be random"


def _pairs(text: str, kind: Callable[[str], _Value]) -> dict[str, _Value]:
    """Read pairs such as `batchsize=n`: the names of a flag or of a type, the second of which is ours."""
    return {name: kind(own) for name, own in (pair.split("=") for pair in text.split())}


_types, _names = partial(_pairs, kind=ElementType), partial(_pairs, kind=str)


# --- MIOpen's driver, and the lines of BOO and Fusilli in the same form

_MIOPEN_TYPES: Final = {"": ElementType.F32, **_types("fp16=f16 bfp16=bf16 int8=i8")}
"""The types of operands by the ends of operations' names."""

_EXTENT_FLAGS: Final = {
    "in": "!HW",
    "fil": "@yx",
    "conv_stride": "#uv",
    "pad": "$pq",
    "dilation": "^lj",
    "trans_output_pad": "%YX",
}
"""The flags for depth, rows and columns, by the beginnings of their long names."""

_CONVOLUTION_NAMES: Final = {
    **{
        f"{name}_{axis}": flag
        for name, flags in _EXTENT_FLAGS.items()
        for axis, flag in zip("dhw", flags, strict=True)
    },
    **_names("batchsize=n in_channels=c out_channels=k group_count=g forw=F mode=m spatial_dim=_"),
    **_names("pad_mode=z in_cast_type=U wei_cast_type=R out_cast_type=T"),
    **_names("in_layout=I fil_layout=f out_layout=O"),
}
_PRODUCT_NAMES: Final = _names(
    "m=a_h k=a_w n=b_w u=transA v=transB batch_count=b isColMajor=C forw=F"
)
_NORMALIZATION_NAMES: Final = _names("input=X forw=F mode=m normalized_dim=o")

_DIRECTIONS: Final = (
    {1: None, 2: Gradient.DATA, 4: Gradient.WEIGHTS},
    {1: Gradient.DATA, 2: None, 4: Gradient.WEIGHTS},
)
"""The directions of a convolution by the bits of `-F`, and of a transposed one, which is the gradient of the image of
another convolution. 0 stands for all."""

_LAYER_NORM: Final = "layernorm"


def _read_miopen(command: re.Match[str]) -> Problem | tuple[Problem, ...]:
    """Read a command of MIOpen's driver."""
    operation = command["driver"] or command["alone"]
    operations = {
        name + end: (name, element)
        for name in ("conv", "gemm", _LAYER_NORM)
        for end, element in _MIOPEN_TYPES.items()
        if name != _LAYER_NORM or not element.is_narrow
    }
    if operation not in operations:
        column = command.start("driver" if command["driver"] else "alone") + 1
        raise UnsupportedError.unknown("operation", operation, operations, column)
    name, element = operations[operation]
    if name == "conv":
        return _read_convolutions(command, element)
    if name == "gemm":
        flags = CommandFlags(command, _PRODUCT_NAMES)
        is_forward = flags.number("F", 0, 1) == 1
        flags.check("F", is_forward, "only forward products are supported ('-F 1')")
        by_rows = flags.number("C", 0, 0) == 0
        flags.check("C", by_rows, "matrices stored by columns are not supported")
        height, width, columns = (flags.number(flag, 1) for flag in ("a_h", "a_w", "b_w"))
        # BOO, whose lines lack the name of the driver, takes the width for the rows.
        rows, terms = (height, width) if command["driver"] else (width, height)
        transposes = [bool(flags.number(flag, 0, 0)) for flag in ("transA", "transB")]
        return Product(rows, columns, terms, element, flags.batch("b"), *transposes)
    flags = CommandFlags(command, _NORMALIZATION_NAMES)
    sizes, first = flags.normalized_sizes(), flags.number("o", 0, 3)
    if first >= len(sizes):
        message = f"dimension {first} of {len(sizes)} cannot be normalized ('-o')"
        raise ProblemError(message, flags.column("o"))
    shape = math.prod(sizes[:first]), math.prod(sizes[first:])
    is_affine = bool(flags.number("m", 0, 0))
    return MatrixProblem(MatrixOperation.LAYER_NORM, *shape, element, is_affine=is_affine)


def _read_convolutions(command: re.Match[str], element: ElementType) -> tuple[Problem, ...]:
    """Read a convolution and its gradients."""
    flags = CommandFlags(command, _CONVOLUTION_NAMES)
    # The number of an image's extents follows from the layouts.
    ranks = (1, 2, 3)
    implied = (len(flags.text(name, "")) - 2 for name in "IfO")
    rank = flags.number("_", 1, next(filter(ranks.__contains__, implied), 2))
    flags.check("_", rank in ranks, "only convolutions in one to three dimensions are supported")

    def extents(name: str, least: int, default: int | None = None) -> tuple[int, ...]:
        return tuple(flags.number(flag, least, default) for flag in _EXTENT_FLAGS[name][-rank:])

    images, channels = flags.number("n", 1), flags.number("c", 1)
    size, kernel = extents("in", 1), extents("fil", 1)
    strides, dilations = extents("conv_stride", 1, 1), extents("dilation", 1, 1)
    padding = extents("pad", 0, 0)
    modes = dict.fromkeys(("default", "conv"), padding) | {"valid": (0,) * rank}
    padding = flags.choice("z", modes, "default", noun="padding mode")
    for name in "URT":
        flags.check(name, not flags.text(name, ""), "casts of operands are not supported")
    outputs = flags.number("k", 1)
    # N and C are filters and channels in filters, and images and filters in results.
    letters = f"NC{Layout.default(rank).axes.upper()}"
    orders = [flags.text(name, letters) for name in "IfO"]
    for name, order in zip("IfO", orders, strict=True):
        message = f"unknown layout '{order}': expected the letters of {letters} in any order"
        flags.check(name, sorted(order) == sorted(letters), message)
    image, filters, result = (order.lower() for order in orders)
    filters, result = filters.replace("n", "f"), result.replace("c", "f")
    # Fusilli has the long name of the mode for the directions.
    mode = flags.text("m", "conv")
    is_transposed = not mode.isdecimal() and flags.choice(
        "m", {"conv": False, "trans": True}, "conv", noun="mode"
    )
    if is_transposed:
        # Image and result exchange their roles.
        roles = str.maketrans("cf", "fc")
        image, result = result.translate(roles), image.translate(roles)
        channels, outputs = outputs, channels
        parts = (size, kernel, strides, padding, dilations, extents("trans_output_pad", 0, 0))
        size = tuple(
            (count - 1) * stride - 2 * margin + dilation * (window - 1) + 1 + added
            for count, window, stride, margin, dilation, added in zip(*parts, strict=True)
        )
        if min(size) < 1:
            raise ProblemError("the padding exceeds the result", flags.column("p"))
    switches = {"fp16": ElementType.F16, "bf16": ElementType.BF16}
    element = next((kind for name, kind in switches.items() if name in flags.switches), element)
    convolution = Convolution(
        *(images, channels, size, outputs, kernel, element, strides, padding, dilations),
        *(Layout(image, filters, result), flags.number("g", 1, 1)),
    )
    # The directions are a sum of bits; the default is the forward direction, as in BOO.
    directions = _DIRECTIONS[is_transposed]
    name = "m" if mode.isdecimal() else "F"
    chosen, every = flags.number(name, 0, 1), sum(directions)
    form = "a sum of 1 (forward), 2 (gradient of the data) and 4 (of the weights), or 0 for all"
    message = f"direction {chosen} is not supported: expected {form}"
    flags.check(name, chosen <= every, message)
    return tuple(
        replace(convolution, gradient=gradient)
        for bit, gradient in directions.items()
        if bit & (chosen or every)
    )


# --- Fusilli's benchmarks, whose convolutions have the form of MIOpen's driver

_FUSILLI_TYPES: Final = _types("f32=f32 f16=f16 bf16=bf16")

_FUSILLI_NAMES: Final = _names("m=M n=N k=K b=B batch=B head_dim=d type=t dropout=p input=X forw=F")


def _read_fusilli(command: re.Match[str]) -> Problem:
    flags = CommandFlags(command, _FUSILLI_NAMES)
    if command["operation"] == "matmul":
        element, batch = flags.operand_type(_FUSILLI_TYPES), flags.batch("B")
        m, n, k = (flags.number(name, 1) for name in "MNK")
        transposes = (name in flags.switches for name in ("transA", "transB"))
        return Product(m, n, k, element, batch, *transposes)
    if command["operation"] == _LAYER_NORM:
        # It normalizes over all dimensions but the first.
        rows, *columns = flags.normalized_sizes()
        element = flags.choice("t", _FUSILLI_TYPES)
        shape, is_affine = (rows, math.prod(columns)), "elementwise_affine" in flags.switches
        return MatrixProblem(MatrixOperation.LAYER_NORM, *shape, element, is_affine=is_affine)
    dropout = flags.text("p", "0")
    flags.check("p", dropout in ("0", "0.0"), f"dropout of {dropout} {_NO_DROPOUT}")
    batch, queries, keys = (flags.number(name, 1) for name in ("B", "heads_q", "heads_kv"))
    if queries % keys or (queries != keys and "gqa" not in flags.switches):
        message = f"{queries} heads of queries and {keys} of keys need '--gqa', and a whole ratio"
        raise ProblemError(message, flags.column("heads_kv"))
    masks = [mask for mask in Mask if mask in flags.switches]
    if len(masks) > 1:
        raise ProblemError("'--mask' and '--causal' exclude each other", flags.column("causal"))
    length, kv_length, features = (flags.number(name, 1) for name in ("seq_q", "seq_kv", "d"))
    return Attention(
        *(batch * queries, length, kv_length, features, flags.choice("t", _FUSILLI_TYPES)),
        *(masks[0] if masks else None, batch * keys if queries != keys else None),
    )


# --- Products that libraries of linear algebra log: lines of TunableOp, and of rocBLAS and hipBLASLt

_LIBRARY_TYPES: Final = _types(
    "float=f32 tf32=f32 Half=f16 BFloat16=bf16 Float8_e4m3fn=f8E4M3FN Float8_e5m2=f8E5M2 "
    "Float8_e4m3fnuz=f8E4M3FNUZ Float8_e5m2fnuz=f8E5M2FNUZ"
)
_SCALED: Final = "ScaledGemmTunableOp"
_SCALED_TYPES: Final = re.compile(r"(Float8_[^_]+)_(Float8_[^_]+)_\w+")
"""The types of the operands and of the result. Scales are applied to the result, in operations after the product."""

_BATCHED: Final = "GemmStridedBatchedTunableOp"
_OPERATIONS: Final = ("GemmTunableOp", "GemmAndBiasTunableOp", _BATCHED, _SCALED)
_SIZES: Final = re.compile(r"([nt])([nt])_(\d+)_(\d+)_(\d+)(?:_B_(\d+))?(?=_|$)")


def _read_tunable_op(command: re.Match[str]) -> Product:
    """Read a line `OPERATION_TYPE_LETTERS,LETTERS_SIZES`."""
    column = len(command.string) - len(command.string.lstrip()) + 1
    operation_text, sizes_text, *_ = f"{command.string.strip()},".split(",")
    operation, _, type_and_letters = operation_text.partition("_")
    if operation not in _OPERATIONS:
        raise UnsupportedError.unknown("operation", operation, _OPERATIONS, column)
    type_text = type_and_letters.rpartition("_")[0]
    type_column = column + len(operation) + 1
    if operation == _SCALED and (operands := _SCALED_TYPES.fullmatch(type_text)):
        type_text = operands[1]
        if operands[2] != type_text:
            raise UnsupportedError(_DIFFERENT_TYPES, type_column)
    if type_text not in _LIBRARY_TYPES:
        raise UnsupportedError.unknown("type", type_text, _LIBRARY_TYPES, type_column)
    # Read the letters of transposition, and the sizes.
    is_batched = operation == _BATCHED
    match = _SIZES.match(sizes_text)
    first, second, *texts = filter(None, match.groups()) if match else ("", "")
    sizes = read_sizes(texts)
    if sizes is None or len(sizes) != (4 if is_batched else 3):
        form = "nt_M_N_K_B_BATCH" if is_batched else "nt_M_N_K"
        message = f"invalid sizes '{sizes_text}': expected {form}"
        raise ProblemError(message, column + len(operation_text) + 1)
    # The operands are column-major: rows and columns are exchanged.
    columns, rows, terms, *batch = sizes
    element, count = _LIBRARY_TYPES[type_text], batch[0] if batch else None
    return Product(rows, columns, terms, element, count, second == "t", first == "t")


_BLAS_TYPES: Final = _types(
    "f32_r=f32 f16_r=f16 bf16_r=bf16 i8_r=i8 f8_r=f8E4M3FN bf8_r=f8E5M2 f8_fnuz_r=f8E4M3FNUZ "
    "bf8_fnuz_r=f8E5M2FNUZ s=f32 h=f16"
)
_BLAS_NAMES: Final = _names(
    "r=precision B=batch_count transposeA=transA transposeB=transB function=f rocblas_function=f "
    "M=m N=n K=k sizem=m sizen=n sizek=k"
)


def _read_blas(tool: str, command: re.Match[str]) -> Product:
    """Read a command of hipBLASLt or rocBLAS, or an entry of a log of one of them."""
    flags = (MappingEntries if tool == "log" else CommandFlags)(command, _BLAS_NAMES)
    function = flags.text("f", "")
    if tool == "hipblaslt-bench":
        # None, a scalar and a vector, in new and old releases: scales of whole matrices and of rows, which are applied
        # after the product.
        for name in ("scaleA", "scaleB"):
            flags.choice(name, dict.fromkeys("012sv"), "0", noun="scale")
        is_single = "grouped_gemm" not in flags.switches
        flags.check("grouped_gemm", is_single, "grouped products are not supported")
    else:
        form = "expected gemm, gemm_ex or another product"
        message = f"function '{function}' is not supported: {form}"
        product = r"matmul|(?:rocblas_)?gemm(?:_strided)?(?:_batched)?(?:_ex)?(?:_64)?"
        flags.check("f", re.fullmatch(product, function), message)
    letters = {"N": False, "T": True}
    names = ("transA", "transB")
    first, second = (flags.choice(name, letters, "N", noun=f"--{name}") for name in names)
    element = flags.operand_type(_BLAS_TYPES, flags.text("precision", "f32_r"))
    batch = flags.batch("batch_count")
    # The operands are column-major: rows and columns are exchanged.
    rows, columns, terms = (flags.number(name, 1) for name in "nmk")
    return Product(rows, columns, terms, element, batch, second, first)


# --- Operations of PyTorch with the shapes of their operands, in the form of BOO's driver and of profiles

_ATEN_TYPES: Final = _types("float=f32 c10::Half=f16 c10::BFloat16=bf16")


class _Tensor:
    """A tensor among the arguments."""

    def __init__(self, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.order = tuple(sorted(range(len(shape)), key=lambda index: -strides[index]))
        step = 1
        for index in reversed(self.order):
            # The stride of a dimension with one element is arbitrary.
            if strides[index] != step and shape[index] > 1:
                has_gaps = f"of a tensor of {[*shape]} are not supported: it has gaps"
                raise UnsupportedError(f"strides {[*strides]} {has_gaps}")
            step *= shape[index]

    def is_transposed(self, *, may_be: bool = True) -> bool:
        """Return whether the last two dimensions are stored in reverse order; raise an error in other orders."""
        default = tuple(range(len(self.shape)))
        if self.order == default:
            return False
        if may_be and self.order == (*default[:-2], *default[:-3:-1]):
            return True
        raise UnsupportedError(f"dimensions stored in the order {[*self.order]} are not supported")

    def rows(self, first: int) -> tuple[int, int]:
        """Return the sizes of the matrix whose rows are the dimensions from `first` on, stored in order."""
        self.is_transposed(may_be=False)
        return math.prod(self.shape[:first]), math.prod(self.shape[first:])


class _Call:
    """The arguments of an operation; None for those that are absent."""

    def __init__(self, text: str) -> None:
        """Read quoted lists of shapes, types, strides and values."""
        shapes, types, strides, values = map(ast.literal_eval, shlex.split(text)[:4])
        elements: list[ElementType] = []
        self.values: list[Any] = []
        for shape, kind, steps, value in zip(shapes, types, strides, values, strict=True):
            if value != "":
                self.values.append(ast.literal_eval(value))
            elif not shape and kind not in _ATEN_TYPES:
                self.values.append(None)
            else:
                if kind not in _ATEN_TYPES:
                    raise UnsupportedError.unknown("type", kind, _ATEN_TYPES)
                if not all(isinstance(size, int) and 0 < size <= LARGEST_SIZE for size in shape):
                    form = f"numbers from 1 to {LARGEST_SIZE}"
                    raise ProblemError(f"invalid shape {shape}: expected {form}")
                elements.append(_ATEN_TYPES[kind])
                self.values.append(_Tensor(shape, steps))
        if len(set(elements)) > 1:
            raise UnsupportedError(_DIFFERENT_TYPES)
        self.element = elements[0]
        self.values += [None] * (9 - len(self.values))  # at most 9 are read

    def tensors(self, *positions: int) -> list[_Tensor]:
        """Return the tensors at the given positions."""
        tensors = [self.values[position] for position in positions]
        if not all(isinstance(tensor, _Tensor) for tensor in tensors):
            raise ProblemError(f"expected tensors as arguments {', '.join(map(str, positions))}")
        return tensors


def _read_aten(command: re.Match[str]) -> Problem:
    read = _ATEN_READERS.get(command["operation"])
    if read is None:
        names = [f"aten::{name}" for name in _ATEN_READERS]
        raise UnsupportedError.unknown("operation", command[0], names, command.start() + 1)
    column = command.end() + 2
    try:
        return read(_Call(command.string[command.end() :]))
    except ProblemError as failure:
        raise type(failure)(str(failure), column) from None
    except (ValueError, TypeError, IndexError, SyntaxError):
        form = "lists of shapes, types, strides and values, each quoted, for the arguments"
        raise ProblemError(f"expected {form} of '{command[0]}'", column) from None


def _product(call: _Call, first: int) -> Product:
    left, right = call.tensors(first, first + 1)
    *batch, m, k = left.shape
    n = right.shape[-1]
    if right.shape != (*batch, k, n):
        raise ProblemError(f"shapes {[*left.shape]} and {[*right.shape]} cannot be multiplied")
    transposes = (left.is_transposed(), right.is_transposed())
    return Product(m, n, k, call.element, batch[0] if batch else None, *transposes)


def _linear(call: _Call) -> Product:
    rows, weights = call.tensors(0, 1)
    n, k = weights.shape
    m, terms = rows.rows(len(rows.shape) - 1)
    if terms != k:
        raise ProblemError(f"shapes {[*rows.shape]} and {[*weights.shape]} cannot be multiplied")
    return Product(m, n, k, call.element, transposes_b=not weights.is_transposed())


def _attention(call: _Call) -> Attention:
    queries, keys, values = call.tensors(0, 1, 2)
    (heads, _), (kv_heads, _), (_, value_size) = (
        tensor.rows(2) for tensor in (queries, keys, values)
    )
    *_, length, features = queries.shape
    if value_size != math.prod(keys.shape[2:]):
        raise UnsupportedError("values whose size differs from that of keys are not supported")
    mask, dropout, is_causal = call.values[3:6]
    if dropout:
        raise UnsupportedError(f"dropout {_NO_DROPOUT}")
    return Attention(
        *(heads, length, keys.shape[2], features, call.element),
        Mask.GIVEN if isinstance(mask, _Tensor) else Mask.CAUSAL if is_causal else None,
        kv_heads if kv_heads != heads else None,
    )


_FLAT_GROUPS: Final = 6
"""The position of the groups in a `conv2d`; a `convolution` has the flag `transposed` there."""


def _convolution(call: _Call, groups: int) -> Convolution:
    image, filters = call.tensors(0, 1)
    strides, padding, dilations = map(tuple, call.values[3:6])
    if groups > _FLAT_GROUPS and call.values[_FLAT_GROUPS]:
        raise UnsupportedError("transposed convolutions are not supported: use words")
    default = Layout.default(len(image.shape) - 2)
    image_order, filters_order = (
        "".join(letters[index] for index in tensor.order)
        for letters, tensor in ((default.image, image), (default.filters, filters))
    )
    # PyTorch stores channels last if it does so in an operand.
    is_last = image_order[-1] == "c" or filters_order[-1] == "c"
    layout = Layout(image_order, filters_order, f"n{default.axes}f" if is_last else default.result)
    (images, channels, *size), (outputs, _, *kernel) = image.shape, filters.shape
    sizes = (images, channels, tuple(size), outputs, tuple(kernel), call.element)
    return Convolution(*sizes, strides, padding, dilations, layout, call.values[groups])


def _of_rows(call: _Call, operation: MatrixOperation) -> MatrixProblem:
    (matrix,) = call.tensors(0)
    rank, which = len(matrix.shape), call.values[1]
    if operation is MatrixOperation.LAYER_NORM:  # over the given last dimensions
        first, is_affine = rank - len(which), isinstance(call.values[2], _Tensor)
    elif which in (rank - 1, -1):
        first, is_affine = rank - 1, False
    else:
        raise UnsupportedError(f"dimension {which} is not supported: expected the last one")
    return MatrixProblem(operation, *matrix.rows(first), call.element, is_affine=is_affine)


_ATEN_READERS: Final[dict[str, Callable[[_Call], Problem]]] = {
    "mm": partial(_product, first=0),
    "bmm": partial(_product, first=0),
    "addmm": partial(_product, first=1),
    "baddbmm": partial(_product, first=1),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
    "convolution": partial(_convolution, groups=8),
    **{f"conv{rank}d": partial(_convolution, groups=_FLAT_GROUPS) for rank in (1, 2, 3)},
    "layer_norm": partial(_of_rows, operation=MatrixOperation.LAYER_NORM),
    "native_layer_norm": partial(_of_rows, operation=MatrixOperation.LAYER_NORM),
    "argmax": partial(_of_rows, operation=MatrixOperation.ARG_COMPARE),
    "softmax": partial(_of_rows, operation=MatrixOperation.SOFTMAX),
    "_softmax": partial(_of_rows, operation=MatrixOperation.SOFTMAX),
}

_Read: TypeAlias = Callable[[re.Match[str]], Problem | tuple[Problem, ...]]

_COMMANDS: Final[dict[str, _Read]] = {
    r"^\s*(\w+TunableOp)_": _read_tunable_op,
    r"^\s*-\s*\{(?=.*\bfunction\s*:|.*\brocblas_function\s*:)": partial(_read_blas, "log"),
    r"(?<!\S)aten::(?P<operation>[\w.]+)(?=\s|$)": _read_aten,
    r"(?<![\w-])hipblaslt-bench(?=\s)": partial(_read_blas, "hipblaslt-bench"),
    r"(?<![\w-])rocblas-bench(?=\s)": partial(_read_blas, "rocblas-bench"),
    # The operation of MIOpen's driver follows its name, or stands alone, unless its type is one of Fusilli.
    r"MIOpenDriver(?:\.exe)?\s+(?P<driver>\S+)"
    r"|(?<!\S)(?!layernorm\s(?:.*\s)?(?:-t|--type)[\s=]+b?f\d)"
    r"(?P<alone>(?:conv|gemm|layernorm)(?:fp16|bfp16|int8)?)(?=\s+-)": _read_miopen,
    r"(?:^|\s)(?P<operation>matmul|sdpa|layernorm)(?=\s+-)": _read_fusilli,
}
"""Patterns of the beginnings of commands and entries, some of them anywhere in a line, and their readers."""


# --- Lines and files in any of the supported forms

_OTHER_COMMAND: Final = re.compile(
    r"^(?:\s*--?\w+\s+\d+)*\s*(?!fusilli_)(?P<operation>[A-Za-z./][\w:./-]*)(?=\s+-)"
)
"""The operation of a command that is not supported."""

_NO_PROBLEM: Final = re.compile(
    r"\s*(?:$|#|Validator,|\[SKIP\]|MIOpen\((?!.*MIOpenDriver(?:\.exe)?\s))"
)
"""The beginnings of lines without a problem; few lines of MIOpen's log are commands."""


def read_problems(line: str) -> tuple[Problem, ...]:
    """Read a line of a file.

    Returns:
        The problem, or those of the directions of a convolution; none for an empty line, a comment, a header of
        TunableOp, a line that Fusilli skips, or a line of MIOpen's log without a command.

    Raises:
        ProblemError: the line has none of the supported forms, or its problem is not supported.
    """
    if _NO_PROBLEM.match(line):
        return ()
    for pattern, read in _COMMANDS.items():
        if command := re.search(pattern, line):
            problems = read(command)
            return problems if isinstance(problems, tuple) else (problems,)
    if command := _OTHER_COMMAND.search(line):
        message = f"operation '{command['operation']}' is not supported"
        raise UnsupportedError(message, command.start("operation") + 1)
    return (read_words(line),)


@dataclass(frozen=True)
class ProblemFile:
    """The problems of a file."""

    name: str
    problems: tuple[Problem, ...]
    unsupported: Counter[str]


_SHOWN_ERRORS: Final = 10
"""The number of lines whose errors are reported one by one."""


def read_problem_file(path: str, *, is_strict: bool = False) -> ProblemFile:
    """Read a file of problems.

    Args:
        path: the file; `-` for standard input.
        is_strict: whether lines whose problems are not supported are errors.

    Raises:
        TuninglinkError: the file cannot be read or has no problem, or lines have none of the supported forms.
    """
    name = "<stdin>" if path == STANDARD_STREAM else path
    problems: list[Problem] = []
    errors: list[Diagnostic] = []
    unsupported: Counter[str] = Counter()
    try:
        show_lines_of(path)
        is_stream = path == STANDARD_STREAM
        content = sys.stdin.buffer.read() if is_stream else Path(path).read_bytes()
        lines = content.decode().splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None
    for number, line in enumerate(lines, 1):
        try:
            problems += read_problems(line)
        except ProblemError as failure:
            if isinstance(failure, UnsupportedError) and not is_strict:
                unsupported[str(failure)] += 1
            else:
                errors.append(error(str(failure), Place(name, number, failure.column)))
    if len(errors) > _SHOWN_ERRORS:
        rest = error(f"{len(errors) - _SHOWN_ERRORS} more lines of '{name}' cannot be read")
        errors = [*errors[:_SHOWN_ERRORS], rest]
    if errors:
        raise TuninglinkError(*errors)
    if not problems:
        notes = [note(f"{reason} ({count})") for reason, count in unsupported.items()]
        raise TuninglinkError(error(f"there is no problem in '{name}'", notes=notes))
    return ProblemFile(name, tuple(problems), unsupported)
