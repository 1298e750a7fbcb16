"""The enumerators that today's compiler knows."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

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
"""The enumerators of `#iree_cpu.pipeline`, which have no bindings."""

_LONGEST: Final = 80


@cache
def gpu_enumerators(enumeration: str) -> frozenset[str]:
    """Return the enumerators of an enumeration of the bindings of `iree_gpu`, such as `MMAIntrinsic`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(each.name for each in getattr(iree_gpu, enumeration))


def unknown(what: str, name: str, known: Iterable[str], likely: str | None = None) -> str:
    """Return the message that a name is not known, with the nearest known one.

    Args:
        what: what it is a name of.
        name: the name.
        known: the names that are known.
        likely: the name in the form of those that are known.
    """
    meant = nearest((likely or name)[:_LONGEST], sorted(known), cutoff=0.5)
    shown = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
    hint = f"; the nearest known one is '{meant}'" if meant else ""
    return f"unknown {what} '{shown}'{hint}"
