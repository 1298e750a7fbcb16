"""Faults of the knobs of a GPU configuration that do not depend on the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree import lowering_configs as gpu
from tuninglink.iree.intrinsics import instruction_set
from tuninglink.iree.targets import Target
from tuninglink.mlir.attributes import is_dialect_attribute
from tuninglink.specs.verification.faults import Fault, misspelt, similar_integers

_INTEGERS: Final = {
    **dict.fromkeys((*gpu.TILES, gpu.PADDING, gpu.PADDING_CONV), "[64, 64, 0]"),
    gpu.PROMOTED_OPERANDS: "[0, 1]",
}
"""The knobs that are lists of integers, with an example of each."""

_READ_BY: Final = {
    gpu.SUBGROUP: ("TileAndFuse", gpu.SUBGROUP_BASIS),
    gpu.SUBGROUP_BASIS: ("VectorDistribute", gpu.SUBGROUP),
    gpu.LANE_BASIS: ("VectorDistribute", gpu.THREAD),
}
"""For knobs of one pipeline of two which one that is, and the knob of the other pipeline that comes closest."""

_PIPELINES: Final = {
    f"#iree_gpu.pipeline<{name}>": name for name in ("TileAndFuse", "VectorDistribute")
}

_OPERANDS: Final = 3
"""The number of operands of a contraction, including its result."""

_INTRINSIC: Final = "such as mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
_WITHOUT: Final = "where no intrinsic multiplies"

_MOST_THREADS: Final = 1024
"""The threads of a workgroup on any GPU that the compiler knows: `max_thread_count_per_workgroup`."""

_INTRINSIC_THREADS: Final = {"MFMA": 64, "WMMAR3": 32, "WMMAR4": 32, "WMMA": 32}
"""The threads of a subgroup that execute an AMD intrinsic together, by instruction set."""

_SUBGROUP_SIZES: Final = {"gfx9": (64,), "gfx1": gpu.AMD_SUBGROUP_SIZES, "sm_": (32,)}
"""The threads of a subgroup, by the prefix of the name of an architecture: the `subgroup_size_choices` of targets."""


def knob_faults(
    knobs: Mapping[str, mlir.Attribute], pipeline: str, parallel: Sequence[bool] | None
) -> Iterator[Fault]:
    """Yield faults of the entries of a `#iree_gpu.lowering_config`.

    Args:
        knobs: the entries.
        pipeline: the configured pipeline, as MLIR prints it; empty if unknown.
        parallel: for each loop of the configured op whether it is parallel; None if unknown.
    """
    for name, value in knobs.items():
        if name not in gpu.ENTRIES:
            yield _unread(name)
            continue
        faults = [*_malformed(name, value), *_of_another_pipeline(name, pipeline, knobs)]
        if parallel is not None and not faults:
            faults += _of_other_loops(name, value, len(parallel))
            faults += () if faults else _of_wrong_loops(name, value, parallel)
        yield from (replace(fault, knob=name) for fault in faults)
    read = {name: value for name, value in knobs.items() if gpu.is_read(name, value)}
    yield from _missing(read, _PIPELINES.get(pipeline, ""), is_product=parallel is not None)


def _unread(name: str) -> Fault:
    """Return the fault of an entry that code generation does not read."""
    message = f"code generation reads no '{name}'"
    if name in (gpu.WORKGROUP_SIZE, gpu.SUBGROUP_SIZE):
        return Fault(f"{message} here", "it belongs in the 'translation_info'", knob=name)
    if suggestion := misspelt(name, gpu.ENTRIES):
        return Fault(f"{message}; did you mean '{suggestion}'?", knob=name)
    return Fault(message, f"it reads {', '.join(gpu.ENTRIES)}", knob=name)


def _missing(
    knobs: Mapping[str, mlir.Attribute], pipeline: str, *, is_product: bool
) -> Iterator[Fault]:
    """Yield the missing knobs without which code generation fails; determined by experiment."""
    subgroups, intrinsic = (
        {gpu.SUBGROUP, gpu.SUBGROUP_BASIS},
        f"needs '{gpu.MMA_KIND}', which is missing",
    )
    faults: list[tuple[str, str]] = []
    if pipeline == "VectorDistribute" and is_product:
        if not subgroups & knobs.keys():
            remedy = (
                "such as subgroup_basis = [[2, 2, 1], [0, 1, 2]], the subgroups along each loop"
            )
            faults.append(("needs 'subgroup_basis', which is missing", remedy))
        if not {gpu.MMA_KIND, gpu.LANE_BASIS} & knobs.keys():
            faults.append((intrinsic, f"{_INTRINSIC}; or 'lane_basis' and 'thread', {_WITHOUT}"))
    if pipeline == "TileAndFuse" and is_product:
        if gpu.MMA_KIND in knobs and not subgroups & knobs.keys():
            remedy = "such as subgroup = [2, 2, 0], the intrinsics of a subgroup along each loop"
            faults.append(("needs 'subgroup' with 'mma_kind', and it is missing", remedy))
        if not {gpu.MMA_KIND, gpu.THREAD} & knobs.keys():
            faults.append((intrinsic, f"{_INTRINSIC}; or 'thread', {_WITHOUT}"))
    for message, remedy in faults:
        yield Fault(f"{pipeline} {message}", remedy, is_error=True)


def thread_faults(
    workgroup_size: Sequence[int], subgroup_size: int, target: Target | None
) -> Iterator[Fault]:
    """Yield faults of the thread counts of a `translation_info`.

    Args:
        workgroup_size: the threads of a workgroup in each dimension; empty if missing.
        subgroup_size: the threads of a subgroup, 0 if missing.
        target: the compilation target, None if unknown.
    """
    if not workgroup_size:
        yield Fault(
            "its 'translation_info' has no 'workgroup_size'",
            "write the number of threads in each dimension, such as workgroup_size = [256, 1, 1]",
            knob="translation_info",
        )
    elif prod(workgroup_size) > _MOST_THREADS:
        yield Fault(
            f"a workgroup of {prod(workgroup_size):,} threads is more than GPUs run",
            f"they run {_MOST_THREADS:,} at most",
            knob=gpu.WORKGROUP_SIZE,
        )
    subgroup_sizes = _subgroup_sizes(target)
    if subgroup_sizes and subgroup_size and subgroup_size not in subgroup_sizes:
        is_amd = target is not None and target.backend == "rocm"
        yield Fault(
            f"a subgroup of {target} has {' or '.join(map(str, subgroup_sizes))} threads, not {subgroup_size}",
            f"write subgroup_size = {min(subgroup_sizes, key=lambda each: abs(each - subgroup_size))}",
            is_error=is_amd and subgroup_size not in gpu.AMD_SUBGROUP_SIZES,
            knob=gpu.SUBGROUP_SIZE,
        )


def subgroup_faults(
    knobs: Mapping[str, mlir.Attribute], workgroup_size: Sequence[int], subgroup_size: int
) -> Iterator[Fault]:
    """Yield a fault if the size of a workgroup differs from that of the subgroups in its basis.

    Args:
        knobs: the entries of the lowering config.
        workgroup_size: the threads of a workgroup in each dimension.
        subgroup_size: the threads of a subgroup, 0 if missing.
    """
    basis = gpu.read_basis(knobs.get(gpu.SUBGROUP_BASIS))
    if basis is None or not workgroup_size or not subgroup_size or min(basis.counts, default=0) < 1:
        return
    threads = prod(basis.counts) * subgroup_size
    if threads != prod(workgroup_size):
        yield Fault(
            f"'subgroup_basis' has {prod(basis.counts)} subgroups of {subgroup_size} threads, and the workgroup has "
            f"{prod(workgroup_size):,} threads, not {threads:,}",
            f"write workgroup_size = [{threads}, 1, 1], or other counts"
            if threads <= _MOST_THREADS
            else f"write counts with a product of {max(1, prod(workgroup_size) // subgroup_size)}",
            knob=gpu.SUBGROUP_BASIS,
        )


def intrinsic_faults(name: str | None, pipeline: str, subgroup_size: int) -> Iterator[Fault]:
    """Yield a fault if VectorDistribute cannot distribute an AMD intrinsic to subgroups of this size.

    Args:
        name: the intrinsic, None if unknown.
        pipeline: the configured pipeline, as MLIR prints it; empty if unknown.
        subgroup_size: the threads of a subgroup, 0 if missing.
    """
    threads = 0 if name is None else _INTRINSIC_THREADS.get(instruction_set(name), 0)
    is_distributed = _PIPELINES.get(pipeline) == "VectorDistribute"
    if threads and is_distributed and subgroup_size and subgroup_size != threads:
        yield Fault(
            f"'{name}' takes a subgroup of {threads} threads, not {subgroup_size}",
            f"write subgroup_size = {threads}",
            is_error=True,
            knob=gpu.SUBGROUP_SIZE,
        )


def _subgroup_sizes(target: Target | None) -> tuple[int, ...]:
    """Return the possible subgroup sizes of a target; empty if unknown."""
    architecture = target.architecture or "" if target is not None else ""
    sizes = (sizes for start, sizes in _SUBGROUP_SIZES.items() if architecture.startswith(start))
    return next(sizes, ())


def _malformed(name: str, value: mlir.Attribute) -> Iterator[Fault]:
    expected = ""
    integers = gpu.read_integers(value)
    if name in _INTEGERS and integers is None:
        right = similar_integers(value) or _INTEGERS[name]
        expected = f"a list of integers, none of them negative, such as {right}"
    elif name in gpu.BASES and gpu.read_basis(value) is None:
        expected = "two lists, such as [[2, 2, 1], [0, 1, 2]]: counts, and for each loop the one that is along it"
    elif name == gpu.PROMOTION_TYPES and not isinstance(value, mlir.ArrayAttr):
        expected = "a list, with one for each of 'promote_operands'"
    elif name == gpu.MMA_KIND and not is_dialect_attribute(value):
        expected = "an intrinsic, such as #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
    if expected:
        is_error = name in gpu.BASES or name == gpu.MMA_KIND
        message = f"'{name}' is {value}, which code generation does not read"
        yield Fault(message, f"it is {expected}", is_error=is_error)
    elif name in _INTEGERS and min(integers or [0]) < 0:
        right = [max(0, integer) for integer in integers or ()]
        yield Fault(
            f"'{name}' is {[*(integers or ())]}, and none may be negative",
            "0 leaves a loop as it is" if name in gpu.TILES else f"write {right}",
            is_error=True,
        )


def _of_another_pipeline(
    name: str, pipeline: str, knobs: Mapping[str, mlir.Attribute]
) -> Iterator[Fault]:
    reader, other = _READ_BY.get(name, ("", ""))
    configured = _PIPELINES.get(pipeline)
    if reader and configured and configured != reader:
        yield Fault(
            f"{configured} reads no '{name}', which is a knob of {reader}",
            f"{configured} reads '{other}' instead",
            is_error=name != gpu.LANE_BASIS and other not in knobs,
        )


def _of_wrong_loops(name: str, value: mlir.Attribute, parallel: Sequence[bool]) -> Iterator[Fault]:
    """Yield a fault for workgroup tiles of reductions, and for reduction tiles of parallel loops."""
    sizes = gpu.read_integers(value) if name in (gpu.WORKGROUP, gpu.REDUCTION) else None
    if sizes is None:
        return
    takes_parallel = name == gpu.WORKGROUP
    pairs = zip(sizes, parallel, strict=True)
    right = [size if is_parallel == takes_parallel else 0 for size, is_parallel in pairs]
    loop = next((loop for loop, size in enumerate(sizes) if size != right[loop]), None)
    if loop is None:
        return
    if takes_parallel:
        fault, remedy = f"ignored for loop {loop}, a reduction", "'reduction' tiles reductions"
    else:
        fault, remedy = f"loop {loop} is parallel", "'workgroup' tiles parallel loops"
    advice = f"{remedy}; write {right}" if any(right) else remedy
    yield Fault(f"'{name}' is {list(sizes)}, and {fault}", advice)


def _of_other_loops(name: str, value: mlir.Attribute, loops: int) -> Iterator[Fault]:
    """Yield the faults of a knob that is written for another number of loops or operands."""
    asked = f"for the {_count(loops, 'loop')} that the matcher requires"
    has_sizes = name in (*gpu.TILES, gpu.PADDING) and isinstance(value, mlir.ArrayAttr)
    if has_sizes and len(value) != loops:
        zeros = [0] * max(0, loops - len(value))
        sizes = [*(gpu.read_integers(value) or ())][:loops]
        right = [*zeros, *sizes] if name in gpu.REDUCING else [*sizes, *zeros]
        remedy = f"there is one size for each loop, 0 for one that is not tiled, such as {right}"
        if name == gpu.PADDING:
            remedy = "there is one size for each loop, that of its tile"
        cannot_tile = name == gpu.REDUCTION and len(value) > loops
        message = f"'{name}' has {_count(len(value), 'size')} {asked}"
        yield Fault(message, remedy, is_error=cannot_tile)
    if name in gpu.BASES:
        yield from _of_basis(name, value, loops, asked)
    if name == gpu.PROMOTED_OPERANDS:
        operands = gpu.read_integers(value) or ()
        outside = [number for number in operands if not 0 <= number < _OPERANDS]
        if outside:
            message = f"'{name}' names operand {outside[0]}, which there is not"
            remedy = "0 and 1 are the operands, 2 is the result, such as [0, 1]"
            # The compiler reads beyond the operands: it crashes or does not end.
            yield Fault(message, remedy, is_error=True)


def _of_basis(name: str, value: mlir.Attribute, loops: int, asked: str) -> Iterator[Fault]:
    """Yield the fault of a basis: counts, and for each loop the index of its count."""
    basis = gpu.read_basis(value)
    if basis is None:
        return
    counts, mapping = list(basis.counts), list(basis.mapping)
    if len(mapping) != loops:
        message = f"'{name}' maps {_count(len(mapping), 'loop')} {asked}"
        remedy = "its second list has the index of a count for each loop"
        yield Fault(message, remedy, is_error=len(mapping) < loops)
    elif any(not 0 <= position < len(counts) for position in mapping):
        right = [min(max(position, 0), len(counts) - 1) for position in mapping]
        of_counts = _count(len(counts), "count")
        message = f"'{name}' is {value}, whose second list names more than its {of_counts}"
        remedy = f"an index is less than {len(counts)}, such as [{counts}, {right}]"
        yield Fault(message, remedy, is_error=True)
    elif min(counts, default=1) < 1:
        remedy = f"write [{[max(1, count) for count in counts]}, {mapping}]"
        yield Fault(f"'{name}' is {value}, and a count must be positive", remedy, is_error=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
