"""Configurations for CPUs, `#iree_cpu.lowering_config`, for which the bindings have no class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir.attributes import integers_of, named_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREFIX = "#iree_cpu.lowering_config<"


class CpuLevel(Enum):
    """A level of tiling, as the compiler spells it, from the outermost to the innermost."""

    DISTRIBUTION = "distribution"
    CACHE_PARALLEL = "cache_parallel"
    CACHE_REDUCTION = "cache_reduction"
    VECTOR_COMMON_PARALLEL = "vector_common_parallel"
    VECTOR_REDUCTION = "vector_reduction"
    VECTOR_INNER_PARALLEL = "vector_inner_parallel"


@dataclass(frozen=True)
class Tiling:
    """How one level tiles.

    Attributes:
        sizes: the tile of each loop, 0 where the loop is not tiled.
        scalable: the loops whose tile is a multiple of the vector scale that only the running program knows.
        interchange: the order of the loops; empty for the usual one.
    """

    sizes: tuple[int, ...]
    scalable: frozenset[int] = frozenset()
    interchange: tuple[int, ...] = ()


def is_cpu_configuration(attribute: mlir.Attribute) -> bool:
    """Tells whether an attribute is a `#iree_cpu.lowering_config`."""
    return str(attribute).startswith(_PREFIX)


def read_cpu_configuration(attribute: mlir.Attribute) -> Mapping[str, Tiling | None] | None:
    """Returns how each level in a `#iree_cpu.lowering_config` tiles, or None if `attribute` is another one.

    A level that is not written as tiling is None.
    """
    parameters = named_parameters(attribute) if is_cpu_configuration(attribute) else None
    if parameters is None:
        return None
    return {name: _tiling(each) for name, each in parameters.items()}


def cpu_lowering_config(
    levels: Mapping[CpuLevel, Sequence[int]], context: mlir.Context
) -> mlir.Attribute:
    """Returns a `#iree_cpu.lowering_config`.

    Args:
        levels: the tiles of each loop, for the levels that there shall be.
        context: where it lives.

    Raises:
        MLIRError: a size does not fit into 64 bits.
    """
    text = ", ".join(f"{level.value} = {list(sizes)}" for level, sizes in levels.items())
    return mlir.Attribute.parse(f"{_PREFIX}{text}>", context)


def _tiling(attribute: mlir.Attribute) -> Tiling | None:
    if isinstance(attribute, mlir.ArrayAttr):
        return _sizes(attribute, ())
    if not isinstance(attribute, mlir.DictAttr) or "sizes" not in attribute:
        return None
    sizes = attribute["sizes"]
    if not isinstance(sizes, mlir.ArrayAttr):
        return None
    if "interchange" not in attribute:
        return _sizes(sizes, ())
    order = attribute["interchange"]
    if not isinstance(order, mlir.ArrayAttr):
        return None
    return _sizes(sizes, tuple(integers_of(order)))


def _sizes(attribute: mlir.ArrayAttr, interchange: tuple[int, ...]) -> Tiling | None:
    sizes: list[int] = []
    scalable: set[int] = set()
    for position, each in enumerate(attribute):
        size: object = each
        if isinstance(each, mlir.ArrayAttr) and len(each) == 1:
            scalable.add(position)
            size = each[0]
        if not isinstance(size, mlir.IntegerAttr):
            return None
        sizes.append(int(size.value))
    return Tiling(tuple(sizes), frozenset(scalable), interchange)
