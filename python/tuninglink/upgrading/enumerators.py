"""The enumerators of today's compiler."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from tuninglink.spelling import nearest

CPU_PIPELINES: Final = frozenset(
    {
        "Default",
        "DoubleTilingExpert",
        "ConvTileAndDecomposeExpert",
        "Mmt4dTilingExpert",
        "BufferOpsTileAndVectorize",
        "DataTiling",
        "LinalgExtTileAndVectorize",
    }
)
"""The enumerators of `#iree_cpu.pipeline`, which the bindings lack."""

_LONGEST: Final = 80


@cache
def gpu_enumerators(enumeration: str) -> frozenset[str]:
    """Return the enumerators of an enumeration in the bindings of `iree_gpu`, such as `MMAIntrinsic`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(member.name for member in getattr(iree_gpu, enumeration))


def unknown(what: str, name: str, valid_names: Iterable[str], likely: str | None = None) -> str:
    """Return the message that a name is unknown, with the nearest known one.

    Args:
        what: the kind of name.
        name: the name.
        valid_names: the known names.
        likely: the name in the form of the known names.
    """
    suggestion = nearest((likely or name)[:_LONGEST], sorted(valid_names), cutoff=0.5)
    shortened = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
    hint = f"; the nearest known one is '{suggestion}'" if suggestion else ""
    return f"unknown {what} '{shortened}'{hint}"
