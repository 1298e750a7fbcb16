"""The knobs and the rules of a space for GPUs, the target GPU, and the positions of knobs in a lowering config."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.iree import (
    AMD_SUBGROUP_SIZES,
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    REDUCTION_LEVEL,
    STAGES,
    SUBGROUP_SIZE,
    USE_IGEMM,
    WORKGROUP,
    WORKGROUP_SIZE,
    element_types,
    read_basis,
    read_integers,
)
from tuninglink.mlir import names
from tuninglink.solver import (
    Expression,
    Grade,
    SizeParameter,
    UndecidedError,
    any_of,
    number,
    select,
)
from tuninglink.spaces.model import (
    ArraySlot,
    ConstantSlot,
    ConstraintSetBuilder,
    DictionarySlot,
    IntegerKnob,
    IntegerSlot,
    KnobTemplate,
    MismatchError,
    OneOfKnob,
    Slot,
    StrayTileError,
    UncompilableError,
    WorkgroupSlot,
    integer,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import ConstraintSet, Problem, Workload


Number = Any
"""An integer expression, or an integer."""

PROVIDER: Final = "the GPU provider"
"""The default provider of the sets that this module builds."""

MOST_INTRINSICS: Final = 384
"""The maximum number of intrinsics in one step of a loop: larger numbers take minutes to compile (480 took over a
minute).
"""

MOST_STAGES: Final = 3
"""The maximum number of covered stages. With this number, two steps are in flight; one stage is equivalent to none."""

_MOST_UNROLLED: Final = 1 << 9
_BITS: Final = 8

_PROVENANCES: Final = {
    Grade.NECESSARY: "code generation fails otherwise",
    Grade.SUFFICIENT: "code generation may fail otherwise",
    Grade.UNSAFE: "the device does not run the code otherwise",
    Grade.WRONG: "IREE 3.13 computes wrong results otherwise",
    Grade.COMPILER: "the compiler's own constraints require it where they apply",
    Grade.HEURISTIC: "the compiler's own constraints look no further",
    Grade.SLOW: "more took minutes to compile",
}
"""The origins of the rules, by grade."""


class GpuRules:
    """Collects the knobs and the rules of a space, which have `parameters`."""

    def __init__(self, parameters: Iterable[str] = (), provider: str = PROVIDER) -> None:
        self._builder = ConstraintSetBuilder()
        self._provider = provider
        for name in parameters:
            self._builder.auxiliary(name)
        # The necessary rules were determined by compiling.
        self.necessary = partial(self.require, Grade.NECESSARY)
        self.sufficient = partial(self.require, Grade.SUFFICIENT)
        self.unsafe = partial(self.require, Grade.UNSAFE)
        self.keep_right = partial(self.require, Grade.WRONG)
        # The rules of the compiler's own constraints, and the limits of its own search, beyond which code compiles.
        self.follow_compiler = partial(self.require, Grade.COMPILER)
        self.limit_search = partial(self.require, Grade.HEURISTIC)

    def knob(self, name: str, low: int, high: int) -> Expression:
        """Add an integer knob."""
        return self._builder.knob(IntegerKnob(name, low, high), Grade.SUFFICIENT)

    def choice(self, name: str, options: Iterable[object]) -> Expression:
        """Add a knob that chooses among options."""
        return self._builder.knob(OneOfKnob(name, tuple(map(str, options))), Grade.SUFFICIENT)

    def require(self, grade: Grade, condition: Number, message: str, *values: Number) -> None:
        """Add a rule of a grade."""
        provenance = _PROVENANCES[grade]
        self._builder.require(condition, message, *values, provenance=provenance, grade=grade)

    def divide(self, grade: Grade, whole: Number, step: Number, what: str, by: str) -> None:
        """Add the rule that a step divides a number; the texts name both."""
        message = f"{what} must be divisible by {by} ({{}} % {{}} == 0)"
        self.require(grade, whole % step == 0, message, whole, step)

    def propose_nothing(self, reason: str) -> None:
        """Exclude all configurations of a space from proposals, without affecting verdicts."""
        grade = Grade.HEURISTIC
        self._builder.require(False, reason, provenance="others are faster", grade=grade)  # noqa: FBT003

    def powers_of_two(self, number: Number, high: int, size: int | None = None) -> None:
        """Restrict proposals for a knob to powers of two and the size of the loop, if it has one."""
        values: list[Number] = [1 << position for position in range(high.bit_length())]
        if isinstance(size, SizeParameter):
            values.append(size)
        elif size:
            values = sorted({*values, size})
        self._builder.require(
            any_of(*(number == value for value in values)),
            "it should be a power of two, not {}",
            number,
            provenance="others are rarely fast",
            grade=Grade.HEURISTIC,
        )

    def limit_work(
        self, count: Number, what: str, most: int = _MOST_UNROLLED, grade: Grade = Grade.SUFFICIENT
    ) -> None:
        """Limit the number of operations in the code of one thread; more are not covered."""
        message = f"a thread must have at most {most} {what} in a step ({{}} <= {most})"
        self.require(grade, count <= most, message, count)

    def limit_compilation(self, count: Number, what: str, most: int) -> None:
        """Limit the number of operations in the code of one thread, as more took minutes to compile."""
        self.limit_work(count, what, most, Grade.SLOW)

    def build(self, problem: Problem, pipeline: str, unknown: str = "") -> ConstraintSet:
        """Return the set; the rules must not be used afterwards, and are `unknown` if they do not decide."""
        return self._builder.build(problem, pipeline, self._provider, unknown=unknown)


def product_of(factors: Iterable[Number]) -> Number:
    """Return the product of at least one factor."""
    result: Number = None
    for factor in factors:
        result = factor if result is None else result * factor
    return result


def look_up(index: Expression, values: Sequence[int]) -> Number:
    """Return the value at an index."""
    result = number(values[-1])
    for position, value in reversed([*enumerate(values)][:-1]):
        result = select(index == position, number(value), result)
    return result


def divide_up(number: Number, step: Number) -> Number:
    """Return the quotient of positive numbers, rounded up."""
    return (number + step - 1) / step


def round_up(number: Number, step: Number) -> Number:
    """Return the smallest multiple of `step` that is not less than a positive number."""
    return divide_up(number, step) * step


def clip(tile: Number, size: Number | None) -> Number:
    """Return a tile clipped to the size of its loop, which is None for a dynamic one."""
    return tile if size is None else select(tile < size, tile, size)


# --- The properties of a target GPU that rules depend on

_NARROW_FLOATS = ("f8", "f6", "f4")


@dataclass(frozen=True)
class Intrinsic:
    """An instruction that multiplies and accumulates matrices, or several that do so together."""

    attribute: mlir.Attribute
    m: int
    n: int
    k: int
    element_types: tuple[str, str, str]
    is_virtual: bool = False
    is_transposed: bool = False


@dataclass(frozen=True)
class Gpu:
    """A GPU, and the limits of a workgroup: its shared memory in bytes and its threads.

    The preferred size of a subgroup comes first; intrinsics are in the order of the target's list.
    """

    architecture: str
    memory: int
    threads: int
    subgroup_sizes: tuple[int, ...]
    intrinsics: tuple[Intrinsic, ...]

    @property
    def subgroup_size(self) -> int:
        """The number of threads in a subgroup that the compiler prefers."""
        return self.subgroup_sizes[0]

    @property
    def is_amd(self) -> bool:
        return self.architecture.startswith("gfx")


def read_device(workload: Workload) -> Gpu:
    """Read the target GPU of a dispatch.

    Raises:
        UndecidedError: the GPU is unknown.
    """
    # The bindings abort the process on a target that does not describe a GPU, as is the case without limits.
    if workload.target is None or not workload.problem.limits:
        raise UndecidedError("the target does not describe its GPU")
    info = iree_gpu.TargetInfo.get_gpu_target_info(workload.target)
    sizes = tuple(info.subgroup_size_choices)
    if not sizes:
        raise UndecidedError("the target lacks the size of a subgroup")
    context, intrinsics = workload.target.context, list[Intrinsic]()
    for intrinsic in info.mma_intrinsics:
        is_virtual = isinstance(intrinsic, iree_gpu.VirtualMMAIntrinsic)
        kind = iree_gpu.VirtualMMAAttr if is_virtual else iree_gpu.MMAAttr
        attribute = kind.get(int(intrinsic), ctx=context)
        assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
        m, n, k = attribute.mnk_shape
        # Intrinsics with several blocks or without a layout do not distribute their result over a subgroup.
        if prod(attribute.abc_vector_types[2].shape) * sizes[0] != m * n:
            continue
        types = element_types(attribute)
        intrinsics.append(Intrinsic(attribute, m, n, k, types, is_virtual))
        if m == n:
            transposed = kind.get(int(intrinsic), col_major=True, ctx=context)
            intrinsics.append(Intrinsic(transposed, m, n, k, types, is_virtual, is_transposed=True))
    return Gpu(
        architecture=info.arch,
        memory=info.max_workgroup_memory_bytes,
        threads=info.max_thread_count_per_workgroup,
        subgroup_sizes=sizes,
        intrinsics=tuple(intrinsics),
    )


def check_element_types(
    types: Iterable[str], device: Gpu, *, needs_conversions: bool = False
) -> None:
    """Check that the device can lower element types."""
    is_excluded = needs_conversions and not device.is_amd
    supported = {type_ for result in device.intrinsics for type_ in result.element_types}
    for type_ in types:
        if type_.startswith(_NARROW_FLOATS) and (is_excluded or type_ not in supported):
            raise UndecidedError(f"{device.architecture} may not have {type_}")


# --- The rules of a form of configurations, and the positions of its knobs


def knob_name(entry: str, loop: int) -> str:
    """Return the name of the knob that tiles a loop in an entry of the lowering config."""
    return f"{entry}[{loop}]"


class Setting(NamedTuple):
    """The problem, the GPU and the pipeline that a form of configurations is for."""

    problem: Problem
    device: Gpu
    pipeline: mlir.Attribute


class Definition(NamedTuple):
    """The definition of a space: its constraints, and the template with their knobs."""

    constraints: ConstraintSet
    template: KnobTemplate


class SpaceRules(GpuRules):
    """The rules of a form of configurations, and the positions of its knobs in the lowering config.

    Forms fill `tiles` with the tiles of a workgroup, by loop, and `slots` with those of knobs, by entry and loop.
    """

    threads: Number
    subgroup_size: Number
    stages: Number

    def __init__(self, setting: Setting, loop_count: int) -> None:
        self.problem, self.device, self.pipeline = setting
        sizes: list[Any] = [dimension.size for dimension in self.problem.dimensions]
        super().__init__(size.term.name for size in sizes if isinstance(size, SizeParameter))
        self.loop_count = loop_count
        self.context = self.pipeline.context
        self.most_subgroups = max(1, self.device.threads // self.device.subgroup_size)
        self.tiles: dict[int, Number] = {}
        self.slots: dict[str, dict[int, Slot]] = {}

    def tile(
        self, entry: str, loop: int, high: int, *, low: int = 1, zero: int | None = None
    ) -> Number:
        name = knob_name(entry, loop)
        self.slots.setdefault(entry, {})[loop] = IntegerSlot(name, zero)
        return self.knob(name, low, high)

    def tile_slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config that hold tiles; a loop without a knob has the tile 0."""
        zero, entries = self.constant(0), dict[str, Slot]()
        for entry, slots in self.slots.items():
            tiles = tuple(slots.get(loop, zero) for loop in range(self.loop_count))
            entries[entry] = ArraySlot(tiles)
            if entry in _LEVELS:
                entries[entry] = _LevelSlot(tiles, self.context, entry == REDUCTION_LEVEL)
        return entries

    def basis(self, counts: Mapping[int, str], loops: Iterable[int] | None = None) -> Slot:
        mapped = range(self.loop_count) if loops is None else loops
        return BasisSlot(counts, tuple(mapped), self.loop_count)

    def constant(self, value: int, *, is_ignored: bool = False) -> Slot:
        with self.context:
            return ConstantSlot(integer(value), is_ignored)

    def clipped(self, sizes: Sequence[int | None]) -> dict[int, Number]:
        return {loop: clip(tile, sizes[loop]) for loop, tile in self.tiles.items()}

    def add_workgroup(self) -> None:
        """Add the knobs of a workgroup: its threads, those of a subgroup, and the prefetched stages."""
        device = self.device
        self.threads = self.knob(WORKGROUP_SIZE, 1, device.threads)
        size = self.subgroup_size = self.knob(SUBGROUP_SIZE, 1, max(device.subgroup_sizes))
        self.stages = self.knob(STAGES, 0, MOST_STAGES)
        if device.is_amd:
            is_supported = any_of(*(size == each for each in AMD_SUBGROUP_SIZES))
            self.necessary(is_supported, "a subgroup must have 32 or 64 threads, not {}", size)
        message = f"a subgroup must have {device.subgroup_size} threads, not {{}}"
        self.follow_compiler(size == device.subgroup_size, message, size)

    def match_threads(self, needed: Number, source: str, grade: Grade = Grade.COMPILER) -> None:
        """Require the number of threads in a workgroup that the tiles of a `source` need."""
        message = f"a workgroup must have the threads {source} ({{}} == {{}})"
        self.require(grade, self.threads == needed, message, self.threads, needed)

    def share_prefetched(self, elements: Number, stages: int, *unless: Number) -> None:
        """Require the threads to share the elements of a copy that a number of stages prefetches."""
        is_shared = any_of(self.stages < stages, elements % self.threads == 0, *unless)
        message = "the {} threads must share the {} elements that are prefetched"
        self.sufficient(is_shared, message, self.threads, elements)

    def limit_memory(self, least: Sequence[Number], further: Sequence[Number]) -> None:
        """Limit the shared memory of a workgroup, given the sizes in bits of certain and of possible further uses."""
        most, used = self.device.memory, number(0)
        for bits in least:
            used = used + bits
        message = f"shared memory must suffice ({{}} <= {most} bytes)"
        self.necessary(used <= most * _BITS, message, used / _BITS)
        for bits in further:
            used = used + bits
        message = f"shared memory must suffice for the exchanged data ({{}} <= {most} bytes)"
        self.sufficient(used <= most * _BITS, message, used / _BITS)

    def define(
        self,
        lowering: Mapping[str, Slot],
        *,
        unknown: str = "",
        ignored: frozenset[str] = frozenset(),
        is_flat: bool = True,
        is_igemm: bool = False,
        keeps_banks: bool = False,
        decomposition: Mapping[str, Mapping[str, Slot]] | None = None,
    ) -> Definition:
        """Return the form with the entries of its lowering config; the rules must not be used afterwards."""
        # The entries `ignored` do not matter, and `keeps_banks` switches padding against bank conflicts off. The
        # lowering configs of the matmuls of an attention, by name, are its `decomposition`.
        entries: dict[str, Slot] = dict(lowering)
        if decomposition is not None:
            parts: dict[str, Slot] = {}
            for name, slots in decomposition.items():
                config = DictionarySlot(slots, frozenset(), is_lowering_config=True)
                parts[name] = DictionarySlot({names.LOWERING_CONFIG: config})
            entries[names.DECOMPOSITION_CONFIG] = DictionarySlot(parts)
        entries[WORKGROUP_SIZE] = WorkgroupSlot(WORKGROUP_SIZE, is_flat)
        entries[SUBGROUP_SIZE] = IntegerSlot(SUBGROUP_SIZE)
        with self.context:
            off, on = mlir.BoolAttr.get(False), mlir.BoolAttr.get(True)
        options: dict[str, Slot] = {
            STAGES: IntegerSlot(STAGES),
            NO_BANK_CONFLICT_REDUCTION: ConstantSlot(on if keeps_banks else off, not keeps_banks),
            USE_IGEMM: ConstantSlot(on if is_igemm else off),
        }
        entries[PIPELINE_OPTIONS] = DictionarySlot(options)
        template = KnobTemplate(self.pipeline, DictionarySlot(entries, ignored))
        return Definition(self.build(self.problem, str(self.pipeline), unknown), template)


@dataclass(frozen=True)
class _LevelSlot(ArraySlot):
    """The tiles of a level, in which code generation treats missing sizes as zeros.

    It applies the steps of reductions within the tiles of a workgroup, and fails if there are more steps than loops.
    """

    context: mlir.Context
    has_steps: bool

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        count = len(actual) if self.has_steps and isinstance(actual, mlir.ArrayAttr) else 0
        if count > len(self.elements):
            loops = f"{len(self.elements)} loops"
            raise UncompilableError(f"'{path}' is {actual}, and the operation has {loops}", path)
        sizes = read_integers(actual)
        if sizes is not None:
            sizes = (*sizes, *[0] * (len(self.elements) - len(sizes)))
            strays = {
                loop: size
                for loop, (slot, size) in enumerate(zip(self.elements, sizes, strict=False))
                if size and isinstance(slot, ConstantSlot) and not slot.is_ignored
            }
            if strays:
                tiles = ", ".join(f"'{path}[{loop}]' is {size}" for loop, size in strays.items())
                covered = (0 if loop in strays else size for loop, size in enumerate(sizes))
                steps = strays if self.has_steps else {}
                narrowed = {knob_name(WORKGROUP, loop): size for loop, size in steps.items()}
                raise StrayTileError(tiles, path, self._array(covered), narrowed)
            actual = self._array(sizes)
        super().read(path, actual, assignment)

    def read_missing(self, path: str, assignment: dict[str, int]) -> None:
        self.read(path, self._array(()), assignment)

    def _array(self, sizes: Iterable[int]) -> mlir.ArrayAttr:
        with self.context:
            return mlir.ArrayAttr.get([integer(size) for size in sizes])


_LEVELS: Final = (WORKGROUP, REDUCTION_LEVEL)
"""The levels whose missing sizes are zeros; determined by experiment."""


@dataclass(frozen=True)
class BasisSlot(Slot):
    """A basis: numbers of subgroups or of lanes, and for each loop the index of its number."""

    counts: Mapping[int, str]
    loops: tuple[int, ...]
    rank: int

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read a basis whose numbers are in the order of the loops; the number 1 may be anywhere."""
        mismatch = MismatchError(f"'{path}' is {actual}")
        basis = read_basis(actual)
        if basis is None:
            raise mismatch
        counts, mapping = basis.counts, basis.mapping
        try:
            along = dict(zip(self.loops, (counts[place] for place in mapping), strict=True))
        except (ValueError, IndexError):
            raise mismatch from None
        if mapping == self.loops:
            # Numbers along loops outside of the basis are present as well.
            along = dict(enumerate(counts))
        elif idle := [count for at, count in enumerate(counts) if at not in mapping and count > 1]:
            message = f"'{path}' has {prod(idle)} that no loop is mapped to"
            with actual.context:
                covered = self._basis(along.get(loop, 1) for loop in range(self.rank))
            raise StrayTileError(message, path, covered, {})
        elif sum(each != 1 for each in counts) != sum(each != 1 for each in along.values()):
            raise mismatch
        places = [place for place in mapping if counts[place] != 1]
        if places != sorted(set(places)):
            raise mismatch
        for loop, count in along.items():
            name = self.counts.get(loop)
            if count != (1 if name is None else assignment.setdefault(name, count)):
                raise mismatch

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        names_of_counts = map(self.counts.get, range(self.rank))
        return self._basis(1 if name is None else assignment[name] for name in names_of_counts)

    def _basis(self, counts: Iterable[int]) -> mlir.Attribute:
        arrays = [mlir.ArrayAttr.get(list(map(integer, part))) for part in (counts, self.loops)]
        return mlir.ArrayAttr.get(arrays)
