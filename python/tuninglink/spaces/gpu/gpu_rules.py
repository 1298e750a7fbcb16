"""The collector of the knobs and the rules of a space for GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

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
    IgnoredSlot,
    IntegerKnob,
    IntegerSlot,
    InvalidFormError,
    KnobTemplate,
    MismatchError,
    OneOfKnob,
    Slot,
    StrayTileError,
    WorkgroupSlot,
    integer,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import ConstraintSet, Problem, Workload


Number = Any
"""An integer expression, or an integer."""

PROVIDER: Final = "the GPU provider"
"""The default provider of the sets that this module builds."""

THREADS_KNOB: Final = WORKGROUP_SIZE
SUBGROUP_SIZE_KNOB: Final = SUBGROUP_SIZE
STAGES_KNOB: Final = "prefetch_num_stages"

MOST_INTRINSICS: Final = 384
"""The maximum number of intrinsics in one step of a loop: larger numbers take minutes to compile (480 took over a
minute).
"""

MOST_STAGES: Final = 3
"""The maximum number of covered stages. With this number, two steps are in flight; one stage is equivalent to none."""

_MOST_UNROLLED: Final = 1 << 9
_BITS: Final = 8


class GpuRules:
    """Collects the knobs and the rules of a space.

    Args:
        parameters: the names of the parameters of the rules.
        provider: the provider of the sets.
    """

    def __init__(self, parameters: Iterable[str] = (), provider: str = PROVIDER) -> None:
        self._builder = ConstraintSetBuilder()
        self._provider = provider
        for name in parameters:
            self._builder.auxiliary(name)

    def knob(self, name: str, low: int, high: int) -> Expression:
        """Add an integer knob."""
        return self._builder.knob(IntegerKnob(name, low, high), Grade.SUFFICIENT)

    def choice(self, name: str, options: Iterable[object]) -> Expression:
        """Add a knob that chooses among options."""
        return self._builder.knob(OneOfKnob(name, tuple(map(str, options))), Grade.SUFFICIENT)

    def necessary(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation makes code generation fail; determined by compiling."""
        self._builder.require(
            condition, message, *values, provenance="code generation fails otherwise"
        )

    def sufficient(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation may make code generation fail."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="code generation may fail otherwise",
            grade=Grade.SUFFICIENT,
        )

    def unsafe(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation leads to code that compiles but does not run."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the device does not run the code otherwise",
            grade=Grade.UNSAFE,
        )

    def compilers(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule of the compiler's own constraints."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the compiler's own constraints require it where they apply",
            grade=Grade.COMPILER,
        )

    def not_chosen(self, condition: Number, message: str, *values: Number) -> None:
        """Add a limit of the compiler's own search; configurations beyond it compile."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the compiler's own constraints look no further",
            grade=Grade.HEURISTIC,
        )

    def propose_nothing(self, reason: str) -> None:
        """Exclude all configurations of a space from proposals, without affecting verdicts."""
        self._builder.require(
            False,  # noqa: FBT003
            reason,
            provenance="others are faster",
            grade=Grade.HEURISTIC,
        )

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

    def few(self, count: Number, what: str, most: int = _MOST_UNROLLED) -> None:
        """Limit the number of operations in the code of one thread; more are not covered."""
        self.sufficient(
            count <= most,
            f"a thread must have at most {most} {what} in a step ({{}} <= {most})",
            count,
        )

    def unrolled(self, count: Number, what: str, most: int) -> None:
        """Limit the number of operations in the code of one thread, as more took minutes to compile."""
        self._builder.require(
            count <= most,
            f"a thread must have at most {most} {what} in a step ({{}} <= {most})",
            count,
            provenance="more took minutes to compile",
            grade=Grade.SLOW,
        )

    def look_up(self, index: Expression, values: Sequence[int]) -> Number:
        """Return the value at an index."""
        result = number(values[-1])
        for position, value in reversed([*enumerate(values)][:-1]):
            result = select(index == position, number(value), result)
        return result

    def workgroup(self, device: Gpu) -> tuple[Number, Number, Number]:
        """Add the knobs of a workgroup.

        Returns:
            The number of threads in a workgroup and in a subgroup, and the number of prefetched stages.
        """
        threads = self.knob(THREADS_KNOB, 1, device.threads)
        subgroup_size = self.knob(SUBGROUP_SIZE_KNOB, 1, max(device.subgroup_sizes))
        stages = self.knob(STAGES_KNOB, 0, MOST_STAGES)
        if device.architecture.startswith("gfx"):
            self.necessary(
                any_of(*(subgroup_size == each for each in AMD_SUBGROUP_SIZES)),
                "a subgroup must have 32 or 64 threads, not {}",
                subgroup_size,
            )
        self.compilers(
            subgroup_size == device.subgroup_size,
            f"a subgroup must have {device.subgroup_size} threads, not {{}}",
            subgroup_size,
        )
        return threads, subgroup_size, stages

    def memory_bounds(
        self, least: Sequence[Number], further: Sequence[Number], device: Gpu
    ) -> None:
        """Limit the shared memory of a workgroup where the exact size is unknown.

        Args:
            least: the sizes in bits of certain uses.
            further: the sizes in bits of possible further uses.
            device: the device.
        """
        self.memory(least, device)
        most: Number = number(0)
        for each in (*least, *further):
            most = most + each
        self.sufficient(
            most <= device.memory * _BITS,
            f"shared memory must suffice for the exchanged data ({{}} <= {device.memory} bytes)",
            most / _BITS,
        )

    def threads(
        self, threads: Number, needed: Number, source: str, grade: Grade = Grade.COMPILER
    ) -> None:
        """Require the number of threads in a workgroup that the tiles of a `source` need."""
        require = self.compilers if grade is Grade.COMPILER else self.not_chosen
        require(
            threads == needed,
            f"a workgroup must have the threads {source} ({{}} == {{}})",
            threads,
            needed,
        )

    def memory(self, bits: Sequence[Number], device: Gpu) -> None:
        """Limit the shared memory of a workgroup to the sum of `bits`."""
        used: Number = number(0)
        for bit in bits:
            used = used + bit
        self.necessary(
            used <= device.memory * _BITS,
            f"shared memory must suffice ({{}} <= {device.memory} bytes)",
            used / _BITS,
        )

    def build(self, problem: Problem, pipeline: str, unknown: str = "") -> ConstraintSet:
        """Return the set; the rules must not be used afterwards.

        Args:
            problem: the problem to configure.
            pipeline: the pipeline that the knobs configure.
            unknown: why no configuration is known to be valid; empty if the rules decide.
        """
        return self._builder.build(problem, pipeline, self._provider, unknown=unknown)


def product_of(factors: Iterable[Number]) -> Number:
    """Return the product of at least one factor."""
    result: Number = None
    for factor in factors:
        result = factor if result is None else result * factor
    return result


def round_up(number: Number, step: Number) -> Number:
    """Return the smallest multiple of `step` that is not less than a positive number."""
    return (number + step - 1) / step * step


def clip(tile: Number, size: Number | None) -> Number:
    """Return a tile clipped to the size of its loop, which is None for a dynamic one."""
    return tile if size is None else select(tile < size, tile, size)


# --- Tuninglink's constraints on the configurations of ops on GPUs, and the properties of a target GPU that they depend on

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

    def is_named(self, start: str) -> bool:
        return bool(start) and f"<{start}" in str(self.attribute)


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        architecture: the compiler's name for it, such as `gfx942`.
        memory: the maximum shared memory of a workgroup, in bytes.
        threads: the maximum number of threads in a workgroup.
        subgroup_sizes: the supported numbers of threads in a subgroup, the preferred one first.
        intrinsics: the matrix intrinsics, in the order of the target's list.
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
    def loads_directly(self) -> bool:
        """Whether the GPU loads from global memory directly into shared memory, in pieces of 128 bits."""
        return self.architecture == "gfx950"

    def multiplying(self, lhs: str, rhs: str, result: str) -> Sequence[Intrinsic]:
        """Return the intrinsics for operands and a result of some element types."""
        return [
            intrinsic
            for intrinsic in self.intrinsics
            if intrinsic.element_types == (lhs, rhs, result)
        ]


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
    return Gpu(
        architecture=info.arch,
        memory=info.max_workgroup_memory_bytes,
        threads=info.max_thread_count_per_workgroup,
        subgroup_sizes=sizes,
        intrinsics=tuple(_intrinsics(info, sizes[0], workload.target.context)),
    )


def _intrinsics(
    info: iree_gpu.TargetInfo, subgroup_size: int, context: mlir.Context
) -> Iterator[Intrinsic]:
    for intrinsic in info.mma_intrinsics:
        is_virtual = isinstance(intrinsic, iree_gpu.VirtualMMAIntrinsic)
        kind = iree_gpu.VirtualMMAAttr if is_virtual else iree_gpu.MMAAttr
        attribute = kind.get(int(intrinsic), ctx=context)
        assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
        m, n, k = attribute.mnk_shape
        # Intrinsics with several blocks or without a layout do not distribute their result over a subgroup.
        if prod(attribute.abc_vector_types[2].shape) * subgroup_size != m * n:
            continue
        types = element_types(attribute)
        yield Intrinsic(attribute, m, n, k, types, is_virtual)
        if m == n:
            transposed = kind.get(int(intrinsic), col_major=True, ctx=context)
            yield Intrinsic(transposed, m, n, k, types, is_virtual, is_transposed=True)


def check_element_types(
    types: Iterable[str], device: Gpu, *, needs_conversions: bool = False
) -> None:
    """Check that the device can lower element types."""
    is_excluded = needs_conversions and not device.architecture.startswith("gfx")
    supported = {type_ for result in device.intrinsics for type_ in result.element_types}
    for type_ in types:
        if type_.startswith(_NARROW_FLOATS) and (is_excluded or type_ not in supported):
            raise UndecidedError(f"{device.architecture} may not have {type_}")


# --- The tile knobs of a pipeline, by loop and by entry of the lowering config -------------------


def knob_name(entry: str, loop: int) -> str:
    """Return the name of the knob that tiles a loop in an entry of the lowering config."""
    return f"{entry}[{loop}]"


class KnobTable:
    """The knobs for the loops of a root op, and their positions in its lowering config."""

    def __init__(self, rules: GpuRules, loops: int, context: mlir.Context) -> None:
        self._rules = rules
        self._loops = loops
        self._context = context
        self._slots: dict[str, dict[int, Slot]] = {}

    def tile(
        self, entry: str, loop: int, high: int, *, low: int = 1, zero: int | None = None
    ) -> Number:
        """Add the knob for the tile of a loop."""
        name = knob_name(entry, loop)
        self._slots.setdefault(entry, {})[loop] = IntegerSlot(name, zero)
        return self._rules.knob(name, low, high)

    def ignore(self, entry: str, loop: int) -> None:
        with self._context:
            self._slots.setdefault(entry, {})[loop] = IgnoredSlot(integer(0))

    def untiled(self, entry: str) -> None:
        self._slots.setdefault(entry, {})

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config that hold tiles; a loop without a knob has the tile 0."""
        return {
            entry: self._tiles(
                entry, tuple(slots.get(loop, self.constant(0)) for loop in range(self._loops))
            )
            for entry, slots in self._slots.items()
        }

    def _tiles(self, entry: str, tiles: tuple[Slot, ...]) -> Slot:
        level = _LEVELS.get(entry)
        return ArraySlot(tiles) if level is None else level(tiles, self._context)

    def basis(self, counts: Mapping[int, str], loops: Iterable[int] | None = None) -> Slot:
        """Return the `subgroup_basis`, or the `lane_basis`."""
        mapped = range(self._loops) if loops is None else loops
        return BasisSlot(counts, tuple(mapped), self._loops)

    def constant(self, value: int) -> Slot:
        with self._context:
            return ConstantSlot(integer(value))


@dataclass(frozen=True)
class _LevelSlot(ArraySlot):
    """The tiles of a level, in which code generation treats missing sizes as zeros."""

    context: mlir.Context

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read the tiles."""
        sizes = read_integers(actual)
        if sizes is not None:
            sizes = (*sizes, *[0] * (len(self.elements) - len(sizes)))
            self._refuse_strays(path, sizes)
            actual = self._array(sizes)
        super().read(path, actual, assignment)

    def read_missing(self, path: str, assignment: dict[str, int]) -> None:
        self.read(path, self._array(()), assignment)

    def _array(self, sizes: Iterable[int]) -> mlir.ArrayAttr:
        with self.context:
            return mlir.ArrayAttr.get([integer(size) for size in sizes])

    def _refuse_strays(self, path: str, sizes: Sequence[int]) -> None:
        strays = {
            loop: size
            for loop, (slot, size) in enumerate(zip(self.elements, sizes, strict=False))
            if size and isinstance(slot, ConstantSlot)
        }
        if strays:
            tiles = ", ".join(f"'{path}[{loop}]' is {size}" for loop, size in strays.items())
            covered = self._array(0 if loop in strays else size for loop, size in enumerate(sizes))
            raise StrayTileError(tiles, path, covered, self._narrowed(strays))

    def _narrowed(self, strays: Mapping[int, int]) -> Mapping[str, int]:  # noqa: ARG002
        return {}


class _ReductionSlot(_LevelSlot):
    """The tiles of the steps of a reduction, which code generation applies within the tiles of a workgroup."""

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read the tiles; code generation fails if there are more tiles than loops."""
        if isinstance(actual, mlir.ArrayAttr) and len(actual) > len(self.elements):
            loops = f"{len(self.elements)} loops"
            raise InvalidFormError(f"'{path}' is {actual}, and the operation has {loops}", path)
        super().read(path, actual, assignment)

    def _narrowed(self, strays: Mapping[int, int]) -> Mapping[str, int]:
        return {knob_name(WORKGROUP, loop): size for loop, size in strays.items()}


_LEVELS: Final[Mapping[str, type[_LevelSlot]]] = {
    WORKGROUP: _LevelSlot,
    REDUCTION_LEVEL: _ReductionSlot,
}
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
            along = dict(
                enumerate(counts)
            )  # numbers along loops outside of the basis are present as well
        elif idle := [
            count for place, count in enumerate(counts) if place not in mapping and count > 1
        ]:
            message = f"'{path}' has {prod(idle)} that no loop is mapped to"
            numbers = [along.get(loop, 1) for loop in range(self.rank)]
            with actual.context:
                covered = _basis([numbers, self.loops])
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
        """Write a basis with a number for each loop."""
        counts = [
            assignment[self.counts[loop]] if loop in self.counts else 1 for loop in range(self.rank)
        ]
        return _basis([counts, self.loops])


def _basis(numbers: Iterable[Iterable[int]]) -> mlir.Attribute:
    return mlir.ArrayAttr.get(
        [mlir.ArrayAttr.get([integer(each) for each in part]) for part in numbers]
    )


def gpu_template(
    pipeline: mlir.Attribute,
    lowering: Mapping[str, Slot],
    *,
    ignored: frozenset[str] = frozenset(),
    is_flat: bool = True,
    is_igemm: bool = False,
    keeps_banks: bool = False,
    decomposition: Mapping[str, Mapping[str, Slot]] | None = None,
) -> KnobTemplate:
    """Return the template of a pipeline for GPUs."""
    with pipeline.context:
        off, on = mlir.BoolAttr.get(False), mlir.BoolAttr.get(True)
        igemm = mlir.BoolAttr.get(is_igemm)
    entries: dict[str, Slot] = dict(lowering)
    if decomposition is not None:
        parts = {
            name: DictionarySlot(
                {names.LOWERING_CONFIG: DictionarySlot(slots, frozenset(), is_lowering_config=True)}
            )
            for name, slots in decomposition.items()
        }
        entries[names.DECOMPOSITION_CONFIG] = DictionarySlot(parts)
    entries[WORKGROUP_SIZE] = WorkgroupSlot(THREADS_KNOB, is_flat)
    entries[SUBGROUP_SIZE] = IntegerSlot(SUBGROUP_SIZE_KNOB)
    options: dict[str, Slot] = {
        STAGES: IntegerSlot(STAGES_KNOB),
        NO_BANK_CONFLICT_REDUCTION: ConstantSlot(on) if keeps_banks else IgnoredSlot(off),
        USE_IGEMM: ConstantSlot(igemm),
    }
    entries[PIPELINE_OPTIONS] = DictionarySlot(options)
    return KnobTemplate(pipeline, DictionarySlot(entries, ignored))
