"""Spaces for Vulkan and Metal, whose configurations hold tile sizes by level, and the rules that all of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import (
    SPIRV_LEVELS,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
    element_types,
    read_tile_levels,
    tile_levels_config,
)
from tuninglink.mlir import entries_of, error, integers_of, names
from tuninglink.solver import AssignmentError, Grade, any_of, negation
from tuninglink.spaces.gpu import (
    Gpu,
    GpuRules,
    Number,
    knob_name,
    product_of,
    read_device,
)
from tuninglink.spaces.model import (
    ArraySlot,
    Configuration,
    ConstantSlot,
    DictionarySlot,
    IntegerSlot,
    MismatchError,
    MissingEntryError,
    Slot,
    Space,
    cached_reading,
    integer,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import ConstraintSet, Problem, Workload


_COOPERATIVE: Final = ("WMMA", "NV_WMMA")
"""The name prefixes of the intrinsics that code generation for SPIR-V converts to cooperative matrices.

`vector.contract` of other shapes, such as 16x8x16, is not converted (`no GPU subgroup mma compute ops generated`).
"""

_ELEMENTS: Final = frozenset({"i8", "i32", "f16", "f32", "f64"})
"""The element types of cooperative matrices in MLIR."""

_BRAIN: Final = "bf16"
_BYTES: Final = ("i8", "f8")
"""The prefixes of the element types of one byte."""

_STORAGE: Final = re.compile(r"storage = ([\w|]+)")
"""The pattern for the memory access widths of a target, which the bindings do not return."""


@dataclass(frozen=True)
class SpirvGpu:
    """A GPU that runs SPIR-V, with the sizes and the element types of its cooperative matrices."""

    gpu: Gpu
    workgroup_sizes: tuple[int, ...]
    matrices: tuple[tuple[tuple[int, int, int], tuple[str, str, str]], ...]
    stores_bytes: bool

    def has_vectors(self, element_type: str) -> bool:
        is_byte = element_type.startswith(_BYTES)
        return element_type != _BRAIN and (not is_byte or self.stores_bytes)

    def is_legal_tile(self, element_type: str, tile: Number) -> Number:
        """Return the condition that vectors along a tile of contiguous elements are legalized."""
        # Determined by compiling: `vector<4xbf16>` is not made of `vector<2xf32>`, and `vector<4xi8>` only where the
        # device accesses bytes.
        if element_type == _BRAIN:
            return tile % 8 != 0
        if element_type.startswith(_BYTES) and not self.stores_bytes:
            return any_of(tile % 4 != 0, tile % 8 == 0)
        return True


def read_spirv_device(workload: Workload) -> SpirvGpu:
    """Read the target GPU of a dispatch."""
    gpu = read_device(workload)
    assert workload.target is not None
    info = iree_gpu.TargetInfo.get_gpu_target_info(workload.target)
    matrices: dict[tuple[tuple[int, int, int], tuple[str, str, str]], None] = {}
    for intrinsic in info.mma_intrinsics:
        if intrinsic.name.startswith(_COOPERATIVE):
            attribute = iree_gpu.MMAAttr.get(int(intrinsic), ctx=workload.root.context)
            assert isinstance(attribute, iree_gpu.MMAAttr)
            types = element_types(attribute)
            if _ELEMENTS.issuperset(types):
                m, n, k = attribute.mnk_shape
                matrices[(m, n, k), types] = None
    storage = _STORAGE.search(str(workload.target))
    stores_bytes = storage is None or "b8" in storage[1].split("|")
    return SpirvGpu(gpu, tuple(info.max_workgroup_sizes), tuple(matrices), stores_bytes)


PROVIDER: Final = "the SPIR-V provider"

THREADS_KNOBS: Final = tuple(f"{WORKGROUP_SIZE}[{axis}]" for axis in range(3))

_BYTE: Final = 8

VECTOR_BITS: Final = 128
"""The maximum width of vectors: constants of longer ones, such as partial results, are not legalized."""

_MOST_UNROLLED: Final = 1 << 12
"""The maximum number of multiplications of a thread in a step. Processor time to compile: 9 s for 6,144 of f16, 8 to 11
s for 16,384 of f32.
"""

_MOST_PROPOSED: Final = 1 << 11
"""The maximum proposed number of multiplications: vendors' heuristics choose up to 2,048 (8x8x32 on NVIDIA's GPUs)."""


class SpirvSpace(Space):
    """The configurations in a pipeline, whose constraints are built on first access: `write` adds the rules."""

    provider = PROVIDER

    def __init__(self, rules: SpirvRules, write: Callable[[SpirvRules], None]) -> None:
        self._unwritten = rules
        self._write = write
        self._read = cached_reading(self._read_knobs)

    @cached_property
    def _rules(self) -> SpirvRules:
        self._write(self._unwritten)
        return self._unwritten

    @cached_property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        return self._rules.build(self._rules.problem, str(self._rules.pipeline))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        return self._read(configuration)

    def _read_knobs(self, configuration: Configuration) -> dict[str, int]:
        info = configuration.translation_info
        levels = read_tile_levels(configuration.lowering_config)
        if levels is None:
            raise MismatchError(f"'{names.LOWERING_CONFIG}' is {configuration.lowering_config}")
        if info is None or not 0 < len(info.workgroup_size) <= len(THREADS_KNOBS):
            raise MissingEntryError("'workgroup_size' does not have three sizes")
        threads = [*info.workgroup_size, *[1] * (len(THREADS_KNOBS) - len(info.workgroup_size))]
        assignment = dict(zip(THREADS_KNOBS, threads, strict=True))
        assignment[SUBGROUP_SIZE] = info.subgroup_size
        slots = self._rules.level_slots
        with self._rules.pipeline.context:
            for position in range(max(len(levels), len(slots))):
                sizes = levels[position] if position < len(levels) else ()
                path = f"tile_sizes[{position}]"
                if position >= len(slots):
                    if any(sizes):
                        raise MismatchError(f"'{path}' is {list(sizes)}")
                    continue
                slot = slots[position]
                rank = len(slot.elements) if isinstance(slot, ArraySlot) else len(sizes)
                if any(sizes[rank:]):
                    message = f"'{path}' is {list(sizes)}, and the operation has {rank} loops"
                    raise MismatchError(message)
                padded = [*sizes[:rank], *[0] * (rank - len(sizes))]
                slot.read(path, mlir.ArrayAttr.get([*map(integer, padded)]), assignment)
        options = DictionarySlot(self._rules.options, frozenset())
        options.read_entries("", entries_of(info.configuration), assignment)
        return assignment

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        slots, options = self._rules.level_slots, self._rules.options
        pipeline = self._rules.pipeline
        try:
            with pipeline.context as context:
                levels = [integers_of(slot.write(assignment)) for slot in slots]
                return iree_codegen.CompilationInfoAttr.get(
                    tile_levels_config(levels, context),
                    iree_codegen.TranslationInfoAttr.get(
                        pipeline,
                        None,
                        [assignment[name] for name in THREADS_KNOBS],
                        assignment[SUBGROUP_SIZE],
                        DictionarySlot(options).write(assignment) if options else None,
                    ),
                )
        except (ValueError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


class SpirvRules(GpuRules):
    """The rules of a space, and the slots of its knobs: in levels of tiles, and in the options of the pipeline."""

    threads: tuple[Number, ...]
    subgroup_size: Number

    def __init__(
        self, problem: Problem, sizes: Sequence[int], device: SpirvGpu, pipeline: mlir.Attribute
    ) -> None:
        super().__init__(provider=PROVIDER)
        self.problem = problem
        self.sizes = sizes
        self.device = device
        self.pipeline = pipeline
        self.levels: dict[str, dict[int, Slot] | Slot] = {}
        self.options: dict[str, Slot] = {}

    @cached_property
    def level_slots(self) -> Sequence[Slot]:
        """The slots of the levels of tiles; the rules must not be extended afterwards."""
        levels: list[Slot] = []
        with self.pipeline.context:
            zero = ConstantSlot(integer(0))
        for name in SPIRV_LEVELS[str(self.pipeline)]:
            slots = self.levels.get(name, {})
            if not isinstance(slots, Slot):
                slots = ArraySlot(tuple(slots.get(loop, zero) for loop in range(len(self.sizes))))
            levels.append(slots)
        return levels

    def option(self, name: str, high: int) -> Number:
        self.options[name] = IntegerSlot(name)
        return self.knob(name, 0, high)

    def tile(self, entry: str, loop: int, *, low: int = 1, level: str = "") -> Number:
        size, name = self.sizes[loop], knob_name(entry, loop)
        self._place(level or entry, loop, IntegerSlot(name, size if low else None))
        return self.knob(name, low, max(size, self.device.gpu.threads))

    def fix(self, level: str, loop: int, value: int) -> None:
        with self.pipeline.context:
            self._place(level, loop, ConstantSlot(integer(value)))

    def _place(self, level: str, loop: int, slot: Slot) -> None:
        slots = self.levels.setdefault(level, {})
        assert isinstance(slots, dict)
        slots[loop] = slot

    def propose(self, tile: Number, name: str, values: Sequence[int]) -> None:
        """Propose only some values for a tile."""
        message = f"{name} should be one of {', '.join(map(str, values))}, not {{}}"
        self.limit_search(any_of(*(tile == value for value in values)), message, tile)

    def add_workgroup(self, *, has_subgroup_size: bool = False) -> None:
        """Add the knobs of a workgroup, whose size of a subgroup the driver should choose unless it is a choice."""
        gpu = self.device.gpu
        self.threads = tuple(self.knob(name, 1, gpu.threads) for name in THREADS_KNOBS)
        self.subgroup_size = self.knob(SUBGROUP_SIZE, 0, max(gpu.subgroup_sizes))
        limits = zip(THREADS_KNOBS, self.threads, self.device.workgroup_sizes, strict=False)
        for name, count, most in limits:
            self.unsafe(count <= most, f"{name} must be at most {most}, not {{}}", count)
        total = product_of(self.threads)
        message = f"a workgroup must have at most {gpu.threads} threads, not {{}}"
        self.unsafe(total <= gpu.threads, message, total)
        if not has_subgroup_size:
            message = "the driver should choose the size of a subgroup, not {}"
            self.limit_search(self.subgroup_size == 0, message, self.subgroup_size)

    def unroll(self, count: Number) -> None:
        """Limit the multiplications, or other operations, of a thread in a step."""
        self.limit_compilation(count, "operations", _MOST_UNROLLED)
        message = f"a thread should have at most {_MOST_PROPOSED} operations in a step ({{}})"
        self.limit_search(count <= _MOST_PROPOSED, message, count)

    def limit_copies(self, grade: Grade, bits: Number, what: str = "", when: Number = None) -> None:
        """Limit the bits of copies in shared memory, `when` they are made."""
        room = self.device.gpu.memory
        fits = bits <= room * _BYTE
        condition = fits if when is None else any_of(fits, negation(when))
        message = f"shared memory must suffice{what} ({{}} <= {room} bytes)"
        self.require(grade, condition, message, bits / _BYTE)


def divisors(size: int, most: int) -> list[int]:
    """Return the divisors of a size up to a limit."""
    return [value for value in range(1, min(size, most) + 1) if size % value == 0]
