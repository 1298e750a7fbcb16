"""The conversion of configurations to another form of their problem, by reordering lists over loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import lowering_configs as gpu
from tuninglink.iree.lowering_configs import CpuLevel, is_cpu_configuration
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import PARALLEL, REDUCTION
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of, named_parameters

if TYPE_CHECKING:
    from tuninglink.matching.derivation.problem_forms import ProblemForm

_BOTH: Final = frozenset({PARALLEL, REDUCTION})
_TILES: Final[Mapping[str, frozenset[str]]] = {
    gpu.WORKGROUP: frozenset({PARALLEL}),
    gpu.SUBGROUP: frozenset({PARALLEL}),
    gpu.THREAD: frozenset({PARALLEL}),
    gpu.REDUCTION: frozenset({REDUCTION}),
    gpu.PARTIAL_REDUCTION: frozenset({REDUCTION}),
    gpu.PADDING: _BOTH,
    gpu.PADDING_CONV: _BOTH,
    CpuLevel.DISTRIBUTION.value: frozenset({PARALLEL}),
    CpuLevel.CACHE_PARALLEL.value: frozenset({PARALLEL}),
    CpuLevel.CACHE_REDUCTION.value: frozenset({REDUCTION}),
    CpuLevel.VECTOR_COMMON_PARALLEL.value: frozenset({PARALLEL}),
    CpuLevel.VECTOR_REDUCTION.value: frozenset({REDUCTION}),
    CpuLevel.VECTOR_INNER_PARALLEL.value: frozenset(),
}
"""The entries of lowering configs that hold a tile for each loop, and the iterators of loops of size 1 that they tile
by 1; loops of size 1 with other iterators are not tiled.
"""

_OF_CONVOLUTION: Final = (gpu.PADDING_CONV,)
"""The entries that refer to the loops of a convolution even if the convolution becomes a matmul."""

_BY_OPERAND: Final = frozenset({gpu.PROMOTED_OPERANDS, gpu.PROMOTION_TYPES})
"""The entries with an element for each operand."""


class NotDerivableError(Exception):
    """A configuration cannot be converted to another form; the message gives the reason."""


@dataclass(frozen=True)
class LoopMapping:
    """The correspondence of the loops of two forms.

    Attributes:
        sources: for each loop of the new form, the loop of the old one; None for an added loop of size 1.
        iterators: the iterator of each loop of the new form.
        dropped: the loops of the old form that the new one lacks, all of size 1.
    """

    sources: tuple[int | None, ...]
    iterators: tuple[str, ...]
    dropped: tuple[int, ...]

    @property
    def old_count(self) -> int:
        """The number of loops of the old form."""
        return sum(source is not None for source in self.sources) + len(self.dropped)

    def part(self, old: Sequence[int], new: Sequence[int]) -> LoopMapping:
        """Return the mapping restricted to some loops of both forms, renumbered in order."""
        positions = {loop: position for position, loop in enumerate(old)}
        sources = [self.sources[loop] for loop in new]
        return LoopMapping(
            tuple(None if loop is None else positions[loop] for loop in sources),
            tuple(self.iterators[loop] for loop in new),
            tuple(positions[loop] for loop in self.dropped if loop in positions),
        )


def loop_mapping(old: ProblemForm, new: ProblemForm, iterators: Sequence[str]) -> LoopMapping:
    """Return the correspondence of the loops of two forms of a problem.

    A loop of size 1 corresponds to one that indexes the same operands, if the other form has one.

    Args:
        old: the form that an entry matches.
        new: the form of an op.
        iterators: the iterators of the op's loops.
    """
    by_loop = dict(zip(new.loops, old.loops, strict=True))
    units = dict(old.units)
    for loop, operands in new.units.items():
        source = next((unit for unit, indexed in units.items() if indexed == operands), None)
        if source is not None:
            del units[source]
            by_loop[loop] = source
    return LoopMapping(
        tuple(by_loop.get(loop) for loop in range(new.loop_count)),
        tuple(iterators),
        tuple(units),
    )


@dataclass(frozen=True)
class Renumbering:
    """Converts the attributes that configure an op from one form to another.

    Attributes:
        mapping: the loops of the op.
        parts: the loops of the parts that it decomposes into, by the names of their attributes.
        gemm: the loops of the implicit matmul that it may become; None if their order differs.
        is_convolution: whether it is a convolution.
    """

    mapping: LoopMapping
    parts: Mapping[str, LoopMapping]
    gemm: LoopMapping | None
    is_convolution: bool

    @staticmethod
    def between(old: ProblemForm, new: ProblemForm, iterators: Sequence[str]) -> Renumbering:
        """Return the renumbering from one form of a problem to another one, whose iterators are given."""
        mapping = loop_mapping(old, new, iterators)
        return Renumbering(
            mapping,
            {name: mapping.part(loops, new.parts[name]) for name, loops in old.parts.items()},
            _gemm_mapping(mapping.part(old.parallel, new.parallel), len(old.parallel)),
            old.key.kind is OpKind.CONVOLUTION,
        )

    def configuration(self, name: str, value: mlir.Attribute) -> mlir.Attribute:
        """Return the value of an attribute for the new form.

        Raises:
            NotDerivableError: the value cannot be converted to the new form.
        """
        with value.context:
            if name == names.TRANSLATION_INFO:
                return value
            if name == names.LOWERING_CONFIG and not self.is_convolution:
                return _lowering_config(value, self.mapping)
            if name == names.COMPILATION_INFO and isinstance(
                value, iree_codegen.CompilationInfoAttr
            ):
                lowering = self._root_lowering_config(value)
                return iree_codegen.CompilationInfoAttr.get(lowering, value.translation_info)
            if name == names.DECOMPOSITION_CONFIG:
                return self._decomposition(value)
        raise NotDerivableError(f"it sets '{name}'")

    def _root_lowering_config(self, value: iree_codegen.CompilationInfoAttr) -> mlir.Attribute:
        if not self.is_convolution or not gpu.uses_igemm(value.translation_info):
            return _lowering_config(value.lowering_config, self.mapping)
        if self.gemm is None:
            raise NotDerivableError("it becomes a matmul, whose loops are in another order")
        return _lowering_config(
            value.lowering_config, self.gemm, dict.fromkeys(_OF_CONVOLUTION, self.mapping)
        )

    def _decomposition(self, value: mlir.Attribute) -> mlir.Attribute:
        entries = entries_of(value)
        for name, mapping in self.parts.items():
            part = entries_of(entries.get(name))
            if names.LOWERING_CONFIG in part:
                lowering = _lowering_config(part[names.LOWERING_CONFIG], mapping)
                entries[name] = mlir.DictAttr.get({**part, names.LOWERING_CONFIG: lowering})
        return mlir.DictAttr.get(entries)


def _gemm_mapping(parallel: LoopMapping, reduction: int) -> LoopMapping | None:
    """Return the mapping of the parallel loops followed by one reduction loop, into which all others are merged.

    Args:
        parallel: the mapping of the parallel loops.
        reduction: the position of the reduction loop in the old form.
    """
    kept = [source for source in parallel.sources if source is not None]
    if kept != sorted(kept):
        return None
    return LoopMapping(
        (*parallel.sources, reduction), (*parallel.iterators, REDUCTION), parallel.dropped
    )


def _lowering_config(
    value: mlir.Attribute,
    mapping: LoopMapping,
    others: Mapping[str, LoopMapping] = MappingProxyType({}),
) -> mlir.Attribute:
    """Convert a lowering config to another form.

    Args:
        value: the lowering config.
        mapping: the loops of its lists.
        others: the loops of other lists, by their names.
    """
    if isinstance(value, iree_gpu.LoweringConfigAttr):
        renumbered = _entries(entries_of(value.attributes), mapping, others)
        return iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(renumbered))
    entries = named_parameters(value) if is_cpu_configuration(value) else None
    if entries is None:
        raise NotDerivableError(f"its configuration is {value}")
    written = _entries(entries, mapping, others)
    text = ", ".join(f"{name} = {value}" for name, value in written.items())
    return mlir.Attribute.parse(f"#iree_cpu.lowering_config<{text}>", value.context)


def _entries(
    entries: Mapping[str, mlir.Attribute],
    mapping: LoopMapping,
    others: Mapping[str, LoopMapping],
) -> dict[str, mlir.Attribute]:
    return {name: _entry(name, value, others.get(name, mapping)) for name, value in entries.items()}


def _entry(name: str, value: mlir.Attribute, mapping: LoopMapping) -> mlir.Attribute:
    if name in _TILES:
        return _tiles(name, value, mapping)
    if name in gpu.BASES:
        return _basis(name, value, mapping)
    if name in _BY_OPERAND or not isinstance(value, mlir.ArrayAttr | mlir.DictAttr):
        return value
    raise NotDerivableError(f"its configuration has '{name} = {value}'")


def _tiles(name: str, value: mlir.Attribute, mapping: LoopMapping) -> mlir.Attribute:
    """Reorder a list of tiles for the new loops; a tile is a number, or a scalable tile in brackets."""
    if not isinstance(value, mlir.ArrayAttr):
        raise NotDerivableError(f"its configuration has '{name} = {value}'")
    tiles = list(value)
    if len(tiles) > mapping.old_count:
        raise NotDerivableError(f"its '{name}' is for more loops")
    if any(loop < len(tiles) and str(tiles[loop]) not in _UNIT_TILES for loop in mapping.dropped):
        raise NotDerivableError(f"its '{name}' tiles a loop of size 1")
    i64 = mlir.IntegerType.get_signless(64)
    none, one = (mlir.IntegerAttr.get(i64, tile) for tile in (0, 1))
    return mlir.ArrayAttr.get(
        [
            (one if iterator in _TILES[name] else none)
            if source is None
            else (tiles[source] if source < len(tiles) else none)
            for source, iterator in zip(mapping.sources, mapping.iterators, strict=True)
        ]
    )


_UNIT_TILES: Final = frozenset({"0 : i64", "1 : i64"})


def _basis(name: str, value: mlir.Attribute, mapping: LoopMapping) -> mlir.Attribute:
    """Convert a basis to the new loops; the number 1 is appended for each new loop."""
    basis = gpu.read_basis(value)
    if basis is None:
        raise NotDerivableError(f"its configuration has '{name} = {value}'")
    counts, positions = list(basis.counts), basis.mapping
    if any(loop < len(positions) and counts[positions[loop]] != 1 for loop in mapping.dropped):
        raise NotDerivableError(f"its '{name}' distributes a loop of size 1")
    renumbered: list[int] = []
    for source in mapping.sources:
        if source is None:
            renumbered.append(len(counts))
            counts.append(1)
        elif source < len(positions):
            renumbered.append(positions[source])
        else:
            raise NotDerivableError(f"its '{name}' is for fewer loops")
    i64 = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get(
        [
            mlir.ArrayAttr.get([mlir.IntegerAttr.get(i64, number) for number in numbers])
            for numbers in (counts, renumbered)
        ]
    )
