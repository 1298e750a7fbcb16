"""Configurations for CPUs, `#iree_cpu.lowering_config`, which the bindings have no class for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from iree.compiler import ir as mlir

from tuninglink.mlir.attributes import integers_of, named_parameters

_PREFIX = "#iree_cpu.lowering_config<"


class CpuLevel(Enum):
    """A tiling level, as the compiler spells it, from the outermost to the innermost."""

    DISTRIBUTION = "distribution"
    CACHE_PARALLEL = "cache_parallel"
    CACHE_REDUCTION = "cache_reduction"
    VECTOR_COMMON_PARALLEL = "vector_common_parallel"
    VECTOR_REDUCTION = "vector_reduction"
    VECTOR_INNER_PARALLEL = "vector_inner_parallel"


@dataclass(frozen=True)
class Tiling:
    """The tiling of one level.

    Attributes:
        sizes: the tile size of each loop, 0 for a loop that is not tiled.
        scalable: the loops whose tile size is a multiple of the vector scale, which is known at run time.
        interchange: the order of the loops; empty for the usual one.
    """

    sizes: tuple[int, ...]
    scalable: frozenset[int] = frozenset()
    interchange: tuple[int, ...] = ()


def is_cpu_configuration(attribute: mlir.Attribute) -> bool:
    """Return whether an attribute is a `#iree_cpu.lowering_config`."""
    return str(attribute).startswith(_PREFIX)


def read_cpu_configuration(attribute: mlir.Attribute) -> Mapping[str, Tiling | None] | None:
    """Return the tiling of each level in a `#iree_cpu.lowering_config`, or None for another attribute.

    A level in another form than a tiling is None.
    """
    parameters = named_parameters(attribute) if is_cpu_configuration(attribute) else None
    if parameters is None:
        return None
    return {name: _tiling(level) for name, level in parameters.items()}


def cpu_lowering_config(
    levels: Mapping[CpuLevel, Sequence[int]], context: mlir.Context
) -> mlir.Attribute:
    """Return a `#iree_cpu.lowering_config`.

    Args:
        levels: the tile sizes of each loop, by level. Other levels are left out.
        context: the context of the attribute.

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
    for position, element in enumerate(attribute):
        size: object = element
        if isinstance(element, mlir.ArrayAttr) and len(element) == 1:
            scalable.add(position)
            size = element[0]
        if not isinstance(size, mlir.IntegerAttr):
            return None
        sizes.append(int(size.value))
    return Tiling(tuple(sizes), frozenset(scalable), interchange)
