"""The tile knobs of a pipeline, by loop and by entry of the lowering config."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    REDUCTION,
    STAGES,
    SUBGROUP_SIZE,
    USE_IGEMM,
    WORKGROUP,
    WORKGROUP_SIZE,
    read_basis,
    read_integers,
)
from tuninglink.mlir import names
from tuninglink.spaces.configuration import (
    InvalidFormError,
    MismatchError,
    StrayTileError,
    integer,
)
from tuninglink.spaces.gpu.gpu_rules import (
    STAGES_KNOB,
    SUBGROUP_SIZE_KNOB,
    THREADS_KNOB,
    GpuRules,
    Number,
)
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.slots import (
    ArraySlot,
    ConstantSlot,
    DictionarySlot,
    IgnoredSlot,
    IntegerSlot,
    Slot,
    WorkgroupSlot,
)


def knob_name(entry: str, loop: int) -> str:
    """Return the name of the knob that tiles a loop in an entry of the lowering config."""
    return f"{entry}[{loop}]"


class KnobTable:
    """The knobs for the loops of a root op, and their positions in its lowering config.

    Args:
        rules: receives the knobs.
        loops: the number of loops.
        context: the context of the attributes that are used without a knob.
    """

    def __init__(self, rules: GpuRules, loops: int, context: mlir.Context) -> None:
        self._rules = rules
        self._loops = loops
        self._context = context
        self._slots: dict[str, dict[int, Slot]] = {}

    def tile(
        self, entry: str, loop: int, high: int, *, low: int = 1, zero: int | None = None
    ) -> Number:
        """Add the knob for the tile of a loop.

        Args:
            entry: the entry of the lowering config.
            loop: the loop.
            high: its maximum value.
            low: its minimum value.
            zero: the value that 0 stands for, if that is not 0.
        """
        name = knob_name(entry, loop)
        self._slots.setdefault(entry, {})[loop] = IntegerSlot(name, zero)
        return self._rules.knob(name, low, high)

    def ignore(self, entry: str, loop: int) -> None:
        """Accept any tile of a loop that code generation ignores."""
        with self._context:
            self._slots.setdefault(entry, {})[loop] = IgnoredSlot(integer(0))

    def untiled(self, entry: str) -> None:
        """Add an entry that tiles a loop only if a knob is added for it."""
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
        """Return the `subgroup_basis`, or the `lane_basis`.

        Args:
            counts: the knobs for the number of subgroups, or of lanes, along loops; it is 1 along the other loops.
            loops: the loops of the operation that the dimensions of the basis represent; all by default.
        """
        mapped = range(self._loops) if loops is None else loops
        return BasisSlot(counts, tuple(mapped), self._loops)

    def constant(self, value: int) -> Slot:
        """Return the slot of a constant number."""
        with self._context:
            return ConstantSlot(integer(value))


@dataclass(frozen=True)
class _LevelSlot(ArraySlot):
    """The tiles of a level, in which code generation treats missing sizes as zeros.

    Attributes:
        context: the context of the tiles.
    """

    context: mlir.Context

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read the tiles.

        Raises:
            StrayTileError: loops are tiled that have no knob.
        """
        sizes = read_integers(actual)
        if sizes is not None:
            sizes = (*sizes, *[0] * (len(self.elements) - len(sizes)))
            self._refuse_strays(path, sizes)
            actual = self._array(sizes)
        super().read(path, actual, assignment)

    def read_missing(self, path: str, assignment: dict[str, int]) -> None:
        """Read zeros."""
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
        """Return the knobs of other tiles that are reduced by the tiles of loops without a knob."""
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


_LEVELS: Final[Mapping[str, type[_LevelSlot]]] = {WORKGROUP: _LevelSlot, REDUCTION: _ReductionSlot}
"""The levels whose missing sizes are zeros; determined by experiment."""


@dataclass(frozen=True)
class BasisSlot(Slot):
    """A basis: numbers of subgroups or of lanes, and for each loop the index of its number.

    Attributes:
        counts: the knobs for the numbers along loops; the number is 1 along the other loops.
        loops: the loops of the basis, in order.
        rank: the number of loops.
    """

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
    """Return lists of integers, in the current context."""
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
    """Return the template of a pipeline for GPUs.

    Args:
        pipeline: the pipeline.
        lowering: the entries of the lowering config.
        ignored: further permitted entries, which have no effect.
        is_flat: whether a workgroup has one dimension; otherwise any arrangement of its threads is accepted.
        is_igemm: whether convolutions become contractions.
        keeps_banks: whether padding of shared memory against bank conflicts must be off; otherwise it has no effect.
        decomposition: for attention, the entries of the lowering configs of its parts.
    """
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
