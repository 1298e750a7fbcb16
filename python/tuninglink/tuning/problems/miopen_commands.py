"""Reading command lines that MIOpen logs for its driver, and those of BOO and Fusilli in the same form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tuninglink.tuning.problems import Norm, Normalization, Problem, Product
from tuninglink.tuning.problems.problem_text import (
    CommandFlags,
    ElementType,
    Layout,
    ProblemError,
    UnsupportedError,
)
from tuninglink.tuning.problems.windows import Convolution, Gradient

_TYPES: Final = {
    "": ElementType.F32,
    "fp16": ElementType.F16,
    "bfp16": ElementType.BF16,
    "int8": ElementType.I8,
}
"""The types of operands by the ends of operations' names."""

_LONG_NAMES: Final = {
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
    """Read an operation of MIOpen's driver: a convolution and its gradients, a product or a normalization.

    Args:
        line: the line.
        command: the match of `MIOPEN_COMMAND` in it.

    Raises:
        ProblemError: a flag is missing or invalid, or the operation is not supported.
    """
    operation = command["driver"] or command["alone"]
    operations = {
        name + end: (read, element)
        for name, read in _READERS.items()
        for end, element in _TYPES.items()
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
    flags = CommandFlags(line, command.end(), _LONG_NAMES)
    rank = _rank(flags)

    def extents(names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        return flags.numbers(names[-rank:], least, default)

    images, channels = flags.numbers("nc", 1)
    size, kernel = extents("!HW", 1), extents("@yx", 1)
    strides, dilations = extents("#uv", 1, 1), extents("^lj", 1, 1)
    padding = _padding(flags, extents("$pq", 0, 0))
    outputs, layout = flags.number("k", 1), _layout(flags, rank)
    is_transposed = _is_transposed(flags)
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
    convolution = Convolution(
        *(images, channels, size, outputs, kernel, _switched_type(flags, element)),
        *(strides, padding, dilations, layout, flags.number("g", 1, 1)),
    )
    gradients = _TRANSPOSED_DIRECTIONS if is_transposed else _DIRECTIONS
    chosen = _directions(flags)
    return tuple(
        replace(convolution, gradient=gradient)
        for bit, gradient in gradients.items()
        if bit & chosen
    )


def _read_product(line: str, command: re.Match[str], element: ElementType) -> tuple[Product, ...]:
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


_READERS: Final[dict[str, Callable[[str, re.Match[str], ElementType], tuple[Problem, ...]]]] = {
    "conv": _read_convolutions,
    "gemm": _read_product,
    "layernorm": _read_layer_norm,
}
"""Readers by the beginnings of operations' names."""


def _switched_type(flags: CommandFlags, element: ElementType) -> ElementType:
    """Return the type of the operands: a switch in Fusilli, and a part of the operation's name in MIOpen."""
    switches = {"fp16": ElementType.F16, "bf16": ElementType.BF16}
    given = [switched for name, switched in switches.items() if flags.has(name)]
    return given[0] if given else element


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


def _is_transposed(flags: CommandFlags) -> bool:
    mode = flags.text("m", "conv")
    if mode not in ("conv", "trans") and not mode.isdecimal():
        raise UnsupportedError.unknown("mode", mode, ["conv", "trans"], flags.column("m"))
    return mode == "trans"


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
