"""The spellings of problems: their keys, the root ops of dispatches, and configurations for other spellings.

A problem key is equal for all spellings of a problem, independent of loop numbers and loops of size 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu
from iree.compiler.passmanager import PassManager

from tuninglink.iree import (
    ATTENTION_OUTPUTS,
    PARALLEL,
    REDUCTION,
    CpuLevel,
    Dispatch,
    OpDescription,
    OpKind,
    Role,
    Sizes,
    find_root_ops,
    lowering_configs as gpu,
)
from tuninglink.matching.reader import OpInfo
from tuninglink.mlir import entries_of, named_parameters, names, thread_context, to_bytecode

COMPARED: Final[Mapping[OpKind, tuple[int, ...]]] = {
    OpKind.CONTRACTION: (0, 1, 2),
    OpKind.CONVOLUTION: (0, 1, 2),
    OpKind.ATTENTION: (0, 1, 2, 4),
}
"""The operands whose layouts and types define a problem: of an attention, all but scale, maximum and sum."""

OPERANDS: Final[Mapping[OpKind, int]] = {
    OpKind.CONTRACTION: 3,
    OpKind.CONVOLUTION: 3,
    OpKind.ATTENTION: 7,
}
"""The number of operands of each kind of op when specs are applied; an attention with a mask has more."""

Access = tuple[tuple[tuple[int, int], ...], int]
"""The index of a dimension: a sum of loops, each with its factor, and a constant."""


@dataclass(frozen=True)
class ProblemKey:
    """The properties that all spellings of a problem share.

    Loops are numbered in the order in which they first index a dimension alone. Loops of size 1 are not numbered.
    """

    kind: OpKind
    accesses: tuple[tuple[Access, ...], ...]
    sizes: Sizes
    element_types: tuple[str, ...]


@dataclass(frozen=True)
class DescribedOp(OpDescription):
    """An op that is known by its description. The sizes of `dimensions` are those that no loop indexes by itself."""

    kind: OpKind
    maps: tuple[mlir.AffineMap, ...]
    sizes: Sizes
    element_types: tuple[str, ...]
    dimensions: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @property
    def first_output(self) -> int:
        """The position of the first output."""
        outputs = ATTENTION_OUTPUTS[names.ONLINE_ATTENTION] if self.kind is OpKind.ATTENTION else 1
        return len(self.maps) - outputs


_Op = TypeVar("_Op", bound="OpInfo | DescribedOp")
_Op_co = TypeVar("_Op_co", bound="OpInfo | DescribedOp", covariant=True)


@dataclass(frozen=True)
class ProblemSpelling(Generic[_Op_co]):
    """An op as one way to write its problem.

    Attributes:
        op: the op.
        key: the key of the problem.
        loops: for each numbered loop of the key, the loop of the op.
        parallel: the loops of the op that index the output, in their order.
        parts: the loops of the contractions that an attention is decomposed into, by the names of their attributes.
        windows: the sizes of the dimensions that several loops index, by operand and by position in its accesses.
        units: the loops of size 1, each with the compared operands that it indexes.
    """

    op: _Op_co
    key: ProblemKey
    loops: tuple[int, ...]
    parallel: tuple[int, ...]
    parts: Mapping[str, tuple[int, ...]]
    windows: Mapping[tuple[int, int], int | None]
    units: Mapping[int, tuple[int, ...]]


Root: TypeAlias = ProblemSpelling[OpInfo]
"""The root op of a dispatch."""

AnySpelling: TypeAlias = ProblemSpelling["OpInfo | DescribedOp"]


def problem_spelling(op: _Op) -> ProblemSpelling[_Op] | None:
    """Return an op as a spelling of its problem; None if it is not supported, such as an attention with a mask."""
    kind, sizes = op.kind, op.sizes
    if len(op.maps) != OPERANDS.get(kind):
        return None
    if isinstance(op, OpInfo) and any(operand.encoding for operand in op.operands):
        return None
    # Number the loops in the order of their first use; loops of size 1 are left out.
    loops_of = {operand: op.operand_loops[operand] for operand in COMPARED[kind]}
    numbers: dict[int, int] = {}
    for loops in loops_of.values():
        for loop in loops:
            if loop is not None and sizes[loop] != 1:
                numbers.setdefault(loop, len(numbers))
    if len(numbers) != sum(size != 1 for size in sizes):
        return None
    # The key holds the accesses, the sizes and the types. Dimensions that only loops of size 1 index have no access.
    accesses: dict[int, list[Access]] = {}
    windows: dict[tuple[int, int], int | None] = {}
    for operand, loops in loops_of.items():
        accesses[operand] = []
        for dimension, result in enumerate(op.maps[operand].results):
            try:
                factors, constant = _terms(result)
            except ValueError:
                return None
            numbered = {numbers[loop]: by for loop, by in factors.items() if loop in numbers}
            if numbered or constant:
                if loops[dimension] is None:
                    if isinstance(op, OpInfo):
                        size = (op.operands[operand].sizes or {dimension: None})[dimension]
                    else:
                        size = op.dimensions.get((operand, dimension))
                    windows[operand, len(accesses[operand])] = size
                accesses[operand].append((tuple(sorted(numbered.items())), constant))
    key = ProblemKey(
        kind,
        tuple(map(tuple, accesses.values())),
        tuple(sizes[loop] for loop in numbers),
        tuple(op.element_types[operand] for operand in loops_of),
    )
    # The rest differs between equal problems.
    indexed = {
        operand: {loop for loop in loops if loop is not None} for operand, loops in loops_of.items()
    }
    parts: dict[str, tuple[int, ...]] = {}
    if kind is OpKind.ATTENTION:
        # The product of query and key, and the product of weights and value.
        query, key_, value, output = indexed.values()
        parts = {
            "qk_attrs": tuple(sorted(query | key_)),
            "pv_attrs": tuple(sorted(value | output)),
        }
    units = {
        loop: tuple(operand for operand, loops in indexed.items() if loop in loops)
        for loop, size in enumerate(sizes)
        if size == 1
    }
    parallel = tuple(sorted(indexed[COMPARED[kind][-1]]))
    return ProblemSpelling(op, key, tuple(numbers), parallel, parts, windows, units)


def _terms(expression: mlir.AffineExpr) -> tuple[dict[int, int], int]:
    """Return the factors of the loops in a sum, and its constant."""
    match expression:
        case mlir.AffineDimExpr():
            return {expression.position: 1}, 0
        case mlir.AffineConstantExpr():
            return {}, expression.value
        case mlir.AffineAddExpr():
            (left, one), (right, other) = _terms(expression.lhs), _terms(expression.rhs)
            factors = {
                loop: left.get(loop, 0) + right.get(loop, 0) for loop in left.keys() | right.keys()
            }
            return factors, one + other
        case mlir.AffineMulExpr():
            factors, constant = _terms(expression.lhs)
            scaled, factor = _terms(expression.rhs)  # MLIR puts the constant there.
            if not scaled:
                products = {loop: value * factor for loop, value in factors.items()}
                return products, constant * factor
    raise ValueError(f"'{expression}' is not a sum of loops")


_TO_ONLINE_ATTENTION: Final = (
    "builtin.module(func.func(iree-linalg-ext-convert-attention-to-online-attention))"
)
"""The pipeline that all backends run before matchers, and that changes the maps of root ops."""


@dataclass(frozen=True, eq=False)
class RootReader:
    """Reads the root ops of dispatches; shared parts are read once."""

    _converted: dict[Hashable, OpInfo | None] = field(default_factory=dict, init=False)
    _alive: list[mlir.Module] = field(default_factory=list, init=False)

    def read(self, dispatch: Dispatch) -> tuple[Root, ...]:
        """Return the root ops without a configuration, in the spelling that matchers receive."""
        backend = dispatch.target.backend if dispatch.target else ""
        spellings = []
        for function in find_root_ops(dispatch.module):
            if names.TRANSLATION_INFO in function.function.attributes:
                continue
            for root in function.roots:
                op: OpInfo | None = OpInfo(root)
                if root.name == names.ATTENTION:
                    # The online attention to which the compiler converts it.
                    key = OpInfo(root).key
                    if key not in self._converted:
                        context = thread_context()
                        copy = mlir.Module.parse(to_bytecode(dispatch.module), context)
                        self._alive.append(copy)
                        PassManager.parse(_TO_ONLINE_ATTENTION, context).run(copy.operation)
                        converted = [
                            OpInfo(inner)
                            for inside in find_root_ops(copy.operation)
                            for inner in inside.roots
                            if inner.name == names.ONLINE_ATTENTION
                        ]
                        self._converted[key] = converted[0] if len(converted) == 1 else None
                    op = self._converted[key]
                if op is None or {names.COMPILATION_INFO, names.LOWERING_CONFIG} & {
                    *op.operation.attributes
                }:
                    continue
                # This backend adds a batch loop to convolutions of one image, and loses their configurations.
                is_image = op.kind is OpKind.CONVOLUTION and not op.loops.get(Role.BATCH)
                spelling = None if is_image and backend == "llvm-cpu" else problem_spelling(op)
                if spelling is not None:
                    spellings.append(spelling)
        return tuple(spellings)


# --- The conversion of configurations to another spelling of their problem, by reordering lists over loops

_BOTH: Final = frozenset({PARALLEL, REDUCTION})
_TILES: Final[Mapping[str, frozenset[str]]] = {
    gpu.WORKGROUP: frozenset({PARALLEL}),
    gpu.SUBGROUP: frozenset({PARALLEL}),
    gpu.THREAD: frozenset({PARALLEL}),
    gpu.REDUCTION_LEVEL: frozenset({REDUCTION}),
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


_BY_OPERAND: Final = frozenset({gpu.PROMOTED_OPERANDS, gpu.PROMOTION_TYPES})
"""The entries with an element for each operand."""


class NotDerivableError(Exception):
    """A configuration cannot be converted to another spelling; the message gives the reason."""


@dataclass(frozen=True)
class LoopMapping:
    """The correspondence of the loops of two spellings."""

    sources: tuple[int | None, ...]
    iterators: tuple[str, ...]
    dropped: tuple[int, ...]

    def part(self, old: Sequence[int], new: Sequence[int]) -> LoopMapping:
        """Return the mapping restricted to some loops of both spellings, renumbered in order."""
        positions = {loop: position for position, loop in enumerate(old)}
        sources = [self.sources[loop] for loop in new]
        return LoopMapping(
            tuple(None if loop is None else positions[loop] for loop in sources),
            tuple(self.iterators[loop] for loop in new),
            tuple(positions[loop] for loop in self.dropped if loop in positions),
        )


def loop_mapping(old: AnySpelling, new: AnySpelling) -> LoopMapping:
    """Return the correspondence of the loops of two spellings of a problem.

    A loop of size 1 corresponds to one that indexes the same operands, if the other spelling has one.
    """
    by_loop = dict(zip(new.loops, old.loops, strict=True))
    units = dict(old.units)
    for loop, operands in new.units.items():
        source = next((unit for unit, indexed in units.items() if indexed == operands), None)
        if source is not None:
            del units[source]
            by_loop[loop] = source
    sources = tuple(by_loop.get(loop) for loop in range(new.op.loop_count))
    return LoopMapping(sources, new.op.iterator_types, tuple(units))


@dataclass(frozen=True)
class Renumbering:
    """Converts the attributes that configure an op from one spelling to another.

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
    def between(old: AnySpelling, new: AnySpelling) -> Renumbering:
        """Return the renumbering from one spelling of a problem to another one."""
        mapping = loop_mapping(old, new)
        # The implicit matmul has the parallel loops, followed by one into which all other loops are merged.
        gemm = None
        parallel = mapping.part(old.parallel, new.parallel)
        kept = [source for source in parallel.sources if source is not None]
        if kept == sorted(kept):
            gemm = LoopMapping(
                (*parallel.sources, len(old.parallel)),
                (*parallel.iterators, REDUCTION),
                parallel.dropped,
            )
        return Renumbering(
            mapping,
            {name: mapping.part(loops, new.parts[name]) for name, loops in old.parts.items()},
            gemm,
            old.key.kind is OpKind.CONVOLUTION,
        )

    def configuration(self, name: str, value: mlir.Attribute) -> mlir.Attribute:
        """Return the value of an attribute for the new spelling.

        Raises:
            NotDerivableError: the value cannot be converted to the new spelling.
        """
        with value.context:
            if name == names.TRANSLATION_INFO:
                return value
            if name == names.LOWERING_CONFIG and not self.is_convolution:
                return _lowering_config(value, self.mapping)
            if name == names.COMPILATION_INFO and isinstance(
                value, iree_codegen.CompilationInfoAttr
            ):
                translation = value.translation_info
                mapping: LoopMapping | None = self.mapping
                if self.is_convolution and gpu.uses_igemm(translation):
                    mapping = self.gemm
                if mapping is None:
                    raise NotDerivableError("it becomes a matmul, whose loops are in another order")
                # The padding of a convolution refers to its loops even if it becomes a matmul.
                others = {gpu.PADDING_CONV: self.mapping}
                lowering = _lowering_config(value.lowering_config, mapping, others)
                return iree_codegen.CompilationInfoAttr.get(lowering, translation)
            if name == names.DECOMPOSITION_CONFIG:
                entries = entries_of(value)
                for part_name, mapping in self.parts.items():
                    part = entries_of(entries.get(part_name))
                    if names.LOWERING_CONFIG in part:
                        part[names.LOWERING_CONFIG] = _lowering_config(
                            part[names.LOWERING_CONFIG], mapping
                        )
                        entries[part_name] = mlir.DictAttr.get(part)
                return mlir.DictAttr.get(entries)
        raise NotDerivableError(f"it sets '{name}'")


def _lowering_config(
    value: mlir.Attribute,
    mapping: LoopMapping,
    others: Mapping[str, LoopMapping] = MappingProxyType({}),
) -> mlir.Attribute:
    """Convert a lowering config to another spelling; some entries have other loops."""
    entries: Mapping[str, mlir.Attribute] | None = None
    if isinstance(value, iree_gpu.LoweringConfigAttr):
        entries = entries_of(value.attributes)
    else:
        entries = named_parameters(value, gpu.CPU_CONFIGURATION)
    if entries is None:
        raise NotDerivableError(f"its configuration is {value}")
    renumbered = {
        name: _entry(name, entry, others.get(name, mapping)) for name, entry in entries.items()
    }
    if isinstance(value, iree_gpu.LoweringConfigAttr):
        return iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(renumbered))
    text = ", ".join(f"{name} = {entry}" for name, entry in renumbered.items())
    return mlir.Attribute.parse(f"{gpu.CPU_CONFIGURATION}{text}>", value.context)


def _entry(name: str, value: mlir.Attribute, mapping: LoopMapping) -> mlir.Attribute:
    i64 = mlir.IntegerType.get_signless(64)
    if name in _TILES:
        # Reorder a list of tiles for the new loops; a tile is a number, or a scalable tile in brackets.
        if not isinstance(value, mlir.ArrayAttr):
            raise NotDerivableError(f"its configuration has '{name} = {value}'")
        tiles = list(value)
        old_count = sum(source is not None for source in mapping.sources) + len(mapping.dropped)
        if len(tiles) > old_count:
            raise NotDerivableError(f"its '{name}' is for more loops")
        if any(
            loop < len(tiles) and str(tiles[loop]) not in ("0 : i64", "1 : i64")
            for loop in mapping.dropped
        ):
            raise NotDerivableError(f"its '{name}' tiles a loop of size 1")
        none, one = (mlir.IntegerAttr.get(i64, tile) for tile in (0, 1))
        return mlir.ArrayAttr.get(
            [
                (one if iterator in _TILES[name] else none)
                if source is None
                else (tiles[source] if source < len(tiles) else none)
                for source, iterator in zip(mapping.sources, mapping.iterators, strict=True)
            ]
        )
    if name in gpu.BASES:
        # Convert a basis to the new loops; the number 1 is appended for each new loop.
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
        return mlir.ArrayAttr.get(
            [
                mlir.ArrayAttr.get([mlir.IntegerAttr.get(i64, number) for number in numbers])
                for numbers in (counts, renumbered)
            ]
        )
    if name in _BY_OPERAND or not isinstance(value, mlir.ArrayAttr | mlir.DictAttr):
        return value
    raise NotDerivableError(f"its configuration has '{name} = {value}'")
