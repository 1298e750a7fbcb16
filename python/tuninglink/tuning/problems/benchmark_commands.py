"""Reading command lines of convolutions in the form of MIOpen's driver, which logs them, and of Fusilli's benchmarks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tuninglink.tuning.problems import (
    Attention,
    Convolution,
    ElementType,
    Layout,
    Product,
)
from tuninglink.tuning.problems.problem_text import (
    LARGEST_SIZE,
    ProblemError,
    UnsupportedError,
    read_size,
)

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
    "in_layout": "I",
    "fil_layout": "f",
    "out_layout": "O",
}
"""The long names of the flags of MIOpen's driver that are read."""

_FORWARD: Final = 1
"""The bit of `-F` for the forward convolution; 0 means all directions."""


class CommandFlags:
    """The flags of a command line with their values, wherever the command begins in a line.

    Args:
        line: the line.
        start: the position after the name of the command.
        long_names: the short names of flags by their long names.
    """

    def __init__(self, line: str, start: int, long_names: Mapping[str, str]) -> None:
        self._values: dict[str, tuple[str, int]] = {}
        self._end = len(line.rstrip()) + 1
        self._names = set(re.findall(r"(?<!\S)-{1,2}([A-Za-z_!@#$^]\w*)", line[start:]))
        pattern = r"(?<!\S)-{1,2}([A-Za-z_!@#$^]\w*)(?:=|\s+)(?!-[A-Za-z_!@#$^-])(\S+)"
        for match in re.finditer(pattern, line[start:]):
            name = long_names.get(match[1], match[1])
            self._values[name] = match[2], start + match.start(2) + 1

    def has(self, switch: str) -> bool:
        """Return whether a flag without a value is given."""
        return switch in self._names

    def text(self, name: str, default: str) -> str:
        """Return the value of a flag."""
        return self._values.get(name, (default, 0))[0]

    def column(self, name: str) -> int:
        """Return the position of a flag's value, or of the end of the line."""
        return self._values.get(name, ("", self._end))[1]

    def number(self, name: str, least: int, default: int | None = None) -> int:
        """Return the value of a flag as a number; without a default it must be given."""
        text = self.text(name, "" if default is None else str(default))
        if not text:
            raise ProblemError(f"flag '-{name}' is missing", self._end)
        number = read_size(text, least)
        if number is None:
            form = f"a number from {least} to {LARGEST_SIZE}"
            message = f"invalid value '{text}' for '-{name}': expected {form}"
            raise ProblemError(message, self.column(name))
        return number

    def numbers(self, names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        """Return the values of flags with one letter as numbers."""
        return tuple(self.number(name, least, default) for name in names)


MIOPEN_COMMAND: Final = re.compile(
    rf"MIOpenDriver\s+(?P<driver>\S+)|(?<!\S)(?P<alone>{'|'.join(_MIOPEN_TYPES)})(?=\s+-)"
)
"""The operation of MIOpen's driver, after the name of the driver or without it, anywhere in a line."""


def read_miopen(line: str, command: re.Match[str]) -> Convolution:
    """Read a convolution of MIOpen's driver.

    Args:
        line: the line.
        command: the match of `MIOPEN_COMMAND` in it.

    Raises:
        ProblemError: it is not a forward convolution in two or three dimensions.
    """
    operation = command["driver"] or command["alone"]
    if operation not in _MIOPEN_TYPES:
        raise UnsupportedError.unknown(
            "operation", operation, _MIOPEN_TYPES, command.start("driver") + 1
        )
    flags = CommandFlags(line, command.end(), _LONG_NAMES)
    rank = _rank(flags)
    _check_supported(flags)

    def extents(names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        return flags.numbers(names[-rank:], least, default)

    return Convolution(
        flags.number("n", 1),
        flags.number("c", 1),
        extents("!HW", 1),
        flags.number("k", 1),
        extents("@yx", 1),
        _miopen_type(operation, flags),
        extents("#uv", 1, 1),
        extents("$pq", 0, 0),
        extents("^lj", 1, 1),
        _layout(flags, rank),
        flags.number("g", 1, 1),
    )


def _miopen_type(operation: str, flags: CommandFlags) -> ElementType:
    """Return the type of the operands, which Fusilli gives as a switch and MIOpen in the name of the operation."""
    switches = {"fp16": ElementType.F16, "bf16": ElementType.BF16}
    given = [element for name, element in switches.items() if flags.has(name)]
    return given[0] if given else _MIOPEN_TYPES[operation]


def _check_supported(flags: CommandFlags) -> None:
    directions = flags.number("F", 0, 0)
    if directions and not directions & _FORWARD:
        raise UnsupportedError(
            "only forward convolutions are supported ('-F 1')", flags.column("F")
        )
    if (mode := flags.text("m", "conv")) != "conv":
        raise UnsupportedError.unknown("mode", mode, ["conv"], flags.column("m"))


def _rank(flags: CommandFlags) -> int:
    """Return the number of an image's extents."""
    rank = flags.number("_", 1, 2)
    if rank not in _LAYOUTS:
        message = "only convolutions in two or three dimensions are supported"
        raise UnsupportedError(message, flags.column("_"))
    return rank


_LAYOUTS: Final = {
    2: {"NCHW": Layout.NCHW_FCHW, "NHWC": Layout.NHWC_FHWC},
    3: {"NCDHW": Layout.NCDHW_FCDHW},
}
"""The layouts by the number of an image's extents."""


def _layout(flags: CommandFlags, rank: int) -> Layout:
    """Return the layout, which is the same for image, filter and result."""
    layouts = _LAYOUTS[rank]
    given = [flags.text(name, next(iter(layouts))) for name in "IfO"]
    for name, layout in zip("IfO", given, strict=True):
        if layout not in layouts:
            raise UnsupportedError.unknown("layout", layout, layouts, flags.column(name))
    if len(set(given)) > 1:
        message = (
            f"layouts {', '.join(given)} differ: expected the same for image, filter and result"
        )
        raise UnsupportedError(message, flags.column("I"))
    return layouts[given[0]]


FUSILLI_COMMAND: Final = re.compile(r"(?:^|\s)(?P<operation>matmul|sdpa)(?=\s+-)")
"""The operation of a benchmark of Fusilli, whose convolutions have the flags of MIOpen's driver."""

OTHER_COMMAND: Final = re.compile(
    r"^(?:\s*--?\w+\s+\d+)*\s*(?!fusilli_)(?P<operation>[A-Za-z./][\w:./-]*)(?=\s+-)"
)
"""The operation of another command with flags."""

_FUSILLI_TYPES: Final = {
    element.value: element for element in (ElementType.F32, ElementType.F16, ElementType.BF16)
}


def read_fusilli(line: str, command: re.Match[str]) -> Product | Attention:
    """Read a product or an attention of Fusilli's benchmarks.

    Args:
        line: the line.
        command: the match of `FUSILLI_COMMAND` in it.

    Raises:
        ProblemError: a size is missing, or the problem is not supported.
    """
    long_names = {
        "m": "M",
        "n": "N",
        "k": "K",
        "b": "B",
        "batch": "B",
        "head_dim": "d",
        "type": "t",
    }
    flags = CommandFlags(line, command.end(), long_names)
    return (
        _fusilli_product(flags) if command["operation"] == "matmul" else _fusilli_attention(flags)
    )


def _fusilli_product(flags: CommandFlags) -> Product:
    elements = [_fusilli_type(flags, name) for name in ("a_type", "b_type")]
    if len(set(elements)) > 1:
        raise UnsupportedError(
            "operands of different types are not supported", flags.column("b_type")
        )
    batch = flags.number("B", 1, 1)
    return Product(
        flags.number("M", 1),
        flags.number("N", 1),
        flags.number("K", 1),
        elements[0],
        batch if batch > 1 else None,
        transposes_a=flags.has("transA"),
        transposes_b=flags.has("transB"),
    )


def _fusilli_attention(flags: CommandFlags) -> Attention:
    for mask in ("mask", "causal"):
        if flags.has(mask):
            raise UnsupportedError("attentions with a mask are not supported", flags.column(mask))
    queries, keys = flags.number("heads_q", 1), flags.number("heads_kv", 1)
    if queries != keys:
        message = "attentions with fewer heads of keys than of queries are not supported"
        raise UnsupportedError(message, flags.column("heads_kv"))
    heads = flags.number("B", 1) * queries
    sizes = (flags.number("seq_q", 1), flags.number("seq_kv", 1), flags.number("d", 1))
    return Attention(heads, *sizes, _fusilli_type(flags, "t"))


def _fusilli_type(flags: CommandFlags, name: str) -> ElementType:
    value = flags.text(name, "")
    if not value:
        raise ProblemError(f"flag '-{name}' is missing", flags.column(name))
    if value not in _FUSILLI_TYPES:
        raise UnsupportedError.unknown("type", value, _FUSILLI_TYPES, flags.column(name))
    return _FUSILLI_TYPES[value]
