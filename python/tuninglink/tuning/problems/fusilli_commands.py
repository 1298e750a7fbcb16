"""Reading command lines of Fusilli's benchmarks, whose convolutions have the form of MIOpen's driver."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from tuninglink.tuning.problems import Attention, Mask, Norm, Normalization, Product
from tuninglink.tuning.problems.problem_text import (
    CommandFlags,
    ElementType,
    ProblemError,
    UnsupportedError,
)

FUSILLI_COMMAND: Final = re.compile(r"(?:^|\s)(?P<operation>matmul|sdpa|layernorm)(?=\s+-)")
"""The operation of a benchmark of Fusilli."""

_FUSILLI_TYPES: Final = {
    element.value: element for element in (ElementType.F32, ElementType.F16, ElementType.BF16)
}

_LONG_NAMES: Final = {
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
    """Read a benchmark of Fusilli.

    Args:
        line: the line.
        command: the match of `FUSILLI_COMMAND` in it.

    Raises:
        ProblemError: a size is missing, or the problem is not supported.
    """
    flags = CommandFlags(line, command.end(), _LONG_NAMES)
    return _READERS[command["operation"]](flags)


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


_READERS: Final[dict[str, Callable[[CommandFlags], Product | Attention | Normalization]]] = {
    "matmul": _fusilli_product,
    "sdpa": _fusilli_attention,
    "layernorm": _fusilli_layer_norm,
}
"""Readers of the flags of an operation."""
