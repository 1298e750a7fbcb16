"""Necessary and sufficient rules for configurations to compile, and the sizes of vectors.

The necessary rules were determined by compiling. Two kinds of ops have their own rules. A pipeline decomposes named
convolutions into one-dimensional ones. The layout of data-tiled products fixes the vectors, so only the workgroup tiles
are knobs: one step computes the packed tile, in a microkernel or in one vector. Other vector tiles change nothing or
break the compilation. Workgroup tiles determine how often an operand is read again from the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import CpuLevel
from tuninglink.solver import Grade
from tuninglink.solver.expressions import Expression, all_of, any_of, negation, number, select
from tuninglink.spaces.cpu import Masking
from tuninglink.spaces.cpu.neighboring_ops import WIDENED, Neighbor
from tuninglink.spaces.cpu.nest import PACKED_LOOPS, LoopNest

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.cpu_rules import CpuRules


@dataclass(frozen=True)
class Window:
    """The loops of a convolution over rows and columns.

    Attributes:
        rows: the loop over the rows of the output.
        columns: the loop over its columns.
        filter_rows: the loop over the rows of the filter.
        filter_columns: the loop over its columns.
    """

    rows: int
    columns: int
    filter_rows: int
    filter_columns: int


LEVELS: Final = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL, CpuLevel.VECTOR_REDUCTION)
"""The levels that the compiler's verifier requires and checks."""

_CHANNELS_LAST: Final = Window(1, 2, 4, 5)
_WINDOWS: Final = {
    "linalg.conv_2d_nhwc_hwcf": _CHANNELS_LAST,
    "linalg.depthwise_conv_2d_nhwc_hwc": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max": _CHANNELS_LAST,
    "linalg.pooling_nhwc_max_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min": _CHANNELS_LAST,
    "linalg.pooling_nhwc_min_unsigned": _CHANNELS_LAST,
    "linalg.pooling_nhwc_sum": _CHANNELS_LAST,
    "linalg.conv_2d_nchw_fchw": Window(2, 3, 5, 6),
    "linalg.pooling_nchw_max": Window(2, 3, 4, 5),
    "linalg.pooling_nchw_sum": Window(2, 3, 4, 5),
}
"""The operations that the verifier supports; it rejects other named ones, and does not check `linalg.generic`."""

_NAMES: Final = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")
"""Prefixes of the names of convolutions."""

_UNKNOWN: Final = -1


def is_decomposed(operation: str) -> bool:
    """Return whether the compiler's verifier checks the operations with a name."""
    return operation.startswith(_NAMES)


def add_decomposition(rules: CpuRules) -> None:
    """Require tiling to leave a single row, or a single column, of output and filter.

    `verifyConvTileAndDecomposeExpertConfig` rejects the other configurations.
    """
    operation = rules.nest.operation
    window = _WINDOWS.get(operation)
    if window is None:
        if operation.startswith(_NAMES):
            rules.add(False, f"this pipeline does not support '{operation}'")  # noqa: FBT003 - that is the rule
        return
    rows, columns = _left(rules, window.rows), _left(rules, window.columns)
    filter_rows, filter_columns = (
        _left(rules, window.filter_rows),
        _left(rules, window.filter_columns),
    )
    one_row = all_of(rows == 1, filter_rows == 1)
    one_column = all_of(columns == 1, filter_columns == 1)
    message = (
        "tiling must leave a single row or column of both output and filter; it leaves {}x{} and {}x{}, "
        f"where {_UNKNOWN} is an unknown number"
    )
    values = (rows, columns, filter_rows, filter_columns)
    rules.add(any_of(one_row, one_column), message, *values)


def _left(rules: CpuRules, loop: int) -> Expression:
    """Return the part of a loop that the levels leave; see `verifyConvTileAndDecomposeExpertConfig`."""
    size = rules.nest.loops[loop].size
    left = number(_UNKNOWN if size is None else size)
    for level in LEVELS:
        tile = rules.tiles.tile(level, loop)
        divided = select(left % tile == 0, tile, number(_UNKNOWN))
        kept = any_of(left == _UNKNOWN, tile == 0)
        left = select(tile == 1, 1, select(kept, left, divided))
    return left


def add_layout_rules(rules: CpuRules) -> None:
    """Add the rules of data-tiled products: a workgroup computes whole packed tiles, and a vector holds one."""
    outer = _outer_loops(rules.nest)
    for loop in rules.loops:
        for level in CpuLevel:
            tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
            if level is rules.tiles.vector_level(loop):
                packed = 1 if loop < outer else rules.nest.loops[loop].size
                message = f"{name} should be {packed}, as the layout has it ({{}} == {packed})"
                rules.add(packed is not None and tile == packed, message, tile)
            elif level is CpuLevel.DISTRIBUTION and _is_distributed(rules.nest, loop):
                rules.limit_tile(level, loop)
            else:
                rules.add(tile == 0, f"{name} should be 0, as the layout has it ({{}} == 0)", tile)


def add_workgroup_rules(rules: CpuRules) -> None:
    """Restrict workgroup tiles to the divisors of a loop, as the compiler does."""
    for loop in rules.loops:
        size = rules.nest.loops[loop].size
        if size is None or not _is_distributed(rules.nest, loop):
            continue
        level = CpuLevel.DISTRIBUTION
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        divisors = [position for position in range(1, size + 1) if size % position == 0]
        message = f"{name} should divide the loop of {size} iterations ({{}})"
        rules.add(any_of(*(tile == divisor for divisor in divisors)), message, tile)


def _outer_loops(nest: LoopNest) -> int:
    return len(nest.loops) - PACKED_LOOPS[nest.operation]


def _is_distributed(nest: LoopNest, loop: int) -> bool:
    return loop < _outer_loops(nest) and not nest.loops[loop].reduces


LOST: Final = "the compiler gives this operation a batch loop after it has read the configuration, and loses it"


def add_necessary_rules(rules: CpuRules) -> None:
    """Add the rules that every configuration that compiles satisfies."""
    rules.grade = Grade.NECESSARY
    for loop in rules.loops:
        _refuse_negative(rules, loop)
    if rules.pipeline.separates:
        rules.separate_levels()
    if rules.nest.is_attention and not rules.pipeline.decomposes_attention:
        rules.add(False, "this pipeline does not lower attention")  # noqa: FBT003 - that is the rule
    if rules.nest.is_on_tensors and not rules.pipeline.takes_tensors:
        rules.add(False, "this pipeline is for operations on buffers, and this one is on tensors")  # noqa: FBT003 - that is the rule
    if rules.nest.is_lost and rules.pipeline.needs_distribution:
        rules.add(False, LOST)  # noqa: FBT003 - the pipeline cannot be built without a configuration
    if rules.pipeline.decomposes_convolutions:
        add_decomposition(rules)
    if rules.checks_vectors:
        when = _vectorized(rules)
        for vector in rules.nest.vectors:
            sizes = [rules.parts[loop].size for loop in vector.loops]
            rules.limit_vector(f"the vector of {vector.what} has", sizes, vector.bits, when)


def _refuse_negative(rules: CpuRules, loop: int) -> None:
    """Require tiles not to be negative, except for loops of one iteration, which are not tiled."""
    size = rules.nest.loops[loop].size
    if size is not None and size <= 1:
        return
    for level in rules.pipeline.natural:
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        others = [rules.tiles.tile(each, loop) for each in CpuLevel if each is not level]
        condition = any_of(tile >= 0, *(other == 1 for other in others))
        rules.add(condition, f"{name} must not be negative ({{}} >= 0)", tile)


def _vectorized(rules: CpuRules) -> list[Expression]:
    """Return the conditions under which the operation is certainly vectorized: the compiler knows the size of every loop.

    The size is that of the loop's part, or the configured size if vectors are masked. A masked vector is not smaller
    than the part that it covers.
    """
    # The effect of the innermost level is unknown, as is that of a level that tiles loops of the other kind.
    innermost = CpuLevel.VECTOR_INNER_PARALLEL
    others = [
        rules.tiles.tile(innermost, loop) == 0
        for loop in rules.loops
        if innermost not in rules.pipeline.unused
    ]
    others += [rules.tiles.tile(level, loop) == 0 for level, loop in rules.misplaced()]
    if rules.cpu.masking is Masking.NEVER:
        return [*others, *(each.is_known for each in rules.parts)]
    configured = (
        any_of(part.is_known, rules.tiles.vector_tile(loop) > 0)
        for loop, part in enumerate(rules.parts)
    )
    return [*others, *configured]


def add_sufficient_rules(rules: CpuRules) -> None:
    """Add the rules under which configurations compile, provided that `unknown` returns no reason."""
    rules.grade = Grade.SUFFICIENT
    if rules.is_data_tiled:
        add_layout_rules(rules)
    if not rules.checks_vectors:
        return
    for loop in rules.loops:
        for level in CpuLevel:
            rules.limit_tile(level, loop)
    if rules.pipeline.mixes_levels:
        rules.limit_misplaced_levels()
    else:
        rules.separate_levels()
    _bound_vectors(rules)
    _bound_neighbors(rules)
    if rules.cpu.masking is Masking.ALWAYS:
        _keep_peeling_finite(rules)


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


def _bound_vectors(rules: CpuRules) -> None:
    """Require all vectors of the root op to stay below the limit, for every bound that the compiler may derive."""
    has_known_parts = all_of(*(part.is_known for part in rules.parts))
    is_never = rules.cpu.masking is Masking.NEVER
    # A peeled part has the size of the tile, even if the loop has fewer iterations.
    when = [negation(has_known_parts), *([rules.tiles.peeling != 0] if is_never else [])]
    for vector in rules.nest.parts:
        what = f"the vectors of {vector.what} may have"
        masked = [masked_size(rules, loop) for loop in vector.loops]
        if rules.cpu.masking is Masking.ALWAYS:
            rules.limit_vector(what, masked, vector.bits)
            continue
        sizes = [rules.parts[loop].size for loop in vector.loops]
        rules.limit_vector(what, sizes, vector.bits, [has_known_parts])
        rules.limit_vector(what, masked, vector.bits, when)


def _bound_neighbors(rules: CpuRules) -> None:
    """Require all vectors of ops fused with the root op to stay below the limit."""
    for neighbor, sizes, when in fused_vectors(rules):
        what = f"the vectors of {neighbor.what} may have"
        rules.limit_vector(what, sizes, neighbor.bits, when)


def _keep_peeling_finite(rules: CpuRules) -> None:
    """Add the rules that keep the compiler from peeling forever where vectors are always masked."""
    outer, inner = CpuLevel.DISTRIBUTION, CpuLevel.CACHE_PARALLEL
    for loop in rules.parallel():
        around, tile = rules.tiles.tile(outer, loop), rules.tiles.tile(inner, loop)
        names = rules.tiles.name(inner, loop), rules.tiles.name(outer, loop)
        message = f"with peeling, {names[0]} must not be larger than {names[1]} ({{}} <= {{}})"
        condition = any_of(rules.tiles.peeling == 0, tile <= around, tile == 0)
        rules.add(condition, message, tile, around)


def masked_size(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum number of elements of a masked vector along a loop.

    If no size is configured, the compiler finds a bound, which may be any tile or the whole loop.
    """
    part, tile = rules.parts[loop], rules.tiles.vector_tile(loop)
    configured = select(tile > part.size, tile, part.size)
    return select(tile > 0, configured, select(part.is_known, part.size, part.bound))


def fused_vectors(
    rules: CpuRules,
) -> Iterator[tuple[Neighbor, list[Expression], list[Expression]]]:
    """Yield the ops fused with the root op, the sizes of their vectors, and the conditions for these.

    The vector tiles also apply to fused ops, unless a tiled reduction encloses the vector tiles but not the fused ops.
    """
    outside = [
        rules.tiles.tile(CpuLevel.CACHE_REDUCTION, loop) != 0
        for loop in rules.loops
        if rules.nest.loops[loop].reduces
    ]
    inside = [negation(condition) for condition in outside]
    for neighbor in rules.nest.beside:
        if neighbor.own is None:
            continue
        own = number(neighbor.own)
        yield neighbor, [own, *(masked_size(rules, loop) for loop in neighbor.shared)], inside
        if outside:
            whole = [_outer(rules, loop) for loop in neighbor.shared]
            yield neighbor, [own, *whole], [any_of(*outside)]


def _outer(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum size of a loop before it is tiled for vectors."""
    part = rules.tiles.outer_part(loop)
    return select(part.is_known, part.size, part.bound)


def add_stack_rules(rules: CpuRules) -> None:
    """Add the rules that keep the vectors of elementwise code on the stack.

    Registers hold a few hundred bytes. The simultaneously live values of an elementwise body are on the stack, each as
    a vector over its loops.
    """
    rules.grade = Grade.UNSAFE
    if not rules.checks_vectors or rules.is_data_tiled:
        return
    nest = rules.nest
    if nest.live:
        sizes = [masked_size(rules, loop) for loop in rules.loops]
        rules.limit_stack(f"'{nest.operation}'", sizes, max(WIDENED, nest.widest), nest.live)
    for neighbor, sizes, when in fused_vectors(rules):
        if neighbor.live:
            rules.limit_stack(neighbor.what, sizes, neighbor.bits, neighbor.live, when)
