"""What is wrong with the knobs of a configuration for GPUs, whatever the target."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.attributes import is_of_a_dialect
from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.iree.targets import Target

_TILES: Final = ("workgroup", "reduction", "thread", "subgroup", "serial", "partial_reduction")
"""The knobs that have a size for each loop."""

_BASES: Final = ("subgroup_basis", "lane_basis")

KNOBS: Final = (
    *_TILES,
    *_BASES,
    *("mma_kind", "promote_operands", "promotion_types"),
    *("padding", "padding_conv", "convert_acc_gemm"),
)
"""The knobs of a `#iree_gpu.lowering_config` that code generation reads.

Source: the strings of the compiler's library, `iree-base-compiler` 3.13.
"""

_INTEGERS: Final = {
    **dict.fromkeys((*_TILES, "padding", "padding_conv"), "[64, 64, 0]"),
    "promote_operands": "[0, 1]",
}
"""The knobs that are lists of integers, with an example of each."""

_READ_BY: Final = {
    "subgroup": ("TileAndFuse", "subgroup_basis"),
    "subgroup_basis": ("VectorDistribute", "subgroup"),
    "lane_basis": ("VectorDistribute", "thread"),
}
"""For knobs of one pipeline of two which one that is, and the knob of the other pipeline that comes closest."""

_PIPELINES: Final = {
    f"#iree_gpu.pipeline<{name}>": name for name in ("TileAndFuse", "VectorDistribute")
}

_OPERANDS: Final = 3
"""How many operands a contraction has, its result among them."""

_MOST_THREADS: Final = 1024
"""The threads of a workgroup on any GPU that the compiler knows: `max_thread_count_per_workgroup`."""

_AMD: Final = (32, 64)
"""The subgroups that AMD's code generation has: for others it says `invalid subgroup size`."""

_SUBGROUP_SIZES: Final = {"gfx9": (64,), "gfx1": _AMD, "sm_": (32,)}
"""The threads of a subgroup, for what names of architectures start with: the `subgroup_size_choices` of targets."""

_LIKE: Final = 0.8
"""How much of two names must be the same for one to be the other, misspelt."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a configuration.

    Attributes:
        message: what it is.
        remedy: what to do about it; may be empty.
        is_error: whether code generation fails; else it takes something else than is meant.
    """

    message: str
    remedy: str = ""
    is_error: bool = False


def knob_faults(
    knobs: Mapping[str, mlir.Attribute], pipeline: str, loops: int | None
) -> Iterator[Fault]:
    """Yields what is wrong with the entries of a `#iree_gpu.lowering_config`.

    Args:
        knobs: the entries.
        pipeline: the pipeline that is configured, as MLIR writes it; empty if it is not known.
        loops: how many loops the operation has that is configured; None if that is not known.
    """
    for name, value in knobs.items():
        if name not in KNOBS:
            meant = misspelt(name, KNOBS)
            hint = f"; did you mean '{meant}'?" if meant else ""
            remedy = "" if meant else f"it reads {', '.join(KNOBS)}"
            yield Fault(f"code generation reads no '{name}'{hint}", remedy)
        else:
            yield from _malformed(name, value)
            yield from _of_another_pipeline(name, pipeline)
            if loops is not None:
                yield from _of_other_loops(name, value, loops)


def thread_faults(
    workgroup_size: Sequence[int], subgroup_size: int, target: Target | None
) -> Iterator[Fault]:
    """Yields what is wrong with the numbers of threads of a `translation_info`.

    Args:
        workgroup_size: the threads of a workgroup in each dimension; none if it is missing.
        subgroup_size: the threads of a subgroup, 0 if it is missing.
        target: what is compiled for, None if that is not known.
    """
    if not workgroup_size:
        yield Fault(
            "its 'translation_info' has no 'workgroup_size'",
            "write the number of threads in each dimension, such as workgroup_size = [256, 1, 1]",
        )
    elif prod(workgroup_size) > _MOST_THREADS:
        yield Fault(
            f"a workgroup of {prod(workgroup_size):,} threads is more than GPUs run",
            f"they run {_MOST_THREADS:,} at most",
        )
    known = _subgroup_sizes(target)
    if known and subgroup_size and subgroup_size not in known:
        is_amd = target is not None and target.backend == "rocm"
        yield Fault(
            f"a subgroup of {target} has {' or '.join(map(str, known))} threads, not {subgroup_size}",
            is_error=is_amd and subgroup_size not in _AMD,
        )


def _subgroup_sizes(target: Target | None) -> tuple[int, ...]:
    """Returns how many threads a subgroup of a target can have; nothing if that is not known."""
    architecture = (target.architecture if target is not None else None) or ""
    sizes = (sizes for start, sizes in _SUBGROUP_SIZES.items() if architecture.startswith(start))
    return next(sizes, ())


def misspelt(name: str, known: Sequence[str]) -> str:
    """Returns the known name that `name` is meant to be; nothing if it is known, or like none."""
    return "" if name in known else nearest(name, known, cutoff=_LIKE)


def _malformed(name: str, value: mlir.Attribute) -> Iterator[Fault]:
    wanted = ""
    integers = _integers(value)
    if name in _INTEGERS and (integers is None or min(integers, default=0) < 0):
        wanted = f"a list of integers, none of them negative, such as {_INTEGERS[name]}"
    elif name in _BASES and _basis(value) is None:
        wanted = "two lists, such as [[2, 2, 1], [0, 1, 2]]: counts, and for each loop the one that is along it"
    elif name == "promotion_types" and not isinstance(value, mlir.ArrayAttr):
        wanted = "a list, with one for each of 'promote_operands'"
    elif name == "mma_kind" and not is_of_a_dialect(value):
        wanted = "an intrinsic, such as #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
    if wanted:
        yield Fault(f"'{name}' is {value}, which code generation does not read", f"it is {wanted}")


def _of_another_pipeline(name: str, pipeline: str) -> Iterator[Fault]:
    reader, other = _READ_BY.get(name, ("", ""))
    configured = _PIPELINES.get(pipeline)
    if reader and configured and configured != reader:
        yield Fault(
            f"{configured} reads no '{name}', which is a knob of {reader}",
            f"{configured} reads '{other}' instead",
        )


def _of_other_loops(name: str, value: mlir.Attribute, loops: int) -> Iterator[Fault]:
    asked = f"for the {_count(loops, 'loop')} that the matcher asks for"
    if name in _TILES and isinstance(value, mlir.ArrayAttr) and len(value) != loops:
        remedy = "there is one size for each loop, 0 for one that is not tiled"
        yield Fault(f"'{name}' has {_count(len(value), 'size')} {asked}", remedy)
    basis = _basis(value) if name in _BASES else None
    if basis is not None:
        counts, mapping = basis
        if len(mapping) != loops:
            yield Fault(
                f"'{name}' maps {_count(len(mapping), 'loop')} {asked}",
                "its second list has the index of a count for each loop",
            )
        elif any(not 0 <= each < len(counts) for each in mapping):
            yield Fault(
                f"'{name}' is {value}, whose second list names more than its "
                f"{_count(len(counts), 'count')}",
                f"an index is less than {len(counts)}",
            )
    if name == "promote_operands":
        outside = [each for each in _integers(value) or () if not 0 <= each < _OPERANDS]
        if outside:
            yield Fault(
                f"'{name}' names operand {outside[0]}, which there is not",
                "0 and 1 are the operands, 2 is the result",
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _integers(value: mlir.Attribute) -> list[int] | None:
    if isinstance(value, mlir.ArrayAttr) and all(isinstance(e, mlir.IntegerAttr) for e in value):
        return [mlir.IntegerAttr(each).value for each in value]
    return None


def _basis(value: mlir.Attribute) -> tuple[list[int], list[int]] | None:
    parts = [_integers(each) for each in value] if isinstance(value, mlir.ArrayAttr) else []
    match parts:
        case [list(counts), list(mapping)]:
            return counts, mapping
    return None
