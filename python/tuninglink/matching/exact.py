"""Exact conditions, folded from the predicates of completely read matchers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.iree import ATTENTION_OUTPUTS, OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.predicates import Condition, Opaque, loop_dimensions
from tuninglink.matching.reader import ContradictionError, Matcher, NotUnderstoodError
from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.iree import ValueType


_MATCHED_KINDS: Final = frozenset({OpKind.CONTRACTION, OpKind.CONVOLUTION})
"""The kinds that have their own matcher op for any name."""


def exact_condition(matcher: Matcher) -> Condition | Opaque:
    """Return the condition under which a matcher matches.

    An op matches if and only if the condition holds. A matcher with any part that is not understood is opaque; the
    result contains the reason.
    """
    if matcher.stop:
        rest = matcher.stop.rest
        key = None if rest is None else (matcher.predicates, rest)
        return Opaque(matcher.stop.reason, key)
    all_maps = (one.maps for one in matcher.predicates if isinstance(one, pred.HasMaps))
    fold = _Fold(maps=next(all_maps, None))
    try:
        for predicate in matcher.predicates:
            fold.add(predicate)
        return fold.condition()
    except ContradictionError as failure:
        return Opaque(str(failure), matcher.predicates, is_contradiction=True)
    except NotUnderstoodError as failure:
        return Opaque(str(failure), matcher.predicates)


@dataclass(eq=False)
class _Fold(Condition):
    """The conjunction of predicates, also of those on results."""

    types: dict[int, str] = field(default_factory=dict)
    scalars: dict[int, str] = field(default_factory=dict)
    tensors: set[int] = field(default_factory=set)
    ranks: dict[int, int] = field(default_factory=dict)
    least_ranks: dict[int, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    sizes: set[pred.HasExtent] = field(default_factory=set)
    results: int = 0
    result_types: list[ValueType] = field(default_factory=list)
    least_result_rank: int = 0

    def add(self, predicate: pred.Predicate) -> None:  # noqa: C901, PLR0912 - a table
        """Add the requirements of a predicate."""
        match predicate:
            # The name and the kind of the op.
            case pred.NameIn(accepted):
                remaining = frozenset(accepted) if self.names is None else self.names
                self.names = remaining.intersection(accepted)
            case pred.IsUnconfigured():
                self.is_unconfigured = True
            case pred.IsKind(kind):
                self.kinds |= {kind}
                self.operands = max(self.operands, pred.STRUCTURED_OPERANDS)
            # Its loops, operands and results.
            case pred.HasElementType(kind, operand, _, element):
                count = pred.STRUCTURED_OPERANDS
                if kind is OpKind.ATTENTION and self.maps:
                    count = len(self.maps.operands)
                number = operand if operand >= 0 else count + operand
                _require(self.types, number, element, "element types")
            case pred.HasMaps(maps):
                if maps != self.maps:
                    raise NotUnderstoodError("it requires different indexing maps")
            case pred.IsUnmasked():
                # The matcher op for online attention rejects a mask, even if the maps match.
                unmasked = pred.UNMASKED_INPUTS + ATTENTION_OUTPUTS[names.ONLINE_ATTENTION]
                is_online = self.names is not None and names.ONLINE_ATTENTION in self.names
                if is_online and self.maps is not None and len(self.maps.operands) > unmasked:
                    raise NotUnderstoodError("it requires a mask, which is refused")
            case pred.HasRoleSizes(kind, role, sizes):
                name = f"{kind.value} {role}"
                _require(self.counts, name, len(sizes), "numbers of dimensions")
                self.sizes |= {
                    pred.HasExtent((name, at, 0), pred.Extent(size))
                    for at, size in enumerate(sizes)
                    if size is not None
                }
            case pred.HasValue(pred.ValueRef(pred.OPERAND, number)):
                self.operands = max(self.operands, number + 1)
            case pred.HasValue(value):
                self.results = max(self.results, value.number + 1)
            case pred.HasOperandCount(count):
                self.operands = max(self.operands, count)
            case pred.IsCastCompatible(value, required):
                if value.group == pred.RESULT:
                    self.result_types.append(required)
                else:
                    self._add_type(value.number, required)
            case pred.HasExtent((pred.OPERAND, number, dimension)):
                self.least_ranks[number] = max(self.least_ranks.get(number, 0), dimension + 1)
                self.sizes.add(predicate)
            case pred.HasExtent((_, _, dimension)):
                self.least_result_rank = max(self.least_result_rank, dimension + 1)
                self.sizes.add(predicate)
            # Its computation and its producers.
            case pred.HasRegions(key):
                if self.regions is not None and self.regions != key:
                    raise NotUnderstoodError("it requires different regions")
                self.regions = key
            case pred.HasAttributes(items):
                attributes = {name for name, _ in items}
                configured = {names.LOWERING_CONFIG, names.COMPILATION_INFO} & attributes
                self.is_unconfigured |= not configured
            case pred.IsDag(key, root_key, kind, has_free_operands):
                if self.dag is not None:
                    raise NotUnderstoodError("it matches several graphs")
                self.dag, self.root, self.has_free_operands = key, root_key, has_free_operands
                self.kinds |= {kind} & _MATCHED_KINDS

    def _add_type(self, number: int, required: ValueType) -> None:
        """Add a type to which an operand can be cast."""
        self.operands = max(self.operands, number + 1)
        is_shaped = required.is_tensor or required.element != required.text
        if is_shaped and (not required.is_tensor or required.encoding):
            raise NotUnderstoodError(f"it requires an operand of type {required.text}")
        _require(self.types, number, required.element, "element types")
        if not is_shaped:
            self.scalars[number] = required.text
            return
        sizes = required.sizes or ()
        self.tensors.add(number)
        _require(self.ranks, number, len(sizes), "ranks")
        self.sizes |= {
            pred.HasExtent((pred.OPERAND, number, at), pred.Extent(size))
            for at, size in enumerate(sizes)
            if size is not None
        }

    def condition(self) -> Condition:
        """Return the condition, with dimensions named by their loops where the maps are known."""
        # Requirements on the result apply to the output, which has the same type and sizes.
        if self.results:
            has_known_operands = OpKind.CONTRACTION in self.kinds or self.maps is not None
            if not self.kinds or not has_known_operands or self.results > 1:
                raise NotUnderstoodError("it requires results of an operation of any kind")
            output = pred.STRUCTURED_OPERANDS - 1
            self.tensors.add(output)  # Operations on buffers have no results.
            for type_ in self.result_types:
                self._add_type(output, type_)
            if self.least_result_rank:
                rank = self.least_ranks.get(output, 0)
                self.least_ranks[output] = max(rank, self.least_result_rank)
            self.sizes = {
                replace(size, dimension=(pred.OPERAND, output, size.dimension[2]))
                if size.dimension[0] == pred.RESULT
                else size
                for size in self.sizes
            }
        # The maps determine the operands, and name dimensions by their loops.
        if self.maps:
            if self.operands > len(self.maps.loops):
                raise NotUnderstoodError("it requires more operands than it has maps")
            self.operands = len(self.maps.loops)
            for role, loops in self.maps.roles:
                required = self.counts.setdefault(role, len(loops))
                if required != len(loops):
                    raise ContradictionError(
                        f"it compares '{role.rpartition(' ')[2]}' with {required} sizes, of which its maps have "
                        f"{len(loops)}; write one size for each"
                    )
            ranks = {operand: len(loops) for operand, loops in enumerate(self.maps.loops)}
            if any(ranks.get(operand, rank) != rank for operand, rank in self.ranks.items()):
                raise NotUnderstoodError("it requires operands of other ranks than its maps have")
            self.ranks |= ranks
            self.loops = loop_dimensions(self.maps.loops, self.maps.roles)
        # Reject contradictory requirements.
        if self.kinds and self.operands > pred.STRUCTURED_OPERANDS:
            raise NotUnderstoodError("it requires more operands than two inputs and an output")
        if any(self.ranks.get(key, rank) < rank for key, rank in self.least_ranks.items()):
            raise NotUnderstoodError("it requires a dimension that its operand does not have")
        if not self.scalars.keys().isdisjoint(self.tensors):
            raise NotUnderstoodError("it requires different types of one operand")
        self.sizes = {
            replace(size, dimension=self.loops.get(size.dimension, size.dimension))
            for size in self.sizes
        }
        return self


def _require(required: dict[Any, Any], key: Hashable, value: object, what: str) -> None:
    if required.setdefault(key, value) != value:
        raise NotUnderstoodError(f"it requires different {what}")
