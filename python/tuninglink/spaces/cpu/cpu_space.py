"""The provider of Tuninglink's constraints on configurations for CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import (
    CpuLevel,
    OpKind,
    Role,
    StructuredOp,
    Tiling,
    cpu_lowering_config,
    element_type,
    read_cpu_configuration,
)
from tuninglink.mlir import entries_of, error, names, visit
from tuninglink.solver import AssignmentError, Grade, all_of, any_of, number
from tuninglink.spaces.cpu.cpu_rules import (
    BYTE,
    LEVELS,
    PIPELINES,
    PROVIDER,
    Cpu,
    CpuRules,
    Masking,
    add_necessary_rules,
    add_stack_rules,
    add_sufficient_rules,
    add_workgroup_rules,
    is_decomposed,
    read_cpu,
    unknown,
)
from tuninglink.spaces.cpu.nest import LOOP_PEELING, knob_name, read_nest
from tuninglink.spaces.model import (
    Configuration,
    InvalidFormError,
    MismatchError,
    MissingEntryError,
    Provider,
    Space,
)

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.nest import LoopNest
    from tuninglink.spaces.model import ConstraintSet, Problem, Workload


class CpuProvider(Provider):
    """Derives the compiler's rejections on llvm-cpu from the tiles, the loops and the target's vectors."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(PIPELINES)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the space of a dispatch.

        Raises:
            UndecidedError: the target is not a CPU, or the loops of the operation are unknown.
        """
        problem = workload.problem
        cpu = read_cpu(workload)
        if problem.kind is OpKind.ATTENTION:
            # The ops that replace it are not configured, and are masked on all CPUs.
            cpu = replace(cpu, masking=Masking.AS_NEEDED)
        nest = read_nest(workload)
        doubt = missing_instructions(workload, cpu)
        if _loses_configuration(workload):
            nest = replace(nest, is_lost=True)
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return [CpuSpace(nest, cpu, attribute, problem, doubt)]


def _loses_configuration(workload: Workload) -> bool:
    """Return whether the compiler rebuilds an operation after it has read a spec's configuration.

    It rebuilds convolutions and poolings without a batch loop, which result from a batch of one image
    (`names.ADD_BATCH_LOOP`). An operation with a lowering config has already been rebuilt.
    """
    root, problem = workload.root, workload.problem
    if names.LOWERING_CONFIG in root.attributes or root.name != names.GENERIC:
        return False
    roles = {dimension.role for dimension in problem.dimensions}
    is_pooling = not roles & {Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL, Role.DEPTH}
    batches = len(problem.loops(Role.BATCH))
    return problem.kind is OpKind.CONVOLUTION and batches == int(is_pooling)


_SOFTMAX: Final = "linalg.softmax"
_MAXIMA: Final = frozenset({"arith.maxnumf", "arith.minnumf", _SOFTMAX})
_REDUCTIONS: Final = frozenset({"linalg.reduce", _SOFTMAX})
_HALF: Final = "f16"
_BRAIN: Final = "bf16"
_BYTES: Final = "i8"
_PRODUCTS: Final = (OpKind.CONTRACTION, OpKind.CONVOLUTION)
_COMPUTING: Final = ("arith.", "math.")
_VECTORS: Final = ("+v", "+zve")
"""The prefixes of the RISC-V features that imply vector registers."""


def missing_instructions(workload: Workload, cpu: Cpu) -> str:
    """Return why code for a dispatch may fail to be generated or linked; empty if no reason is known.

    Determined by compiling for the CPUs.
    """
    uses = _Uses.of(workload)
    if cpu.architecture.startswith("x86") and cpu.links_nothing and uses.half_maxima:
        return "a maximum of f16 elements becomes a call of a function that is not linked"
    if cpu.architecture.startswith("aarch64") and "+i8mm" in cpu.features and uses.narrow_sums:
        return "with the feature 'i8mm', products that are added up as i8 become 'smmla', which adds up i32"
    return _missing_on_riscv(uses, cpu) if cpu.architecture.startswith("riscv") else ""


def _missing_on_riscv(uses: _Uses, cpu: Cpu) -> str:
    if cpu.links_nothing and (reason := _unlinked_calls(uses, cpu)):
        return reason
    if not any(feature.startswith(_VECTORS) for feature in cpu.features):
        return ""
    if uses.products:
        return "LLVM lowers no masked product of the elements of a vector"
    if uses.half_reductions and "+zvfh" not in cpu.features:
        return "without the feature 'zvfh', LLVM lowers no masked reduction of f16 elements"
    return ""


def _unlinked_calls(uses: _Uses, cpu: Cpu) -> str:
    call = "become calls of functions that are not linked"
    if "+m" not in cpu.features:
        return f"without the feature 'm', multiplications {call}"
    if uses.floats and not cpu.features & {"+f", "+d"}:
        return f"without the feature 'f', operations on floats {call}"
    if uses.brain_results and "+zfbfmin" not in cpu.features:
        return f"without the feature 'zfbfmin', truncations to bf16 {call}"
    return ""


@dataclass
class _Uses:
    """The kinds of instructions that a dispatch needs."""

    floats: bool = False
    brain_results: bool = False
    half_maxima: bool = False
    half_reductions: bool = False
    products: bool = False
    narrow_sums: bool = False

    @classmethod
    def of(cls, workload: Workload) -> _Uses:
        uses = cls()
        visit(workload.function, uses._visit)
        return uses

    def _visit(self, operation: mlir.Operation) -> None:
        types = [element_type(result.type) for result in operation.results]
        is_half = any(str(type_) == _HALF for type_ in types)
        self.floats |= any(isinstance(type_, mlir.FloatType) for type_ in types)
        is_computing = operation.name.startswith(_COMPUTING) and bool(operation.operands)
        self.brain_results |= is_computing and _BRAIN in map(str, types)
        self.half_maxima |= is_half and operation.name in _MAXIMA
        is_reduction = operation.name in _REDUCTIONS
        kind = StructuredOp(operation).kind
        self.narrow_sums |= kind in _PRODUCTS and _BYTES in map(str, types)
        if is_reduction or kind is OpKind.REDUCTION:
            self.half_reductions |= is_half
            self.products |= any(
                each.name == "arith.mulf" and _accumulates(each)
                for region in operation.regions
                for block in region.blocks
                for each in block.operations
            )


def _accumulates(operation: mlir.OpView) -> bool:
    arguments = list(operation.operation.block.arguments)
    return any(operand == arguments[-1] for operand in operation.operands)


# --- The space of configurations of a root op for a CPU ------------------------------------------

_MOST_DISTRIBUTED: Final = 1024
"""The largest tile of a workgroup that is tried."""

_VECTOR_TILES: Final = tuple(1 << power for power in range(9))
"""The sizes of vector tiles that are tried, besides the whole loop."""

_CACHE_REDUCTIONS: Final = (32, 64, 128, 256)
"""The reduction steps that are tried between the tile of a workgroup and the vector tile, besides the whole reduction.
The rows of the right-hand side in one step lie on few pages, which other vector tiles read again.
"""

_LEVEL_1_CACHE_BYTES: Final = 32 * 1024
"""The size of the first-level data cache on the smaller of today's CPUs."""


def add_heuristic_rules(rules: CpuRules) -> None:
    """Add the rules for proposed and enumerated configurations."""
    rules.grade = Grade.HEURISTIC
    if rules.is_data_tiled:
        add_workgroup_rules(rules)
        return
    if not rules.pipeline.vectorizes:
        _shape_scalars(rules)
        return
    if not rules.checks_vectors or rules.pipeline.mixes_levels:
        rules.leave_misplaced_levels()
    for level in (CpuLevel.CACHE_PARALLEL, CpuLevel.VECTOR_INNER_PARALLEL):
        for loop in rules.loops:
            tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
            rules.add(tile == 0, f"{name} is not tried ({{}} == 0)", tile)
    for loop in rules.loops:
        if loop in rules.nest.score_loops:
            _keep_whole(rules, loop)
        else:
            _shape_vector(rules, loop)
            _shape_cache_reduction(rules, loop)
    for loop in rules.parallel():
        _shape_distribution(rules, loop)
    if rules.nest.vectors:
        _use_registers(rules)
        _use_cache(rules)


def _shape_scalars(rules: CpuRules) -> None:
    """Vary only the tiles of a workgroup, since the pipeline reads no others."""
    rules.add(rules.tiles.peeling == 0, "loop peeling is not tried, as it changes nothing")
    for level in CpuLevel:
        for loop in rules.loops:
            tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
            size = rules.nest.loops[loop].size
            is_read = level in rules.pipeline.levels and not rules.nest.loops[loop].reduces
            sizes = (
                [1 << power for power in range(_MOST_DISTRIBUTED.bit_length())] if is_read else []
            )
            values = [0, *(tile_size for tile_size in sizes if size is None or tile_size < size)]
            message = f"{name} should be one of {', '.join(map(str, values))} ({{}})"
            rules.add(any_of(*(tile == value for value in values)), message, tile)


def _keep_whole(rules: CpuRules, loop: int) -> None:
    """Require a loop to be untiled: code that tiles the scores of an attention computes wrong results."""
    for level in (CpuLevel.VECTOR_REDUCTION, CpuLevel.CACHE_REDUCTION):
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        rules.add(
            tile == 0, f"{name} should be 0, as parts of scores are not added up ({{}})", tile
        )


def _shape_vector(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    tile = rules.tiles.vector_tile(loop)
    tried = [tile_size for tile_size in _VECTOR_TILES if size is None or tile_size < size]
    if size is not None and 0 < size <= _VECTOR_TILES[-1]:
        tried.append(size)
    message = f"the vector tile of loop {loop} should be a power of two or the whole loop ({{}})"
    rules.add(any_of(*(tile == tile_size for tile_size in tried or [1])), message, tile)


def _shape_cache_reduction(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    level = CpuLevel.CACHE_REDUCTION
    tile, vector = rules.tiles.tile(level, loop), rules.tiles.vector_tile(loop)
    name = rules.tiles.name(level, loop)
    tried = [tile_size for tile_size in _CACHE_REDUCTIONS if size is None or tile_size < size]
    message = f"{name} should be 0 or one of {', '.join(map(str, _CACHE_REDUCTIONS))} ({{}})"
    rules.add(any_of(*(tile == tile_size for tile_size in (0, *tried))), message, tile)
    message = f"{name} should be 0 or no smaller than the vector tile ({{}}, {{}})"
    rules.add(any_of(tile == 0, tile >= vector), message, tile, vector)


def _shape_distribution(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    most = min(size or _MOST_DISTRIBUTED, _MOST_DISTRIBUTED)
    tile, vector = rules.tiles.tile(CpuLevel.DISTRIBUTION, loop), rules.tiles.vector_tile(loop)
    name = rules.tiles.name(CpuLevel.DISTRIBUTION, loop)
    message = f"{name} should be from 0 to {most} ({{}})"
    rules.add(all_of(tile >= 0, tile <= most), message, tile)
    doubled = [tile == vector * factor for factor in _VECTOR_TILES]
    whole = [tile == 0] if most == size else []
    message = (
        f"{name} should be the vector tile times a power of two, or the whole loop ({{}}, {{}})"
    )
    rules.add(any_of(*doubled, *whole), message, tile, vector)


def _use_registers(rules: CpuRules) -> None:
    """Require the results of a vector tile to fit into the registers."""
    tiles = [rules.tiles.vector_tile(loop) for loop in rules.parallel()]
    room = rules.cpu.registers * rules.cpu.vector_bytes
    total, bits = number(rules.nest.vectors[0].bits), rules.nest.vectors[0].bits
    for tile in tiles:
        total = total * tile
    shape = "x".join(["{}"] * len(tiles)) or "1"
    message = f"the results of a vector tile, {shape} elements of {bits} bits, should fit into {room} bytes of registers"
    rules.add(total <= BYTE * room, message, *tiles)


def _use_cache(rules: CpuRules) -> None:
    """Require the elements that one vector tile reads to fit into the first-level cache."""
    total = number(rules.nest.widest)
    for loop in rules.loops:
        if loop not in rules.nest.score_loops:
            total = total * rules.tiles.vector_tile(loop)
    message = (
        f"the elements under a vector tile should fit into {_LEVEL_1_CACHE_BYTES} bytes of cache"
    )
    rules.add(total <= BYTE * _LEVEL_1_CACHE_BYTES, message)


_PEELING_OPTION: Final = "enable_loop_peeling"


class CpuSpace(Space):
    """The configurations of a root op in a pipeline.

    Args:
        nest: the loops of the root op.
        cpu: the target CPU.
        pipeline: the pipeline.
        problem: the problem to configure.
        doubt: why no configuration is known to compile; empty if the rules decide.

    Attributes:
        nest: the loops of the root op.
    """

    def __init__(
        self, nest: LoopNest, cpu: Cpu, pipeline: mlir.Attribute, problem: Problem, doubt: str = ""
    ) -> None:
        self.nest = nest
        self._pipeline = pipeline
        name = str(pipeline)

        what = PIPELINES[name]
        is_verified = what.decomposes_convolutions and is_decomposed(nest.operation)
        self._verified = frozenset(LEVELS if is_verified else ())
        rules = CpuRules(nest, cpu, what)
        add_necessary_rules(rules)
        add_sufficient_rules(rules)
        add_stack_rules(rules)
        add_heuristic_rules(rules)
        self.constraints: ConstraintSet = rules.build(problem, name, doubt or unknown(rules))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Return the tiles of all levels; 0 for an untiled loop."""
        levels = read_cpu_configuration(configuration.lowering_config)
        if levels is None:
            text = f"'lowering_config' is {configuration.lowering_config}"
            raise MismatchError(text)
        self._expect_levels(levels)
        strange = [name for name in levels if name not in {level.value for level in CpuLevel}]
        if strange:
            raise MismatchError(f"'{strange[0]}' is not a level of tiling")
        result = {LOOP_PEELING: int(_peels(configuration))}
        for level in CpuLevel:
            sizes = self._sizes(level.value, levels) if level.value in levels else ()
            for loop in range(len(self.nest.loops)):
                result[knob_name(level, loop)] = sizes[loop] if loop < len(sizes) else 0
        return result

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the configuration with `distribution`, and the other levels that tile a loop."""
        context = self._pipeline.context
        loops = range(len(self.nest.loops))
        sizes = {
            level: [assignment.get(knob_name(level, loop), 0) for loop in loops]
            for level in CpuLevel
        }
        used = {
            level: tiling
            for level, tiling in sizes.items()
            if any(tiling) or level is CpuLevel.DISTRIBUTION or level in self._verified
        }
        try:
            lowering = cpu_lowering_config(used, context)
        except mlir.MLIRError as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None
        translation = iree_codegen.TranslationInfoAttr.get(
            self._pipeline, configuration=self._options(assignment), ctx=context
        )
        return iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=context)

    def _expect_levels(self, levels: Mapping[str, Tiling | None]) -> None:
        for level in CpuLevel:
            if level in self._verified and level.value not in levels:
                raise InvalidFormError(f"'{level.value}' is missing")
        outermost = CpuLevel.DISTRIBUTION.value
        if outermost not in levels:
            # The pipeline takes the level from any operation that has it.
            is_needed = PIPELINES[str(self._pipeline)].needs_distribution and self.nest.is_alone
            kind = InvalidFormError if is_needed else MissingEntryError
            raise kind(f"'{outermost}' is missing")

    def _options(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        if not assignment.get(LOOP_PEELING):
            return None
        context = self._pipeline.context
        return mlir.DictAttr.get({_PEELING_OPTION: mlir.UnitAttr.get(context)}, context=context)

    def _sizes(self, name: str, levels: Mapping[str, Tiling | None]) -> tuple[int, ...]:
        tiling = levels[name]
        if tiling is None:
            raise MismatchError(f"'{name}' is not a list of sizes")
        if tiling.scalable:
            raise MismatchError(f"'{name}' has scalable sizes")
        if tiling.interchange:
            if sorted(tiling.interchange) != list(range(len(tiling.sizes))):
                text = f"the interchange of '{name}' does not name each of its loops once"
                is_verified = PIPELINES[str(self._pipeline)].separates
                raise InvalidFormError(text) if is_verified else MismatchError(text)
            raise MismatchError(f"'{name}' has an interchange")
        loops = len(self.nest.loops)
        if any(tiling.sizes[loops:]):
            text = f"'{name}' has {len(tiling.sizes)} sizes, and there are {loops} loops"
            raise MismatchError(text)
        return tiling.sizes


def _peels(configuration: Configuration) -> bool:
    """Return whether loops are peeled."""
    info = configuration.translation_info
    if info is None:
        return False
    options = entries_of(info.configuration)
    for name in options:
        if name != _PEELING_OPTION:
            raise MismatchError(f"'{name}' is set")
    return bool(options)
