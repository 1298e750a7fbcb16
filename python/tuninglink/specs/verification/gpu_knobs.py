"""Faults of the knobs of a GPU configuration that do not depend on the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import counted, misspelt
from tuninglink.iree import lowering_configs as gpu
from tuninglink.iree.targets import Target
from tuninglink.mlir import names
from tuninglink.mlir.attributes import is_dialect_attribute
from tuninglink.rules import Rule
from tuninglink.specs.verification.faults import Fault, similar_integers
from tuninglink.specs.verification.gpu_threads import basis_faults
from tuninglink.specs.verification.reach import MatchedOp

_SIZES: Final = (*gpu.TILES, gpu.PADDING)
"""The knobs with one size for each loop."""

_INTEGERS: Final = (*_SIZES, gpu.PADDING_CONV, gpu.PROMOTED_OPERANDS)
"""The knobs that are lists of integers."""

_READ_BY: Final = {
    gpu.SUBGROUP: ("TileAndFuse", gpu.SUBGROUP_BASIS),
    gpu.SUBGROUP_BASIS: ("VectorDistribute", gpu.SUBGROUP),
    gpu.LANE_BASIS: ("VectorDistribute", gpu.THREAD),
}
"""The pipeline of knobs that only one of two has, and the closest knob of the other pipeline."""

_PIPELINES: Final = {
    gpu.TILE_AND_FUSE: "TileAndFuse",
    gpu.VECTOR_DISTRIBUTE: "VectorDistribute",
}

TILING_WORKGROUPS: Final = {
    "#iree_gpu.pipeline<Vectorize>": "Vectorize",
    "#iree_gpu.pipeline<Distribute>": "Distribute",
}
"""The pipelines that read the tiles of workgroups only; those of reductions are among them."""

_READ_ANYWHERE: Final = (gpu.WORKGROUP, "workgroup_reordering_strategy", "lowering_strategy")

_WITHOUT: Final = "where no intrinsic multiplies"


def knob_faults(
    knobs: Mapping[str, mlir.Attribute],
    pipeline: str,
    op: MatchedOp | None,
    intrinsic: str,
) -> Iterator[Fault]:
    """Yield faults of the entries of a `#iree_gpu.lowering_config`.

    Args:
        knobs: the entries.
        pipeline: the configured pipeline, as MLIR prints it; empty if unknown.
        op: the configured op, None if unknown.
        intrinsic: an intrinsic for the types of the op; empty if no intrinsic exists or the types are unknown.
    """
    for name, value in knobs.items():
        if name not in gpu.ENTRIES:
            yield _unread(name)
            continue
        faults = [
            *_malformed(name, value, op, intrinsic),
            *_of_another_pipeline(name, pipeline, knobs),
        ]
        if op is not None and not faults:
            faults += _of_other_loops(name, value, op)
            has_steps = op.is_product and pipeline not in TILING_WORKGROUPS
            faults += _of_wrong_loops(name, value, op.parallel) if has_steps and not faults else ()
            adds = op.is_product and not faults
            faults += _of_shared_sums(name, pipeline, knobs, op.parallel) if adds else ()
        yield from (replace(fault, knob=name) for fault in faults)
    read = {name: value for name, value in knobs.items() if gpu.is_read(name, value)}
    if op is not None and op.is_product:
        yield from _missing(read, _PIPELINES.get(pipeline, ""), intrinsic)


def load_faults(knobs: Mapping[str, mlir.Attribute], target: Target | None) -> Iterator[Fault]:
    """Yield a fault for direct loads into shared memory that the target does not support.

    Args:
        knobs: the entries of the lowering config.
        target: the compilation target, None if unknown.
    """
    types = knobs.get(gpu.PROMOTION_TYPES)
    if target is None or not target.architecture or not isinstance(types, mlir.ArrayAttr):
        return
    if target.architecture not in gpu.DIRECTLY_LOADING and gpu.DIRECT_LOAD in str(types):
        yield Fault(
            f"'{gpu.DIRECT_LOAD}' has no effect on {target}, which does not load straight into shared memory",
            "write #iree_gpu.derived_thread_config",
            knob=gpu.PROMOTION_TYPES,
            rule=Rule.OTHER_TARGET,
        )


def _unread(name: str) -> Fault:
    """Return the fault of an entry that code generation does not read."""
    unread = partial(Fault, knob=name, rule=Rule.UNREAD_KNOB)
    message = f"code generation reads no '{name}'"
    if name in (gpu.WORKGROUP_SIZE, gpu.SUBGROUP_SIZE):
        return unread(f"{message} here", "it belongs in the 'translation_info'")
    if suggestion := misspelt(name, gpu.ENTRIES):
        return unread(message, suggestion=suggestion)
    return unread(message, f"it reads {', '.join(gpu.ENTRIES)}")


def _missing(knobs: Mapping[str, mlir.Attribute], pipeline: str, intrinsic: str) -> Iterator[Fault]:
    """Yield the missing knobs of a product; experiments show that code generation fails without most of them."""
    advice = f"such as mma_kind = #iree_gpu.mma_layout<{intrinsic}>; or " if intrinsic else "write "
    if pipeline == "VectorDistribute":
        yield from _missing_in_vector_distribute(knobs, advice)
    elif pipeline == "TileAndFuse":
        yield from _missing_in_tile_and_fuse(knobs, advice)


def _missing_in_vector_distribute(
    knobs: Mapping[str, mlir.Attribute], advice: str
) -> Iterator[Fault]:
    pipeline = "VectorDistribute"
    if not {gpu.SUBGROUP, gpu.SUBGROUP_BASIS} & knobs.keys():
        remedy = "such as subgroup_basis = [[2, 2, 1], [0, 1, 2]], the subgroups along each loop"
        yield _needed(pipeline, "'subgroup_basis', which is missing", remedy)
    if not {gpu.MMA_KIND, gpu.LANE_BASIS} & knobs.keys():
        remedy = f"{advice}'lane_basis' and 'thread', {_WITHOUT}"
        yield _needed(pipeline, "'mma_kind', which is missing", remedy)
    elif gpu.MMA_KIND in knobs and gpu.is_tiling(knobs.get(gpu.PARTIAL_REDUCTION)):
        message = f"{pipeline} cannot lay out 'mma_kind' with '{gpu.PARTIAL_REDUCTION}'"
        remedy = "'reduction' tiles reductions"
        yield Fault(message, remedy, is_error=True, knob=gpu.PARTIAL_REDUCTION)


def _missing_in_tile_and_fuse(knobs: Mapping[str, mlir.Attribute], advice: str) -> Iterator[Fault]:
    pipeline = "TileAndFuse"
    has_subgroups = gpu.SUBGROUP_BASIS in knobs or gpu.is_tiling(knobs.get(gpu.SUBGROUP))
    if gpu.MMA_KIND in knobs and not has_subgroups:
        state = "tiles no loop" if gpu.SUBGROUP in knobs else "is missing"
        remedy = "such as subgroup = [2, 2, 0], the intrinsics of a subgroup along each loop"
        what = f"'subgroup' with 'mma_kind', and it {state}"
        yield _needed(pipeline, what, remedy, is_error=gpu.THREAD not in knobs)
    if not {gpu.MMA_KIND, gpu.THREAD} & knobs.keys():
        effect = "" if has_subgroups else ": every thread computes the whole tile"
        what = f"'mma_kind' or 'thread', which are missing{effect}"
        yield _needed(pipeline, what, f"{advice}'thread', {_WITHOUT}", is_error=has_subgroups)


def _needed(pipeline: str, what: str, remedy: str, *, is_error: bool = True) -> Fault:
    message = f"{pipeline} needs {what}"
    knob, rule = names.LOWERING_CONFIG, Rule.MISSING_KNOB
    return Fault(message, remedy, is_error=is_error, knob=knob, rule=rule)


def _malformed(
    name: str, value: mlir.Attribute, op: MatchedOp | None, intrinsic: str
) -> Iterator[Fault]:
    expected, reason = "", "which code generation does not read"
    integers = gpu.read_integers(value)
    if name in _INTEGERS and integers is None:
        expected = "a list of integers, none of them negative"
        if right := _well_formed(name, value, op):
            expected += f", such as {right}"
        elif name in _SIZES:
            expected += ", with one for each loop"
        reason = f"which code generation takes as missing{_because(value)}"
    elif name in gpu.BASES and gpu.read_basis(value) is None:
        expected = "two lists, such as [[2, 2, 1], [0, 1, 2]]: counts, and for each loop the one that is along it"
    elif name == gpu.PROMOTION_TYPES and not isinstance(value, mlir.ArrayAttr):
        expected = "a list, with one for each of 'promote_operands'"
    elif name == gpu.PROMOTION_TYPES and (copy := _unread_copy(value)):
        expected = f"a promotion whose copy is {' or '.join(_COPIES)}"
        reason = f"and code generation does not read {copy}"
    elif name == gpu.MMA_KIND and not is_dialect_attribute(value):
        example = intrinsic or "MFMA_F32_16x16x16_F16"
        expected = f"an intrinsic, such as #iree_gpu.mma_layout<{example}>"
    if expected:
        is_error = name in gpu.BASES or name == gpu.MMA_KIND
        yield Fault(f"'{name}' is {value}, {reason}", f"it is {expected}", is_error=is_error)
    elif name in _INTEGERS and min(integers or [0]) < 0:
        right = [max(0, integer) for integer in integers or ()]
        yield Fault(
            f"'{name}' is {[*(integers or ())]}, and none may be negative",
            "0 leaves a loop as it is" if name in gpu.TILES else f"write {right}",
            is_error=True,
        )


_COPIES: Final = ("#iree_gpu.derived_thread_config", "#iree_gpu.use_global_load_dma")
"""How copies are distributed, besides a lowering config."""

_COPY: Final = re.compile(r"promote_with_cache_swizzle<(.*)>$|copy_config = (.*), swizzle = ")


def _unread_copy(promotions: mlir.Attribute) -> str:
    """Return the first description of a copy that is not a lowering config; empty if there is none."""
    assert isinstance(promotions, mlir.ArrayAttr)
    found = (_COPY.search(str(promotion)) for promotion in promotions)
    copies = (match[1] or match[2] for match in found if match)
    readable = (*_COPIES, "#iree_gpu.lowering_config<")
    return next((copy for copy in copies if not copy.startswith(readable)), "")


def _well_formed(name: str, value: mlir.Attribute, op: MatchedOp | None) -> list[int]:
    """Return the integers of a malformed list, one for each loop of a known op; empty if they are unknown."""
    integers = similar_integers(value)
    if name == gpu.PROMOTED_OPERANDS:
        return integers or [0, 1]
    if not integers or op is None or name not in _SIZES or len(integers) == len(op.parallel):
        return integers
    return _resized(name, integers, len(op.parallel)) if name in gpu.TILES else []


def _resized(name: str, sizes: Sequence[int], loops: int) -> list[int]:
    """Return the sizes of a knob resized to another number of loops, with 0 for additional loops."""
    zeros = [0] * (loops - len(sizes))
    return [*zeros, *sizes[:loops]] if name in gpu.REDUCING else [*sizes[:loops], *zeros]


def _because(value: mlir.Attribute) -> str:
    """Return a clause that names the element of a list that is not an integer."""
    if not isinstance(value, mlir.ArrayAttr):
        return ""
    others = (element for element in value if not isinstance(element, mlir.IntegerAttr))
    return f": {next(others)} is not an integer"


def _of_another_pipeline(
    name: str, pipeline: str, knobs: Mapping[str, mlir.Attribute]
) -> Iterator[Fault]:
    tiling = TILING_WORKGROUPS.get(pipeline)
    # Vectorize unrolls the windows of convolutions by them.
    is_open = name == gpu.REDUCTION and tiling == "Vectorize"
    if tiling and name not in _READ_ANYWHERE and not is_open:
        remedy = (
            "it reads 'workgroup', also for reductions; TileAndFuse and VectorDistribute read more"
        )
        yield Fault(f"{tiling} reads no '{name}'", remedy, rule=Rule.UNREAD_KNOB)
    reader, other = _READ_BY.get(name, ("", ""))
    configured = _PIPELINES.get(pipeline)
    if reader and configured and configured != reader:
        yield Fault(
            f"{configured} reads no '{name}', which is a knob of {reader}",
            f"{configured} reads '{other}' instead",
            is_error=name != gpu.LANE_BASIS and other not in knobs,
            rule=Rule.UNREAD_KNOB,
        )


def _of_wrong_loops(name: str, value: mlir.Attribute, parallel: Sequence[bool]) -> Iterator[Fault]:
    """Yield a fault for workgroup tiles of reductions, and for reduction tiles of parallel loops."""
    sizes = gpu.read_integers(value) if name in (gpu.WORKGROUP, gpu.REDUCTION) else None
    if sizes is None:
        return
    takes_parallel = name == gpu.WORKGROUP
    kept = {1} if takes_parallel else set()  # The compiler itself writes 1 there.
    pairs = zip(sizes, parallel, strict=True)
    right = [
        size if is_parallel == takes_parallel or size in kept else 0 for size, is_parallel in pairs
    ]
    loop = next((loop for loop, size in enumerate(sizes) if size != right[loop]), None)
    if loop is None:
        return
    if takes_parallel:
        fault, remedy = f"ignored for loop {loop}, a reduction", "'reduction' tiles reductions"
    else:
        fault, remedy = f"loop {loop} is parallel", "'workgroup' tiles parallel loops"
    advice = f"{remedy}; write {right}" if any(right) else remedy
    yield Fault(f"'{name}' is {list(sizes)}, and {fault}", advice, rule=Rule.LOOP_COUNT)


def _of_shared_sums(
    name: str, pipeline: str, knobs: Mapping[str, mlir.Attribute], parallel: Sequence[bool]
) -> Iterator[Fault]:
    """Yield a fault for tiles that make threads or subgroups add to one result without synchronization."""
    loops = gpu.shared_reductions(name, knobs, parallel) if pipeline == gpu.TILE_AND_FUSE else ()
    if loops:
        sizes = [*(gpu.read_integers(knobs[name]) or ())]
        right = [0 if loop in loops else size for loop, size in enumerate(sizes)]
        message = f"'{name}' is {sizes}, and loop {loops[0]} is a reduction: {name}s add to one result at the same time"
        text, remedy = f"{message}, which is wrong", f"write {right}"
        yield Fault(text, remedy, is_error=True, rule=Rule.WRONG_RESULT)


def _of_other_loops(name: str, value: mlir.Attribute, op: MatchedOp) -> Iterator[Fault]:
    """Yield the faults of a knob whose value is for another number of loops or operands."""
    loops = len(op.parallel)
    asked = f"for the {counted(loops, 'loop')} that the matcher requires"
    if name in _SIZES and isinstance(value, mlir.ArrayAttr) and len(value) != loops:
        right = _resized(name, gpu.read_integers(value) or (), loops)
        remedy = f"there is one size for each loop, 0 for one that is not tiled, such as {right}"
        if name == gpu.PADDING:
            remedy = "there is one size for each loop, that of its tile"
        cannot_tile = op.is_product and name == gpu.REDUCTION and len(value) > loops
        message = f"'{name}' has {counted(len(value), 'size')} {asked}"
        yield Fault(message, remedy, is_error=cannot_tile, rule=Rule.LOOP_COUNT)
    if name in gpu.BASES:
        for fault in basis_faults(name, value, loops, asked):
            yield replace(fault, is_error=fault.is_error and op.is_product)
    if name == gpu.PROMOTED_OPERANDS:
        operands = gpu.read_integers(value) or ()
        outside = [number for number in operands if not 0 <= number < op.operands]
        if outside:
            message = f"'{name}' names operand {outside[0]}, which does not exist"
            inside = [number for number in operands if 0 <= number < op.operands]
            remedy = f"0 to {op.operands - 1} are the operands and results, such as {inside or [0]}"
            if op.is_product:
                remedy = "0 and 1 are the operands, 2 is the result, such as [0, 1]"
            # The compiler reads beyond the operands: it crashes or does not end.
            yield Fault(message, remedy, is_error=True)
        elif len(right := [*dict.fromkeys(operands)]) < len(operands):
            twice = next(number for number in right if operands.count(number) > 1)
            yield Fault(f"'{name}' names operand {twice} twice", f"write {right}")
