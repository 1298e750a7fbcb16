"""The tile knobs of a pipeline: which loop, which knob, which entry of the lowering config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.gpu_configurations import (
    NO_BANK_CONFLICT_REDUCTION,
    PADDING,
    PARTIAL_REDUCTION,
    PIPELINE_OPTIONS,
    REDUCTION,
    STAGES,
    SUBGROUP,
    SUBGROUP_SIZE,
    THREAD,
    USE_IGEMM,
    WORKGROUP,
    WORKGROUP_SIZE,
    read_basis,
)
from tuninglink.mlir import names
from tuninglink.spaces.configuration import MismatchError, integer
from tuninglink.spaces.gpu.gpu_rules import STAGES_KNOB, SUBGROUP_SIZE_KNOB, THREADS_KNOB
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number

_PREFIXES: Final = {
    WORKGROUP: "wg",
    REDUCTION: "red",
    PARTIAL_REDUCTION: "red",
    PADDING: "pad",
    SUBGROUP: "sg",
    THREAD: "thread",
}


def knob_name(entry: str, loop: int) -> str:
    """Returns the name of the knob that tiles a loop in an entry of the lowering config."""
    return f"{_PREFIXES[entry]}_{loop}"


class KnobTable:
    """The knobs for the loops of a root op, and where they stand in its lowering config.

    Args:
        rules: gets the knobs.
        loops: the number of loops.
        context: for the attributes that stand where there is no knob.
    """

    def __init__(self, rules: GpuRules, loops: int, context: mlir.Context) -> None:
        self._rules = rules
        self._loops = loops
        self._context = context
        self._slots: dict[str, dict[int, Slot]] = {}

    def tile(
        self, entry: str, loop: int, high: int, *, low: int = 1, zero: int | None = None
    ) -> Number:
        """Adds the knob for the tile of a loop.

        Args:
            entry: the entry of the lowering config.
            loop: the loop.
            high: its greatest value.
            low: its least value.
            zero: the value that a zero stands for, if it is not zero.
        """
        name = knob_name(entry, loop)
        self._slots.setdefault(entry, {})[loop] = IntegerSlot(name, zero)
        return self._rules.knob(name, low, high)

    def ignore(self, entry: str, loop: int) -> None:
        """Accepts any tile of a loop, where code generation does not look at it."""
        with self._context:
            self._slots.setdefault(entry, {})[loop] = IgnoredSlot(integer(0))

    def untiled(self, entry: str) -> None:
        """Adds an entry that tiles no loop unless knobs are added to it."""
        self._slots.setdefault(entry, {})

    def slots(self) -> dict[str, Slot]:
        """Returns the entries of the lowering config that hold tiles; a loop without a knob has the tile 0."""
        return {
            entry: ArraySlot(
                tuple(slots.get(loop, self.constant(0)) for loop in range(self._loops))
            )
            for entry, slots in self._slots.items()
        }

    def basis(self, counts: Mapping[int, str], loops: Iterable[int] | None = None) -> Slot:
        """Returns the `subgroup_basis`, or the `lane_basis`.

        Args:
            counts: the knobs for the number of subgroups, or of lanes, along loops; there is one along others.
            loops: the loops of the operation that the dimensions of the basis stand for; all by default.
        """
        mapped = range(self._loops) if loops is None else loops
        return BasisSlot(counts, tuple(mapped), self._loops)

    def constant(self, value: int) -> Slot:
        """Returns the slot of a number that is always the same."""
        with self._context:
            return ConstantSlot(integer(value))


@dataclass(frozen=True)
class BasisSlot(Slot):
    """A basis: numbers of subgroups or of lanes, and for each loop which one is along it.

    Attributes:
        counts: the knobs for the numbers along loops; there is one along the others.
        loops: the loops, in order, that the basis is for.
        rank: how many loops there are.
    """

    counts: Mapping[int, str]
    loops: tuple[int, ...]
    rank: int

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads a basis whose numbers stand in the order of the loops; ones may stand anywhere."""
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
            )  # those along loops that it is not for are there as well
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
        """Writes a basis with a number for each loop."""
        counts = [
            assignment[self.counts[loop]] if loop in self.counts else 1 for loop in range(self.rank)
        ]
        numbers = [counts, self.loops]
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
    """Returns the template of a pipeline for GPUs.

    Args:
        pipeline: the pipeline.
        lowering: the entries of the lowering config.
        ignored: further entries that it may have, which make no difference.
        is_flat: whether a workgroup has one dimension; else it does not matter how its threads are arranged.
        is_igemm: whether convolutions become contractions.
        keeps_banks: whether shared memory is not to be padded against bank conflicts; else it makes no difference.
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
