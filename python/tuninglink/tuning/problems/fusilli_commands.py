"""Reading command lines of Fusilli's benchmarks, whose convolutions have the form of MIOpen's driver."""

from __future__ import annotations

import re
from typing import Final

from tuninglink.tuning.problems import Attention, Product
from tuninglink.tuning.problems.command_flags import CommandFlags
from tuninglink.tuning.problems.operands import ElementType
from tuninglink.tuning.problems.problem_text import ProblemError, UnsupportedError

FUSILLI_COMMAND: Final = re.compile(r"(?:^|\s)(?P<operation>matmul|sdpa)(?=\s+-)")
"""The operation of a benchmark of Fusilli."""

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
