"""Reading command lines of MIOpen's driver, which logs them, and those of BOO and Fusilli in its form."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from tuninglink.tuning.problems.command_flags import CommandFlags
from tuninglink.tuning.problems.operands import ElementType, Layout
from tuninglink.tuning.problems.problem_text import ProblemError, UnsupportedError
from tuninglink.tuning.problems.windows import Convolution, Gradient

_MIOPEN_TYPES: Final = {
    "conv": ElementType.F32,
    "convfp16": ElementType.F16,
    "convbfp16": ElementType.BF16,
    "convint8": ElementType.I8,
}
"""The operations of MIOpen's driver that are convolutions, with the type of their operands."""

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
"""The long names of the flags of MIOpen's driver that are read."""

_DIRECTIONS: Final = {1: None, 2: Gradient.DATA, 4: Gradient.WEIGHTS}
"""What the bits of `-F` stand for. 0 stands for all."""

_TRANSPOSED_DIRECTIONS: Final = {1: Gradient.DATA, 2: None, 4: Gradient.WEIGHTS}
"""The same of a transposed convolution, which is the gradient of a convolution's image."""


MIOPEN_COMMAND: Final = re.compile(
    rf"MIOpenDriver\s+(?P<driver>\S+)|(?<!\S)(?P<alone>{'|'.join(_MIOPEN_TYPES)})(?=\s+-)"
)
"""The operation of MIOpen's driver, after the name of the driver or without it, anywhere in a line."""


def read_miopen(line: str, command: re.Match[str]) -> tuple[Convolution, ...]:
    """Read a convolution of MIOpen's driver, and its gradients.

    Args:
        line: the line.
        command: the match of `MIOPEN_COMMAND` in it.

    Raises:
        ProblemError: a flag is missing or invalid, or it is not a convolution in one to three dimensions.
    """
    operation = command["driver"] or command["alone"]
    if operation not in _MIOPEN_TYPES:
        raise UnsupportedError.unknown(
            "operation", operation, _MIOPEN_TYPES, command.start("driver") + 1
        )
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
        *(images, channels, size, outputs, kernel, _miopen_type(operation, flags)),
        *(strides, padding, dilations, layout, flags.number("g", 1, 1)),
    )
    gradients = _TRANSPOSED_DIRECTIONS if is_transposed else _DIRECTIONS
    chosen = _directions(flags)
    return tuple(
        replace(convolution, gradient=gradient)
        for bit, gradient in gradients.items()
        if bit & chosen
    )


def _miopen_type(operation: str, flags: CommandFlags) -> ElementType:
    """Return the type of the operands, which Fusilli gives as a switch and MIOpen in the name of the operation."""
    switches = {"fp16": ElementType.F16, "bf16": ElementType.BF16}
    given = [element for name, element in switches.items() if flags.has(name)]
    return given[0] if given else _MIOPEN_TYPES[operation]


def _directions(flags: CommandFlags) -> int:
    """Return the directions as a sum of bits; BOO and we take the forward one unless they are given."""
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
    """Return the padding, where neither it nor a type follows from other flags."""
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
    """Return the number of an image's extents, which layouts imply."""
    given = [flags.text(name, "") for name in "IfO"]
    rank = flags.number("_", 1, next((len(layout) - 2 for layout in given if layout), 2))
    if rank not in _AXES:
        message = "only convolutions in one to three dimensions are supported"
        raise UnsupportedError(message, flags.column("_"))
    return rank


def _layout(flags: CommandFlags, rank: int) -> Layout:
    """Return the layout, whose letters N and C count filters and their channels in filters, images and filters in results."""
    default = f"NC{_AXES[rank]}"
    given = [flags.text(name, default) for name in "IfO"]
    for name, layout in zip("IfO", given, strict=True):
        if sorted(layout) != sorted(default):
            form = f"the letters of {default} in any order"
            message = f"unknown layout '{layout}': expected {form}"
            raise UnsupportedError(message, flags.column(name))
    image, filters, result = (layout.lower() for layout in given)
    return Layout(image, filters.replace("n", "f"), result.replace("c", "f"))
