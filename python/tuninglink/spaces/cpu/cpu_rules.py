"""The rules of the spaces for CPUs: what compiles, what fits on the stack, and the vectors that tiles make.

The properties of the pipelines were observed by compiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import LARGEST_FRAME_BYTES, WORKER_STACK_BYTES, CpuLevel
from tuninglink.mlir import entries_of, names, parameters
from tuninglink.solver import (
    Expression,
    Grade,
    UndecidedError,
    all_of,
    any_of,
    negation,
    number,
    select,
)
from tuninglink.spaces.cpu.nest import PACKED_LOOPS, WIDENED, LoopNest, Neighbor
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob, OneOfKnob

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload


@dataclass(frozen=True)
class CpuPipeline:
    """The properties of a pipeline."""

    levels: tuple[CpuLevel, ...]
    unused: tuple[CpuLevel, ...] = ()
    mixes_levels: bool = False
    natural: tuple[CpuLevel, ...] = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL)
    needs_distribution: bool = False
    separates: bool = False
    decomposes_convolutions: bool = False
    decomposes_attention: bool = False
    takes_tensors: bool = True
    checks_vectors: bool = False
    vectorizes: bool = True
    moves: bool = False
    follows_layout: bool = False


_PARALLEL: Final = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL)
_ONCE: Final = (*_PARALLEL, CpuLevel.VECTOR_REDUCTION)
_TWICE: Final = (
    CpuLevel.DISTRIBUTION,
    CpuLevel.CACHE_PARALLEL,
    CpuLevel.CACHE_REDUCTION,
    CpuLevel.VECTOR_COMMON_PARALLEL,
    CpuLevel.VECTOR_REDUCTION,
)

_UNUSED: Final = (CpuLevel.CACHE_PARALLEL, CpuLevel.CACHE_REDUCTION, CpuLevel.VECTOR_INNER_PARALLEL)
"""The levels that `addConvTileAndDecomposeExpertPassPipeline` and `addCPULinalgExtTileAndVectorizePipeline` lack."""

PIPELINES: Final[dict[str, CpuPipeline]] = {
    "#iree_cpu.pipeline<DoubleTilingExpert>": CpuPipeline(
        _TWICE,
        natural=tuple(level for level in _TWICE if level is not CpuLevel.CACHE_PARALLEL),
        needs_distribution=True,
        separates=True,
        checks_vectors=True,
    ),
    "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>": CpuPipeline(
        _ONCE, _UNUSED, mixes_levels=True, decomposes_convolutions=True, checks_vectors=True
    ),
    "#iree_cpu.pipeline<LinalgExtTileAndVectorize>": CpuPipeline(
        _ONCE, _UNUSED, mixes_levels=True, decomposes_attention=True, checks_vectors=True
    ),
    "#iree_cpu.pipeline<BufferOpsTileAndVectorize>": CpuPipeline(
        _PARALLEL, takes_tensors=False, checks_vectors=True
    ),
    "#iree_cpu.pipeline<Mmt4dTilingExpert>": CpuPipeline(_ONCE, follows_layout=True),
    "#iree_cpu.pipeline<DataTiling>": CpuPipeline(_PARALLEL, moves=True),
    "#iree_cpu.pipeline<Default>": CpuPipeline(
        _PARALLEL[:1], natural=(CpuLevel.DISTRIBUTION,), vectorizes=False
    ),
}
"""The pipelines, as MLIR writes them."""


PROVIDER: Final = "tuninglink's CPU provider"
"""The provider of the sets that this module builds."""

BYTE: Final = 8

_PROVENANCE: Final = {
    Grade.NECESSARY: "the compiler refuses it otherwise",
    Grade.SUFFICIENT: "the compiler may refuse it otherwise",
    Grade.UNSAFE: "the code may crash otherwise",
    Grade.HEURISTIC: "it is not worth trying otherwise",
}


LOOP_PEELING: Final = "enable_loop_peeling"
"""The knob that peels the last iteration of a loop that its tile does not divide."""

DECOMPOSITION: Final = "enable_decomposition"
"""The knob that turns a pack or an unpack into a padding and a transposition before it is vectorized, which is the
compiler's choice on AArch64.
"""

SCALABLE: Final = "scalable"
"""The knob that makes a vector tile a multiple of the vector scale, which is known at run time."""

_VECTOR_LEVELS: Final = {False: CpuLevel.VECTOR_COMMON_PARALLEL, True: CpuLevel.VECTOR_REDUCTION}
"""The level of vector tiles, by whether a loop is a reduction."""

_REDUCTION: Final = (CpuLevel.CACHE_REDUCTION, CpuLevel.VECTOR_REDUCTION)
_OUTER: Final = (CpuLevel.DISTRIBUTION, CpuLevel.CACHE_PARALLEL)

_DYNAMIC: Final = 1 << 40
"""The assumed size of a dynamic loop before tiling, larger than that of any tiled loop."""


def knob_name(level: CpuLevel, loop: int) -> str:
    """Return the name of the knob for a tile."""
    return f"{level.value}[{loop}]"


@dataclass(frozen=True)
class TiledLoop:
    """The part of a loop that remains after tiling."""

    size: Expression
    is_known: Expression
    bound: Expression


class CpuRules:
    """Collects the rules of a space about the tiles of all loops at all levels, and the sizes that follow from them."""

    def __init__(self, nest: LoopNest, cpu: Cpu, pipeline: CpuPipeline) -> None:
        self.nest = nest
        self.cpu = cpu
        self.pipeline = pipeline
        self.grade = Grade.NECESSARY
        self.loops = range(len(nest.loops))
        self.parallel = [loop for loop in self.loops if not nest.loops[loop].reduces]
        is_relayout = nest.operation in (names.PACK, names.UNPACK)
        self.is_data_tiled = pipeline.follows_layout and nest.operation in PACKED_LOOPS
        self.checks_vectors = pipeline.checks_vectors or (pipeline.moves and is_relayout)
        self.builder = builder = ConstraintSetBuilder()
        self.tiles = {
            (level, loop): builder.knob(IntegerKnob(knob_name(level, loop)))
            for level in CpuLevel
            for loop in self.loops
        }
        self.peeling = builder.knob(OneOfKnob(LOOP_PEELING, ("off", "on")))
        self.options = [LOOP_PEELING]
        if pipeline.moves and is_relayout:
            self.options.append(DECOMPOSITION)
            builder.knob(OneOfKnob(DECOMPOSITION, ("off", "on")))
        # The loop whose vector tile may be scalable.
        self.scalable_loop: int | None = None
        self.scalable: Expression = number(0)
        rows_and_columns = _WINDOWS.get(nest.operation, ())
        # The other pipelines leave masks of contractions whose scalable dimension is not the last one.
        is_masked = nest.is_contraction and not pipeline.separates
        can_scale = cpu.has_scalable and self.checks_vectors and not is_masked
        if can_scale and nest.scalable_loop not in rows_and_columns:
            self.scalable_loop = nest.scalable_loop
        if self.scalable_loop is not None:
            name = f"{SCALABLE}[{self.scalable_loop}]"
            self.scalable = builder.knob(OneOfKnob(name, ("off", "on")))
        # The parts of loops that remain after the levels that apply to them.
        self.parts = [
            self.part(
                loop,
                [level for level in pipeline.levels if (level in _REDUCTION) == root_loop.reduces],
            )
            for loop, root_loop in enumerate(nest.loops)
        ]

    def named_tile(self, level: CpuLevel, loop: int) -> tuple[Expression, str]:
        return self.tiles[level, loop], knob_name(level, loop)

    def vector_tile(self, loop: int) -> Expression:
        return self.tiles[_VECTOR_LEVELS[self.nest.loops[loop].reduces], loop]

    def part(self, loop: int, levels: Sequence[CpuLevel]) -> TiledLoop:
        extent = self.nest.loops[loop].size
        size = number(_DYNAMIC if extent is None else extent)
        bound = size
        is_known: Expression = number(extent is not None) != 0
        for level in levels:
            tile = self.tiles[level, loop]
            # A tile of one iteration always has exactly one.
            is_known = any_of(
                tile == 1, all_of(is_known, any_of(tile <= 0, tile >= size, size % tile == 0))
            )
            bound = select(tile > bound, tile, bound)
            size = select(all_of(tile > 0, tile < size), tile, size)
        if loop == self.scalable_loop and CpuLevel.VECTOR_COMMON_PARALLEL in levels:
            is_known = all_of(is_known, self.scalable == 0)
        return TiledLoop(size, is_known, bound)

    def misplaced(self, *, are_read: bool = True) -> Iterator[tuple[CpuLevel, int]]:
        """Yield the pairs of a level and a loop that the level does not apply to, for levels that the pipeline reads."""
        for level in CpuLevel:
            for loop in self.loops if not (are_read and level in self.pipeline.unused) else ():
                if (level in _REDUCTION) != self.nest.loops[loop].reduces:
                    yield level, loop

    def add(self, condition: Expression | bool, message: str, *values: Expression | int) -> None:  # noqa: FBT001
        self.builder.require(
            condition, message, *values, provenance=_PROVENANCE[self.grade], grade=self.grade
        )

    def refuse(self, message: str) -> None:
        self.add(False, message)  # noqa: FBT003 - that is the rule

    def expect_untiled(
        self, level: CpuLevel, loop: int, condition: Expression | None = None
    ) -> None:
        tile, name = self.named_tile(level, loop)
        other = "a reduction" if self.nest.loops[loop].reduces else "parallel"
        message = f"{name} must be 0, as loop {loop} is {other} ({{}} == 0)"
        self.add(tile == 0 if condition is None else condition, message, tile)

    def limit_vector(
        self,
        what: str,
        sizes: Sequence[Expression],
        bits: int,
        when: Sequence[Expression] = (),
        room: int | None = None,
    ) -> None:
        """Require a vector to be smaller than the compiler's limit, as `LLVMCPUVerifyVectorSizeLegalityPass` does.

        A vector that may be kept in memory also fits into a room of bytes.
        """
        if not sizes:
            return
        limit = _NATIVE_VECTORS * self.cpu.vector_bytes
        limit = limit if room is None else min(limit, room + 1)
        # The compiler rounds up to whole bytes before it compares.
        fits = product(bits, sizes) <= BYTE * (limit - 1)
        message = (
            f"{what} {shape_of(sizes)} elements of {bits} bits, and must be smaller than {{}} bytes"
        )
        condition = any_of(negation(all_of(*when)), fits) if when else fits
        self.add(condition, message, *sizes, limit)


def product(factor: int, sizes: Iterable[Expression]) -> Expression:
    """Return the product of a number and sizes."""
    total = number(factor)
    for size in sizes:
        total = total * size
    return total


def shape_of(sizes: Sequence[Expression]) -> str:
    """Return the placeholders of a message for sizes."""
    return "x".join(["{}"] * len(sizes)) or "1"


# --- The target CPU ------------------------------------------------------------------------------

BACKEND: Final = "llvm-cpu"

_EMBEDDED: Final = "embedded-elf"
"""The prefix of the formats whose code is linked without a library."""

_NATIVE_VECTORS: Final = 512
"""The number of native vectors at and above which the compiler rejects a vector
(`LLVMCPUVerifyVectorSizeLegalityPass`).
"""

_STACK_BYTES: Final = 32 * 1024
"""The compiler's limit for the memory of a function on the stack if the target specifies none
(`--iree-llvmcpu-stack-allocation-limit`).
"""

_VECTOR_BYTES: Final = 8
"""The native vector size that the compiler assumes for its limit if the target specifies none."""


class Masking(Enum):
    """The conditions under which the compiler creates vectors of the configured sizes and masks excess elements.

    - `NEVER`: an operation with a tile of unknown size is not vectorized.
    - `AS_NEEDED`: only where the size of a tile is unknown; otherwise, vectors have the sizes of the tiles.
    - `ALWAYS`: even if the sizes of all tiles are known.
    """

    NEVER = "never"
    AS_NEEDED = "as needed"
    ALWAYS = "always"


@dataclass(frozen=True)
class Cpu:
    """A CPU."""

    vector_bytes: int
    registers: int
    masking: Masking
    architecture: str
    features: frozenset[str]
    links_nothing: bool
    stack_bytes: int

    @property
    def has_scalable(self) -> bool:
        """Whether the compiler vectorizes with scalable vectors: on AArch64 only, and not with SME alone."""
        return self.architecture.startswith("aarch64") and not _SVE.isdisjoint(self.features)

    @property
    def splits_half(self) -> bool:
        """Whether the CPU has vectors, and code for it converts those of f16 element by element."""
        is_vectorized = any(feature.startswith(_RISCV_VECTORS) for feature in self.features)
        is_riscv = self.architecture.startswith("riscv")
        return is_riscv and is_vectorized and self.features.isdisjoint({"+zvfh", "+zvfhmin"})


_SVE: Final = frozenset({"+sve", "+sve2"})
_RISCV_VECTORS: Final = ("+v", "+zve")


def read_cpu(workload: Workload) -> Cpu:
    """Return the CPU that a dispatch is compiled for."""
    result = parameters(workload.target) if workload.target is not None else None
    if result is None or len(result) == 0 or _string(result[0]) != BACKEND:
        raise UndecidedError("the target is unknown, or not a CPU")
    last = result[len(result) - 1]
    entries = entries_of(last) if isinstance(last, mlir.DictAttr) else {}
    size = entries.get("native_vector_size")
    native = size.value if isinstance(size, mlir.IntegerAttr) and size.value > 0 else _VECTOR_BYTES
    stack = entries.get("max_stack_allocation_size")
    architecture = _string(entries.get("target_triple")).partition("-")[0]
    features = _string(entries.get("cpu_features")).split(",")
    # When the compiler masks; see `LLVMCPULowerExecutableTargetPass`.
    masking = Masking.NEVER
    if architecture.startswith(("x86", "i686", "riscv")):
        masking = Masking.AS_NEEDED
    elif architecture.startswith("aarch64") and any(
        feature.startswith(("+sve", "+sme")) for feature in features
    ):
        masking = Masking.ALWAYS
    # The native vectors of RISC-V are groups of two registers (`getNativeVectorSizeInBytes`).
    has_32 = architecture.startswith("aarch64") or "+avx512f" in features
    return Cpu(
        vector_bytes=int(native),
        registers=32 if has_32 else 16,
        masking=masking,
        architecture=architecture,
        features=frozenset(features),
        links_nothing=_string(result[1]).startswith(_EMBEDDED),
        stack_bytes=stack.value if isinstance(stack, mlir.IntegerAttr) else _STACK_BYTES,
    )


def _string(attribute: mlir.Attribute | None) -> str:
    return attribute.value if isinstance(attribute, mlir.StringAttr) else ""


# --- Necessary and sufficient rules for configurations to compile, and the sizes of vectors ------


LEVELS: Final = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL, CpuLevel.VECTOR_REDUCTION)
"""The levels that the compiler's verifier requires and checks."""

_CHANNELS_LAST: Final = (1, 2, 4, 5)
_WINDOWS: Final = {
    "linalg.conv_2d_nhwc_hwcf": _CHANNELS_LAST,
    "linalg.depthwise_conv_2d_nhwc_hwc": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_sum": _CHANNELS_LAST,
    "linalg.conv_2d_nchw_fchw": (2, 3, 5, 6),
    "linalg.pooling_nchw_max": (2, 3, 4, 5),
    "linalg.pooling_nchw_sum": (2, 3, 4, 5),
}
"""The operations that the verifier supports, with their loops over rows and columns of the output and of the filter. It
rejects other named ones, and does not check `linalg.generic`.
"""

_NAMES: Final = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")
"""Prefixes of the names of convolutions."""

_UNKNOWN: Final = -1


def is_decomposed(operation: str) -> bool:
    return operation.startswith(_NAMES)


def _add_decomposition(rules: CpuRules) -> None:
    """Require tiling to leave a single row, or a single column, of output and filter."""
    # `verifyConvTileAndDecomposeExpertConfig` rejects other configurations of named ops. No generic one is vectorized then.
    operation = rules.nest.operation
    if operation not in _WINDOWS and is_decomposed(operation):
        rules.refuse(f"this pipeline does not support '{operation}'")
    window = _WINDOWS.get(operation, rules.nest.window)
    if len(window) != len(_CHANNELS_LAST):
        return
    rules.grade = Grade.NECESSARY if operation in _WINDOWS else Grade.HEURISTIC
    parts: list[Expression] = []
    for loop in window:
        # The part of the loop that the levels leave.
        size = rules.nest.loops[loop].size
        left = number(_UNKNOWN if size is None else size)
        for level in LEVELS:
            tile = rules.tiles[level, loop]
            divided = select(left % tile == 0, tile, number(_UNKNOWN))
            kept = any_of(left == _UNKNOWN, tile == 0)
            left = select(tile == 1, 1, select(kept, left, divided))
        parts.append(left)
    single = [all_of(image == 1, own == 1) for image, own in zip(parts[:2], parts[2:], strict=True)]
    message = (
        "tiling must leave a single row or column of both output and filter; it leaves {}x{} and {}x{}, "
        f"where {_UNKNOWN} is an unknown number"
    )
    rules.add(any_of(*single), message, *parts)


def _add_layout_rules(rules: CpuRules) -> None:
    """Add the rules of data-tiled products: a workgroup computes whole packed tiles, and a vector holds one."""
    outer = len(rules.nest.loops) - PACKED_LOOPS[rules.nest.operation]
    for loop in rules.loops:
        reduces = rules.nest.loops[loop].reduces
        for level in CpuLevel:
            tile, name = rules.named_tile(level, loop)
            if level is _VECTOR_LEVELS[reduces]:
                packed = 1 if loop < outer else rules.nest.loops[loop].size
                message = f"{name} should be {packed}, as the layout has it ({{}} == {packed})"
                rules.add(packed is not None and tile == packed, message, tile)
            elif level is CpuLevel.DISTRIBUTION and loop < outer and not reduces:
                rules.add(tile >= 0, f"{name} must not be negative ({{}} >= 0)", tile)
            else:
                rules.add(tile == 0, f"{name} should be 0, as the layout has it ({{}} == 0)", tile)


LOST: Final = "the compiler gives this operation a batch loop after it has read the configuration, and loses it"


def add_necessary_rules(rules: CpuRules) -> None:
    """Add the rules that every configuration that compiles satisfies."""
    rules.grade = Grade.NECESSARY
    nest, pipeline = rules.nest, rules.pipeline
    for loop in rules.loops:
        # Tiles are not negative, except for loops of one iteration, which are not tiled.
        size = nest.loops[loop].size
        for level in pipeline.natural if size is None or size > 1 else ():
            tile, name = rules.named_tile(level, loop)
            others = [rules.tiles[other, loop] for other in CpuLevel if other is not level]
            condition = any_of(tile >= 0, *(other == 1 for other in others))
            rules.add(condition, f"{name} must not be negative ({{}} >= 0)", tile)
    # Parallel levels tile parallel loops, and reduction levels tile reductions:
    # `verifyMultiTilingExpertPassPipelineConfig` rejects other configurations of a root op.
    for level, loop in rules.misplaced() if pipeline.separates else ():
        rules.expect_untiled(level, loop)
    if nest.is_attention and not pipeline.decomposes_attention:
        rules.refuse("this pipeline does not lower attention")
    if nest.is_on_tensors and not pipeline.takes_tensors:
        rules.refuse("this pipeline is for operations on buffers, and this one is on tensors")
    if nest.is_lost and pipeline.needs_distribution:
        rules.refuse(LOST)  # the pipeline cannot be built without a configuration
    if rules.checks_vectors:
        # The conditions under which the operation is certainly vectorized: the compiler knows the size of every loop,
        # which is that of its part, or the configured one if vectors are masked. A masked vector is not smaller than the
        # part that it covers. The effect of the innermost level is unknown, as is that of a level that tiles loops of
        # the other kind.
        innermost = CpuLevel.VECTOR_INNER_PARALLEL
        unused = () if innermost in pipeline.unused else rules.loops
        when = [rules.tiles[innermost, loop] == 0 for loop in unused]
        when += [rules.tiles[level, loop] == 0 for level, loop in rules.misplaced()]
        when.append(rules.scalable == 0)
        for loop, part in enumerate(rules.parts):
            is_masked = rules.cpu.masking is not Masking.NEVER
            configured = any_of(part.is_known, rules.vector_tile(loop) > 0)
            when.append(configured if is_masked else part.is_known)
        for vector in nest.vectors:
            sizes = [rules.parts[loop].size for loop in vector.loops]
            rules.limit_vector(f"the vector of {vector.what} has", sizes, vector.bits, when)
    if pipeline.decomposes_convolutions:
        _add_decomposition(rules)


def add_sufficient_rules(rules: CpuRules) -> None:
    """Add the rules under which configurations compile, provided that `unknown` returns no reason."""
    rules.grade = Grade.SUFFICIENT
    if rules.is_data_tiled:
        _add_layout_rules(rules)
    if not rules.checks_vectors:
        return
    for loop in rules.loops:
        for level in CpuLevel:
            tile, name = rules.named_tile(level, loop)
            rules.add(tile >= 0, f"{name} must not be negative ({{}} >= 0)", tile)
    # Levels tile loops of their kind. In a pipeline that mixes them, reductions are not distributed to workgroups, and a
    # reduction level may divide the part of a parallel loop.
    mixes = rules.pipeline.mixes_levels
    for level, loop in rules.misplaced():
        tile, size = rules.tiles[level, loop], rules.parts[loop].size
        if mixes and level is CpuLevel.VECTOR_REDUCTION:
            rules.expect_untiled(level, loop, any_of(tile <= 0, size % tile == 0))
        elif not mixes or level is not CpuLevel.DISTRIBUTION:
            rules.expect_untiled(level, loop)
    # All vectors of the root op stay below the limit, for every bound that the compiler may derive.
    has_known_parts = all_of(*(part.is_known for part in rules.parts))
    is_never = rules.cpu.masking is Masking.NEVER
    # A peeled part has the size of the tile, even if the loop has fewer iterations.
    when = [negation(has_known_parts), *([rules.peeling != 0] if is_never else [])]
    for vector in rules.nest.parts:
        what = f"the vectors of {vector.what} may have"
        masked = [_masked_size(rules, loop) for loop in vector.loops]
        if rules.cpu.masking is Masking.ALWAYS:
            rules.limit_vector(what, masked, vector.bits)
            continue
        sizes = [rules.parts[loop].size for loop in vector.loops]
        rules.limit_vector(what, sizes, vector.bits, [has_known_parts])
        rules.limit_vector(what, masked, vector.bits, when)
    for neighbor, sizes, when in _fused_vectors(rules):
        what = f"the vectors of {neighbor.what} may have"
        rules.limit_vector(what, sizes, neighbor.bits, when, rules.cpu.stack_bytes)
    _add_scalable_rules(rules)
    if rules.nest.has_half and rules.cpu.splits_half:
        _add_half_rules(rules)
    if rules.cpu.masking is Masking.ALWAYS:
        # The compiler would peel forever.
        is_read = CpuLevel.CACHE_PARALLEL not in rules.pipeline.unused
        for loop in rules.parallel if is_read else ():
            around, outer = rules.named_tile(CpuLevel.DISTRIBUTION, loop)
            tile, inner = rules.named_tile(CpuLevel.CACHE_PARALLEL, loop)
            message = f"with peeling, {inner} must not be larger than {outer} ({{}} <= {{}})"
            condition = any_of(rules.peeling == 0, tile <= around, tile == 0)
            rules.add(condition, message, tile, around)


def _add_half_rules(rules: CpuRules) -> None:
    """Keep vectors of f16 small where the compiler takes minutes for their elements, or crashes (IREE 3.13.0)."""
    always: list[Expression] = []
    vectors = [
        (vector.what, [_masked_size(rules, loop) for loop in vector.loops], always)
        for vector in rules.nest.parts
    ]
    vectors += [(beside.what, sizes, when) for beside, sizes, when in _fused_vectors(rules)]
    for what, sizes, when in vectors:
        is_small = all_of(
            product(1, sizes) <= _MOST_SPLIT, *(size <= _LONGEST_SPLIT for size in sizes)
        )
        message = (
            f"without the feature 'zvfhmin', the vectors of {what} with {shape_of(sizes)} elements should have "
            f"{_MOST_SPLIT} at most, and {_LONGEST_SPLIT} along a loop"
        )
        rules.add(any_of(negation(all_of(*when)), is_small) if when else is_small, message, *sizes)


_MOST_SPLIT: Final = 512
_LONGEST_SPLIT: Final = 128


def _add_scalable_rules(rules: CpuRules) -> None:
    """Add the rules for a vector tile that is a multiple of the vector scale."""
    if rules.scalable_loop is None:
        return
    # LLVM has no code for other multiples of the vector scale.
    tile, name = rules.named_tile(CpuLevel.VECTOR_COMMON_PARALLEL, rules.scalable_loop)
    powers = [tile == 1 << power for power in range(1, _LARGEST_SCALABLE.bit_length())]
    message = f"a scalable {name} must be a power of two from 2 to {_LARGEST_SCALABLE} ({{}})"
    rules.add(any_of(rules.scalable == 0, *powers), message, tile)
    # The vectors of an op that is neither a product nor a convolution end with its reduction.
    for loop in rules.loops:
        if rules.nest.loops[loop].reduces and rules.nest.live:
            tile, name = rules.named_tile(CpuLevel.VECTOR_REDUCTION, loop)
            message = f"{name} must be 1 beside a scalable tile ({{}} == 1)"
            rules.add(any_of(rules.scalable == 0, tile == 1), message, tile)


_LARGEST_SCALABLE: Final = 256
_LARGEST_SCALE: Final = 16
"""The compiler's upper bound of the vector scale of SVE (`getDefaultVscaleRange`)."""


def unknown(rules: CpuRules) -> str:
    """Return why no configuration is known to compile; empty if the rules decide."""
    if rules.nest.is_lost and not rules.pipeline.needs_distribution:
        return LOST
    if not rules.pipeline.vectorizes or rules.is_data_tiled:
        return ""
    if not rules.checks_vectors:
        return "the effect of the tiles in this pipeline is not known well enough"
    if any(neighbor.own is None for neighbor in rules.nest.beside):
        return "how large another operation in the dispatch is, is not known"
    return ""


def _masked_size(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum number of elements of a masked vector along a loop."""
    # If no size is configured, the compiler finds a bound, which may be any tile or the whole loop.
    part, tile = rules.parts[loop], rules.vector_tile(loop)
    configured = select(tile > part.size, tile, part.size)
    return select(tile > 0, configured, select(part.is_known, part.size, part.bound))


def _fused_vectors(
    rules: CpuRules,
) -> Iterator[tuple[Neighbor, list[Expression], list[Expression]]]:
    """Yield the ops fused with the root op, the sizes of their vectors, and the conditions for these."""
    # The vector tiles also apply to fused ops, unless a tiled reduction encloses the vector tiles but not the fused
    # ops.
    outside = [
        rules.tiles[CpuLevel.CACHE_REDUCTION, loop] != 0
        for loop in rules.loops
        if rules.nest.loops[loop].reduces
    ]
    inside = [negation(condition) for condition in outside]
    for neighbor in rules.nest.beside:
        if neighbor.own is None:
            continue
        own = number(neighbor.own)
        sizes = [_masked_size(rules, loop) for loop in neighbor.shared]
        if rules.scalable_loop in neighbor.shared:
            # No scalable tile is configured for the op, whose vector has the upper bound of the tile.
            around = rules.part(rules.scalable_loop, _OUTER)
            most = select(around.is_known, around.size, around.bound)
            longest = _LARGEST_SCALE * rules.vector_tile(rules.scalable_loop)
            position = neighbor.shared.index(rules.scalable_loop)
            bound = select(longest < most, longest, most)
            sizes[position] = select(rules.scalable == 0, sizes[position], bound)
        yield neighbor, [own, *sizes], inside
        if outside:
            parts = (rules.part(loop, _OUTER) for loop in neighbor.shared)
            whole = [select(part.is_known, part.size, part.bound) for part in parts]
            yield neighbor, [own, *whole], [any_of(*outside)]


_ASSUMED_SCALE: Final = 4
"""The scale of the longest vectors of today's CPUs, 512 bits, which are those of A64FX."""


def add_stack_rules(rules: CpuRules) -> None:
    """Add the rules that keep the vectors of elementwise code on the stack."""
    # Registers hold a few hundred bytes. The simultaneously live values of an elementwise body are on the stack, each
    # as a vector over its loops.
    rules.grade = Grade.UNSAFE
    if not rules.checks_vectors or rules.is_data_tiled:
        return
    nest = rules.nest
    own = Neighbor(f"'{nest.operation}'", (), None, max(WIDENED, nest.widest), nest.live)
    bodies = [(own, [_masked_size(rules, loop) for loop in rules.loops], list[Expression]())]
    for body, sizes, when in [*bodies, *_fused_vectors(rules)]:
        what, bits, live = body.what, body.bits, body.live
        if not live:
            continue
        scale = select(rules.scalable == 0, 1, _ASSUMED_SCALE)
        room = BYTE * LARGEST_FRAME_BYTES
        fits = product(bits * live, sizes) * scale <= room
        message = (
            f"{live} vectors of {what} with {shape_of(sizes)} elements of {bits} bits should fit into "
            f"{LARGEST_FRAME_BYTES >> 10} KiB of stack: IREE's workers have {WORKER_STACK_BYTES >> 10} KiB"
        )
        rules.add(any_of(negation(all_of(*when)), fits) if when else fits, message, *sizes)
