"""The spaces of Tuninglink for CPUs: the target's instructions, which configurations are worth trying, and their form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from tuninglink.solver import AssignmentError, Grade, all_of, any_of
from tuninglink.spaces.cpu.cpu_rules import (
    BYTE,
    LEVELS,
    PIPELINES,
    PROVIDER,
    SCALABLE,
    Cpu,
    CpuRules,
    Masking,
    add_necessary_rules,
    add_stack_rules,
    add_sufficient_rules,
    is_decomposed,
    knob_name,
    product,
    read_cpu,
    shape_of,
    unknown,
)
from tuninglink.spaces.cpu.nest import PACKED_LOOPS, read_nest
from tuninglink.spaces.model import (
    Configuration,
    MismatchError,
    MissingEntryError,
    Provider,
    Space,
    UncompilableError,
)

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.nest import LoopNest
    from tuninglink.spaces.model import ConstraintSet, Problem, Workload


class CpuProvider(Provider):
    """Derives the compiler's rejections on llvm-cpu from the tiles, the loops and the target's vectors."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(PIPELINES)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        problem = workload.problem
        cpu = read_cpu(workload)
        if problem.kind is OpKind.ATTENTION:
            # The ops that replace it are not configured, and are masked on all CPUs.
            cpu = replace(cpu, masking=Masking.AS_NEEDED)
        nest = read_nest(workload)
        doubt = missing_instructions(workload, cpu)
        # After it has read a spec's configuration, the compiler rebuilds convolutions and poolings without a batch loop,
        # which result from a batch of one image (`names.ADD_BATCH_LOOP`). An operation with a lowering config has
        # already been rebuilt.
        root = workload.root
        if root.name == names.GENERIC and names.LOWERING_CONFIG not in root.attributes:
            roles = {dimension.role for dimension in problem.dimensions}
            is_pooling = not roles & {Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL, Role.DEPTH}
            batches = len(problem.loops(Role.BATCH))
            is_lost = problem.kind is OpKind.CONVOLUTION and batches == int(is_pooling)
            nest = replace(nest, is_lost=is_lost)
        attribute = mlir.Attribute.parse(pipeline, root.context)
        return [CpuSpace(nest, cpu, attribute, problem, doubt)]


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
    """Return why code for a dispatch may fail to be generated or linked; empty if no reason is known."""
    # The kinds of instructions that the dispatch needs.
    uses: set[str] = set()
    operations: list[mlir.Operation] = []
    visit(workload.function, operations.append)
    for operation in operations:
        elements = [element_type(result.type) for result in operation.results]
        types, kind = {*map(str, elements)}, StructuredOp(operation).kind
        is_computing = operation.name.startswith(_COMPUTING) and bool(operation.operands)
        is_reduction = operation.name in _REDUCTIONS or kind is OpKind.REDUCTION
        needs = {
            "floats": any(isinstance(element, mlir.FloatType) for element in elements),
            "brain results": is_computing and _BRAIN in types,
            "half maxima": operation.name in _MAXIMA and _HALF in types,
            "narrow sums": kind in _PRODUCTS and _BYTES in types,
            "half reductions": is_reduction and _HALF in types,
            "products": is_reduction
            and any(
                each.name == "arith.mulf" and block.arguments[-1] in [*each.operation.operands]
                for region in operation.regions
                for block in region.blocks
                for each in block.operations
            ),
        }
        uses.update(need for need, is_needed in needs.items() if is_needed)
    # What the CPUs lack, determined by compiling for them.
    has = cpu.features
    is_riscv = cpu.architecture.startswith("riscv")
    is_vectorized = any(feature.startswith(_VECTORS) for feature in has)
    if cpu.architecture.startswith("x86") and cpu.links_nothing and "half maxima" in uses:
        return "a maximum of f16 elements becomes a call of a function that is not linked"
    if cpu.architecture.startswith("aarch64") and "+i8mm" in has and "narrow sums" in uses:
        return "with the feature 'i8mm', products that are added up as i8 become 'smmla', which adds up i32"
    if is_riscv and cpu.links_nothing:
        call = "become calls of functions that are not linked"
        if "+m" not in has:
            return f"without the feature 'm', multiplications {call}"
        if "floats" in uses and not has & {"+f", "+d"}:
            return f"without the feature 'f', operations on floats {call}"
        if "brain results" in uses and "+zfbfmin" not in has:
            return f"without the feature 'zfbfmin', truncations to bf16 {call}"
    if is_riscv and is_vectorized and "products" in uses:
        return "LLVM lowers no masked product of the elements of a vector"
    if is_riscv and is_vectorized and "half reductions" in uses and "+zvfh" not in has:
        return "without the feature 'zvfh', LLVM lowers no masked reduction of f16 elements"
    return ""


# --- The space of configurations of a root op for a CPU ------------------------------------------

_MOST_DISTRIBUTED: Final = 1024
"""The largest tile of a workgroup that is tried."""

_VECTOR_TILES: Final = tuple(1 << power for power in range(9))
"""The sizes of vector tiles that are tried, besides the whole loop."""

_MORE_TILES: Final = (("aarch64", (3, 6, 12, 24)), ("riscv", (6, 7, 14)))
"""Further vector tiles of parallel loops, by the beginning of the architecture: with 32 registers, the largest products
that leave some for the operands have 6x16 or 8x12 elements of f32 on Neon. On RISC-V, the compiler takes 7 rows of four
registers, and 14 rows of two fill as many.
"""

_WHOLE: Final = 12
"""A multiple of this is whole vectors of Neon, three or more of f32. Others are tiles of rows."""

_CACHE_REDUCTIONS: Final = (32, 64, 128, 256)
"""The reduction steps that are tried between the tile of a workgroup and the vector tile, besides the whole reduction.
The rows of the right-hand side in one step lie on few pages, which other vector tiles read again.
"""

_LEVEL_1_CACHE_BYTES: Final = 32 * 1024
"""The size of the first-level data cache on the smaller of today's CPUs."""


def add_heuristic_rules(rules: CpuRules) -> None:
    """Add the rules for proposed and enumerated configurations."""
    rules.grade = Grade.HEURISTIC
    nest = rules.nest
    if rules.is_data_tiled:
        _shape_packed(rules)
        return
    if not rules.pipeline.vectorizes:
        # Vary only the tiles of a workgroup, since the pipeline reads no others.
        rules.add(rules.peeling == 0, "loop peeling is not tried, as it changes nothing")
        for level in CpuLevel:
            for loop in rules.loops:
                is_read = level in rules.pipeline.levels and not nest.loops[loop].reduces
                powers = [1 << each for each in range(_MOST_DISTRIBUTED.bit_length() * is_read)]
                values = [0, *_below(nest, loop, powers)]
                tile, name = rules.named_tile(level, loop)
                message = f"{name} should be one of {', '.join(map(str, values))} ({{}})"
                rules.add(any_of(*(tile == value for value in values)), message, tile)
        return
    if not rules.checks_vectors or rules.pipeline.mixes_levels:
        for level, loop in rules.misplaced(are_read=False):
            rules.expect_untiled(level, loop)
    for level in (CpuLevel.CACHE_PARALLEL, CpuLevel.VECTOR_INNER_PARALLEL):
        for loop in rules.loops:
            tile, name = rules.named_tile(level, loop)
            rules.add(tile == 0, f"{name} is not tried ({{}} == 0)", tile)
    for loop in rules.loops:
        if loop in nest.score_loops:
            # Code that tiles the scores of an attention computes wrong results.
            for level in (CpuLevel.VECTOR_REDUCTION, CpuLevel.CACHE_REDUCTION):
                tile, name = rules.named_tile(level, loop)
                message = f"{name} should be 0, as parts of scores are not added up ({{}})"
                rules.add(tile == 0, message, tile)
        else:
            _shape_loop(rules, loop)
    for loop in rules.parallel:
        size = nest.loops[loop].size
        most = min(size or _MOST_DISTRIBUTED, _MOST_DISTRIBUTED)
        tile, name = rules.named_tile(CpuLevel.DISTRIBUTION, loop)
        vector = rules.vector_tile(loop)
        message = f"{name} should be from 0 to {most} ({{}})"
        rules.add(all_of(tile >= 0, tile <= most), message, tile)
        tried = [vector * factor for factor in _VECTOR_TILES] + ([0] if most == size else [])
        rules.add(
            any_of(*(tile == size for size in tried)),
            f"{name} should be the vector tile times a power of two, or the whole loop ({{}}, {{}})",
            *(tile, vector),
        )
    if nest.vectors:
        # The results of a vector tile fit into the registers.
        tiles = [rules.vector_tile(loop) for loop in rules.parallel]
        room, bits = rules.cpu.registers * rules.cpu.vector_bytes, nest.vectors[0].bits
        message = (
            f"the results of a vector tile, {shape_of(tiles)} elements of {bits} bits, "
            f"should fit into {room} bytes of registers"
        )
        rules.add(product(bits, tiles) <= BYTE * room, message, *tiles)
        # The elements that it reads fit into the first-level cache.
        read = [rules.vector_tile(loop) for loop in rules.loops if loop not in nest.score_loops]
        room = _LEVEL_1_CACHE_BYTES
        message = f"the elements under a vector tile should fit into {room} bytes of cache"
        rules.add(product(nest.widest, read) <= BYTE * room, message)


def _shape_packed(rules: CpuRules) -> None:
    """Restrict workgroup tiles to the divisors of a loop, as the compiler does."""
    outer = len(rules.nest.loops) - PACKED_LOOPS[rules.nest.operation]
    for loop in rules.parallel:
        size = rules.nest.loops[loop].size
        if size is not None and loop < outer:
            tile, name = rules.named_tile(CpuLevel.DISTRIBUTION, loop)
            divisors = [each for each in range(1, size + 1) if size % each == 0]
            message = f"{name} should divide the loop of {size} iterations ({{}})"
            rules.add(any_of(*(tile == divisor for divisor in divisors)), message, tile)


def _below(nest: LoopNest, loop: int, sizes: Sequence[int]) -> list[int]:
    """Return the sizes that are less than that of a loop."""
    whole = nest.loops[loop].size
    return [size for size in sizes if whole is None or size < whole]


def _shape_loop(rules: CpuRules, loop: int) -> None:
    """Restrict the vector tile of a loop, and the step of a reduction around it."""
    nest, size = rules.nest, rules.nest.loops[loop].size
    vector = rules.vector_tile(loop)
    architecture = rules.cpu.architecture
    more = [
        tile
        for name, tiles in _MORE_TILES
        for tile in tiles
        if architecture.startswith(name) and not nest.loops[loop].reduces
        if loop != nest.innermost or tile % _WHOLE == 0
    ]
    tried = _below(nest, loop, (*_VECTOR_TILES, *more))
    if size is not None and 0 < size <= _VECTOR_TILES[-1]:
        tried.append(size)
    form = ", ".join(["a power of two", *map(str, more)])
    message = f"the vector tile of loop {loop} should be {form} or the whole loop ({{}})"
    rules.add(any_of(*(vector == each for each in tried or [1])), message, vector)
    tile, name = rules.named_tile(CpuLevel.CACHE_REDUCTION, loop)
    tried = [0, *_below(nest, loop, _CACHE_REDUCTIONS)]
    message = f"{name} should be 0 or one of {', '.join(map(str, _CACHE_REDUCTIONS))} ({{}})"
    rules.add(any_of(*(tile == size for size in tried)), message, tile)
    message = f"{name} should be 0 or no smaller than the vector tile ({{}}, {{}})"
    rules.add(any_of(tile == 0, tile >= vector), message, tile, vector)


class CpuSpace(Space):
    """The configurations of a root op in a pipeline; the doubt is why none is known to compile, if the rules do not decide."""

    def __init__(
        self, nest: LoopNest, cpu: Cpu, pipeline: mlir.Attribute, problem: Problem, doubt: str = ""
    ) -> None:
        self.nest = nest
        self._cpu = cpu
        self._pipeline = pipeline
        self._properties = PIPELINES[str(pipeline)]
        decomposes = self._properties.decomposes_convolutions and is_decomposed(nest.operation)
        self._verified = frozenset(LEVELS if decomposes else ())
        rules = CpuRules(nest, cpu, self._properties)
        self._scalable_loop = rules.scalable_loop
        self._options = rules.options
        add_necessary_rules(rules)
        add_sufficient_rules(rules)
        add_stack_rules(rules)
        add_heuristic_rules(rules)
        self.constraints: ConstraintSet = rules.builder.build(
            problem, str(pipeline), PROVIDER, unknown=doubt or unknown(rules)
        )

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        levels = read_cpu_configuration(configuration.lowering_config)
        if levels is None:
            raise MismatchError(f"'lowering_config' is {configuration.lowering_config}")
        # The pipeline takes the outermost level from any operation that has it.
        needs_distribution = self._properties.needs_distribution and self.nest.is_alone
        for level in CpuLevel:
            is_missing = level.value not in levels
            if is_missing and level in self._verified:
                raise UncompilableError(f"'{level.value}' is missing")
            if is_missing and level is CpuLevel.DISTRIBUTION:
                kind = UncompilableError if needs_distribution else MissingEntryError
                raise kind(f"'{level.value}' is missing")
        strange = [name for name in levels if name not in {level.value for level in CpuLevel}]
        if strange:
            raise MismatchError(f"'{strange[0]}' is not a level of tiling")
        info = configuration.translation_info
        options = entries_of(info.configuration) if info is not None else {}
        for name in options:
            if name not in self._options:
                raise MismatchError(f"'{name}' is set")
        result = {name: int(name in options) for name in self._options}
        if self._scalable_loop is not None:
            tiling = levels.get(CpuLevel.VECTOR_COMMON_PARALLEL.value)
            result[f"{SCALABLE}[{self._scalable_loop}]"] = int(bool(tiling and tiling.scalable))
        for level in CpuLevel:
            sizes = self._sizes(level.value, levels) if level.value in levels else ()
            for loop in range(len(self.nest.loops)):
                result[knob_name(level, loop)] = sizes[loop] if loop < len(sizes) else 0
        return result

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
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
        loop = self._scalable_loop
        is_scalable = bool(assignment.get(f"{SCALABLE}[{loop}]"))
        scalable = {(CpuLevel.VECTOR_COMMON_PARALLEL, loop)} if is_scalable else ()
        try:
            lowering = cpu_lowering_config(used, context, scalable)
        except mlir.MLIRError as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None
        unit = mlir.UnitAttr.get(context)
        chosen: dict[str, mlir.Attribute] = {
            name: unit for name in self._options if assignment.get(name)
        }
        options = mlir.DictAttr.get(chosen, context=context) if chosen else None
        translation = iree_codegen.TranslationInfoAttr.get(
            self._pipeline, configuration=options, ctx=context
        )
        return iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=context)

    def _sizes(self, name: str, levels: Mapping[str, Tiling | None]) -> tuple[int, ...]:
        tiling = levels[name]
        if tiling is None:
            raise MismatchError(f"'{name}' is not a list of sizes")
        is_vector = name == CpuLevel.VECTOR_COMMON_PARALLEL.value
        if tiling.scalable - {self._scalable_loop if is_vector else None}:
            is_other = self._cpu.has_scalable or self._cpu.architecture.startswith("riscv")
            lack = "" if is_other else ", and the target has no scalable vectors"
            raise MismatchError(f"'{name}' has scalable sizes{lack}")
        if tiling.interchange:
            if sorted(tiling.interchange) != list(range(len(tiling.sizes))):
                text = f"the interchange of '{name}' does not name each of its loops once"
                raise UncompilableError(text) if self._properties.separates else MismatchError(text)
            raise MismatchError(f"'{name}' has an interchange")
        loops = len(self.nest.loops)
        if any(tiling.sizes[loops:]):
            text = f"'{name}' has {len(tiling.sizes)} sizes, and there are {loops} loops"
            raise MismatchError(text)
        return tiling.sizes
