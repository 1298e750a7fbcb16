"""What the operations of a matcher ask for together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.matching.conditions import Condition, Equals, NotUnderstoodError, SizeFact
from tuninglink.matching.loops import ATTENTION_OUTPUTS, Loops

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

STRUCTURED_OPERANDS: Final = 3
"""How many operands contractions have, and convolutions that are understood: two inputs and an output."""

RESULT: Final = "result"
"""The first part of dimensions of the result, which are those of the output."""

LoopReader = Callable[[mlir.Attribute, frozenset[str], str | None], Loops | None]


@dataclass
class MatcherFacts:
    """What has been read of a matcher, one operation after the other.

    Attributes are those of a `Condition`, but for what is known of results, of which there is one if any.
    """

    names: frozenset[str] | None = None
    kinds: frozenset[str] = frozenset()
    maps: mlir.Attribute | None = None
    types: dict[int, Hashable] = field(default_factory=dict)
    scalars: dict[int, Hashable] = field(default_factory=dict)
    tensors: set[int] = field(default_factory=set)
    ranks: dict[int, int] = field(default_factory=dict)
    least_ranks: dict[int, int] = field(default_factory=dict)
    least_result_rank: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    operands: int = 0
    results: int = 0
    result_types: list[mlir.Type] = field(default_factory=list)
    regions: Hashable | None = None
    root: Hashable | None = None
    dag: Hashable | None = None
    has_free_operands: bool = True
    is_unconfigured: bool = False
    sizes: set[SizeFact] = field(default_factory=set)

    def require_operands(self, count: int) -> None:
        """Notes that there are at least so many operands."""
        self.operands = max(self.operands, count)

    def require_rank(self, operand: int, rank: int) -> None:
        """Notes that an operand has at least so many dimensions."""
        self.least_ranks[operand] = max(self.least_ranks.get(operand, 0), rank)

    def require_names(self, wanted: frozenset[str]) -> None:
        """Notes names, one of which the operation has."""
        known = self.names
        self.names = wanted if known is None else known & wanted

    def require_maps(self, maps: mlir.Attribute | None) -> None:
        """Notes the indexing maps, if they are given."""
        if maps is not None and self.maps is not None and self.maps != maps:
            raise NotUnderstoodError("it asks for different indexing maps")
        self.maps = self.maps if maps is None else maps

    def require_regions(self, regions: Hashable) -> None:
        """Notes what the regions hold."""
        if self.regions is not None and self.regions != regions:
            raise NotUnderstoodError("it asks for different regions")
        self.regions = regions

    def require_types(self, types: enumerate[mlir.Type]) -> None:
        """Notes element types by number of the operand."""
        for number, each in types:
            if self.types.setdefault(number, each) != each:
                raise NotUnderstoodError("it asks for different element types")

    def require_type(self, number: int, wanted: mlir.Type) -> None:
        """Notes the type that an operand can be cast to."""
        self.require_operands(number + 1)
        if not isinstance(wanted, mlir.RankedTensorType):
            if isinstance(wanted, mlir.ShapedType):
                raise NotUnderstoodError(f"it asks for an operand of type {wanted}")
            self.require_types(enumerate([wanted], number))
            self.scalars[number] = wanted
            return
        self.require_types(enumerate([wanted.element_type], number))
        self.tensors.add(number)
        if self.ranks.setdefault(number, wanted.rank) != wanted.rank:
            raise NotUnderstoodError("it asks for different ranks")
        self.sizes |= {
            Equals(("operand", number, dimension), wanted.get_dim_size(dimension))
            for dimension in range(wanted.rank)
            if not wanted.is_dynamic_dim(dimension)
        }

    def condition(self, read_loops: LoopReader) -> Condition:
        """Returns the condition that the facts are, with dimensions named by their loops where the maps are known.

        Args:
            read_loops: reads loops off indexing maps, as `loops.read_loops` does; None if they are no maps.
        """
        self._add_results()
        attention = self._attention_name()
        loops = read_loops(self.maps, self.kinds, attention) if self.maps is not None else None
        if loops:
            self._add_loops(loops)
        if self.kinds and self.operands > STRUCTURED_OPERANDS:
            raise NotUnderstoodError("it asks for more operands than two inputs and an output")
        if any(self.ranks.get(key, rank) < rank for key, rank in self.least_ranks.items()):
            raise NotUnderstoodError("it asks for a dimension that its operand does not have")
        if not self.scalars.keys().isdisjoint(self.tensors):
            raise NotUnderstoodError("it asks for different types of one operand")
        of_loops = loops.dimensions if loops else {}
        sizes = frozenset(
            replace(each, dimension=of_loops.get(each.dimension, each.dimension))
            for each in self.sizes
        )
        return Condition(
            names=self.names,
            kinds=self.kinds,
            maps=self.maps,
            types=self.types,
            scalars=self.scalars,
            tensors=frozenset(self.tensors),
            ranks=self.ranks,
            least_ranks=self.least_ranks,
            operands=self.operands,
            counts=self.counts,
            regions=self.regions,
            root=self.root,
            dag=self.dag,
            has_free_operands=self.has_free_operands,
            is_unconfigured=self.is_unconfigured,
            sizes=sizes,
            loops=of_loops,
        )

    def _attention_name(self) -> str | None:
        known = self.names
        if known is not None and len(known) == 1:
            (name,) = known
            return name if name in ATTENTION_OUTPUTS else None
        return None

    def _add_loops(self, loops: Loops) -> None:
        if self.operands > loops.operands:
            raise NotUnderstoodError("it asks for more operands than it has maps")
        self.operands = loops.operands
        if _differ(self.counts, loops.counts) or _differ(self.ranks, loops.ranks):
            raise NotUnderstoodError("it asks for other numbers of dimensions than its maps have")
        self.counts = {**self.counts, **loops.counts}
        self.ranks = {**self.ranks, **loops.ranks}

    def _add_results(self) -> None:
        """Takes what is asked of the result as asked of the output, whose type and sizes it has."""
        if not self.results:
            return
        has_known_operands = "contraction" in self.kinds or self.maps is not None
        if not self.kinds or not has_known_operands or self.results > 1:
            raise NotUnderstoodError("it asks for results of an operation of any kind")
        output = STRUCTURED_OPERANDS - 1
        self.tensors.add(output)  # An operation on buffers has no results.
        for each in self.result_types:
            self.require_type(output, each)
        if self.least_result_rank:
            self.require_rank(output, self.least_result_rank)
        self.sizes = {
            replace(each, dimension=("operand", output, each.dimension[2]))
            if each.dimension[0] == RESULT
            else each
            for each in self.sizes
        }


def _differ(known: Mapping[Any, int], found: Mapping[Any, int]) -> bool:
    return any(found.get(key, value) != value for key, value in known.items())
