"""Faults of the numbers of threads, of subgroups and of waves in a GPU configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import counted, misspelt
from tuninglink.iree import lowering_configs as gpu
from tuninglink.iree.intrinsics import instruction_set
from tuninglink.iree.targets import Target
from tuninglink.rules import Rule
from tuninglink.specs.verification.faults import Fault

_MOST_THREADS: Final = 1024
"""The threads of a workgroup on any GPU that the compiler knows: `max_thread_count_per_workgroup`."""

_INTRINSIC_THREADS: Final = {"MFMA": 64, "WMMAR3": 32, "WMMAR4": 32, "WMMA": 32}
"""The threads of a subgroup that execute an AMD intrinsic together, by instruction set."""

_SUBGROUP_SIZES: Final = {"gfx9": (64,), "gfx1": gpu.AMD_SUBGROUP_SIZES, "sm_": (32,)}
"""The threads of a subgroup, by the prefix of the name of an architecture: the `subgroup_size_choices` of targets."""


_WAVES: Final = "amdgpu-waves-per-eu"


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
            rule=Rule.MISSING_KNOB,
        )
    elif prod(workgroup_size) > _MOST_THREADS:
        yield Fault(
            f"a workgroup of {prod(workgroup_size):,} threads is more than GPUs run",
            f"they run {_MOST_THREADS:,} at most",
            is_error=True,  # The compiler compiles it, and no device runs it.
            knob=gpu.WORKGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
        )
    subgroup_sizes = _subgroup_sizes(target)
    if subgroup_sizes and subgroup_size and subgroup_size not in subgroup_sizes:
        is_amd = target is not None and target.backend == "rocm"
        yield Fault(
            f"a subgroup of {target} has {' or '.join(map(str, subgroup_sizes))} threads, not {subgroup_size}",
            f"write subgroup_size = {min(subgroup_sizes, key=lambda each: abs(each - subgroup_size))}",
            is_error=is_amd and subgroup_size not in gpu.AMD_SUBGROUP_SIZES,
            knob=gpu.SUBGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
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
            rule=Rule.THREAD_COUNT,
        )


def idle_faults(knobs: Mapping[str, mlir.Attribute]) -> Iterator[Fault]:
    """Yield a fault for each basis with counts that no loop is mapped to: these threads compute what others compute.

    Args:
        knobs: the entries of the lowering config.
    """
    for name in gpu.BASES:
        basis = gpu.read_basis(knobs.get(name))
        if basis is None or not {*basis.mapping} <= {*range(len(basis.counts))}:
            continue  # `basis_faults` reports indices without a count.
        counts = {index: count for index, count in enumerate(basis.counts) if count > 1}
        idle = [count for index, count in counts.items() if index not in basis.mapping]
        if not idle:
            continue
        right = _without_repetition(name, basis, prod(idle), knobs)
        remedy = "map a loop to them whose tile they divide, or take fewer"
        if right:
            remedy = f"to use them, write {name} = {right}"
        what = "subgroups" if name == gpu.SUBGROUP_BASIS else "lanes"
        listed = " and ".join(map(str, idle))
        yield Fault(
            f"no loop is mapped to the {listed} of '{name}', {knobs[name]}: "
            f"{prod(idle)} {what} each compute the same",
            remedy,
            knob=name,
            rule=Rule.REPEATED_WORK,
        )


_INTRINSIC_SIDE: Final = 32
"""A multiple of the rows and columns of all intrinsics."""


def _without_repetition(
    name: str, basis: gpu.Basis, idle: int, knobs: Mapping[str, mlir.Attribute]
) -> list[list[int]]:
    """Return a basis that gives `idle` threads to a loop whose tile they divide; empty if there is none."""
    bases = [basis, *(gpu.read_basis(knobs.get(other)) for other in gpu.BASES if other != name)]
    lists = {level: gpu.read_integers(knobs[level]) for level in gpu.TILES if level in knobs}
    counts = [basis.counts[index] for index in basis.mapping]
    rooms = []
    for loop in range(len(counts)):
        tiles = {
            level: sizes[loop] for level, sizes in lists.items() if sizes and loop < len(sizes)
        }
        taken = max(1, tiles.pop(gpu.THREAD, 1))
        for each in bases:
            index = each.mapping[loop] if each and loop < len(each.mapping) else -1
            taken *= each.counts[index] if each and 0 <= index < len(each.counts) else 1
        taken *= _INTRINSIC_SIDE if gpu.MMA_KIND in knobs else 1
        # The loop with the most room; of several, the last one, whose elements are contiguous.
        rooms.append((max(tiles.values(), default=0) / taken, loop))
    room, loop = max(rooms, default=(0, 0))
    if room < idle or room % idle:
        return []
    counts[loop] *= idle
    return [counts, [*range(len(counts))]]


def intrinsic_faults(name: str | None, pipeline: str, subgroup_size: int) -> Iterator[Fault]:
    """Yield a fault if an intrinsic has no subgroup, or VectorDistribute cannot distribute it to this subgroup size.

    Args:
        name: the intrinsic, None if unknown.
        pipeline: the configured pipeline, as MLIR prints it; empty if unknown.
        subgroup_size: the threads of a subgroup, 0 if missing.
    """
    threads = 0 if name is None else _INTRINSIC_THREADS.get(instruction_set(name), 0)
    if name is not None and not subgroup_size:
        yield Fault(
            f"its 'translation_info' has no 'subgroup_size', which '{name}' needs",
            f"write subgroup_size = {threads or 32}",
            knob="translation_info",
            rule=Rule.MISSING_KNOB,
        )
    is_distributed = pipeline == gpu.VECTOR_DISTRIBUTE
    if threads and is_distributed and subgroup_size and subgroup_size != threads:
        yield Fault(
            f"'{name}' takes a subgroup of {threads} threads, not {subgroup_size}",
            f"write subgroup_size = {threads}",
            is_error=True,
            knob=gpu.SUBGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
        )


def function_faults(
    attributes: Mapping[str, mlir.Attribute], target: Target | None
) -> Iterator[Fault]:
    """Yield faults of the attributes of the LLVM function, which may set the subgroups of a compute unit.

    Args:
        attributes: the entries of `llvm_func_attrs`.
        target: the compilation target, None if unknown.
    """
    for name in attributes:
        if misspelt(name, (_WAVES,)):
            message = f"LLVM reads no function attribute '{name}'"
            yield Fault(message, knob=name, suggestion=_WAVES, rule=Rule.UNREAD_KNOB)
    waves = attributes.get(_WAVES)
    if waves is None:
        return
    text = waves.value if isinstance(waves, mlir.StringAttr) else ""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)?", text):
        message = f"'{_WAVES}' is {waves}, which LLVM does not read"
        remedy = 'it is a least number, or a least and a greatest one, such as "2" or "2,4"'
        yield Fault(message, remedy, knob=_WAVES)
    elif target is not None and target.backend != "rocm":
        message = f"'{_WAVES}' has no effect on {target}: it is for AMD GPUs"
        yield Fault(message, knob=_WAVES, rule=Rule.OTHER_TARGET)


def _subgroup_sizes(target: Target | None) -> tuple[int, ...]:
    """Return the possible subgroup sizes of a target; empty if unknown."""
    architecture = target.architecture or "" if target is not None else ""
    sizes = (sizes for start, sizes in _SUBGROUP_SIZES.items() if architecture.startswith(start))
    return next(sizes, ())


def basis_faults(name: str, value: mlir.Attribute, loops: int, asked: str) -> Iterator[Fault]:
    """Yield the fault of a basis: counts, and for each loop the index of its count.

    Args:
        name: the knob.
        value: its value.
        loops: the number of loops of the configured op.
        asked: the description of that number.
    """
    basis = gpu.read_basis(value)
    if basis is None:
        return
    counts, mapping = list(basis.counts), list(basis.mapping)
    # The number of indices, the indices, then the counts that they name: later checks need the earlier ones.
    if len(mapping) != loops:
        message = f"'{name}' maps {counted(len(mapping), 'loop')} {asked}"
        remedy = "its second list has the index of a count for each loop"
        is_error = len(mapping) < loops
        yield Fault(message, remedy, is_error=is_error, rule=Rule.LOOP_COUNT)
    elif any(not 0 <= position < len(counts) for position in mapping):
        missing = [loop for loop, position in enumerate(mapping) if not 0 <= position < len(counts)]
        unused = [index for index in range(len(counts)) if index not in mapping]
        # Loops without a count take those that no loop has, and then further ones.
        indices = [*unused, *range(len(counts), len(counts) + len(missing))]
        right = [
            indices[missing.index(loop)] if loop in missing else position
            for loop, position in enumerate(mapping)
        ]
        enough = [*counts, *[1] * (max(right) + 1 - len(counts))]
        of_counts = counted(len(counts), "count")
        message = f"'{name}' is {value}, whose second list names more than its {of_counts}"
        remedy = f"an index is less than the number of counts, such as [{enough}, {right}]"
        yield Fault(message, remedy, is_error=True)
    elif (repeated := _shared_count(counts, mapping)) is not None:
        free = [
            position if mapping.index(position) == at else len(counts)
            for at, position in enumerate(mapping)
        ]
        message = f"'{name}' is {value}: two loops cannot share its count {counts[repeated]}"
        remedy = (
            f"a loop that no subgroups share has a count of 1, such as [{[*counts, 1]}, {free}]"
        )
        yield Fault(message, remedy, is_error=name == gpu.SUBGROUP_BASIS)
    elif min(counts, default=1) < 1:
        remedy = f"write [{[max(1, count) for count in counts]}, {mapping}]"
        yield Fault(f"'{name}' is {value}, and a count must be positive", remedy, is_error=True)


def _shared_count(counts: Sequence[int], mapping: Sequence[int]) -> int | None:
    """Return the index of a count greater than 1 that several loops share, or None if no count is shared."""
    shared = (index for index in mapping if counts[index] > 1 and mapping.count(index) > 1)
    return next(shared, None)
