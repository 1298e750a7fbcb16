"""Which other ops the answers of matchers depend on, and which ops the entries of a spec may configure."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference, split_path
from tuninglink.mlir.walk import body, visit
from tuninglink.specs.builders import fails_as_included

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.specs.sequences import SequenceTable
    from tuninglink.specs.structure import Anatomy

_NAVIGATING: Final = frozenset(
    {
        names.CAST,
        names.INCLUDE,
        names.SELECT,
        "transform.get_consumers_of_result",
        "transform.get_defining_op",
        "transform.get_parent_op",
        "transform.get_producer_of_operand",
    }
)
"""Ops that may give a matcher other ops than the one it is asked about, and look at no attribute of them."""

_STRUCTURED_PREFIX: Final = "transform.match.structured"


@dataclass(frozen=True)
class _Shown:
    """What matchers can tell about an op without its operands."""

    name: str
    kind: OpKind


@dataclass(frozen=True)
class Watched:
    """The ops whose attributes the matchers of a spec look at, the ones they are asked about aside.

    Attributes:
        kinds: the kinds of these ops.
        anything: whether it may be any op.
    """

    kinds: frozenset[_Shown]
    anything: bool


@dataclass(frozen=True)
class _Demand:
    """What an op must be for a matcher to match it; more may be asked of it.

    Attributes:
        names: the names it may have, None for any.
        kinds: the kinds that it must be of, all of them.
    """

    names: frozenset[str] | None = None
    kinds: frozenset[OpKind] = frozenset()

    def __and__(self, other: _Demand) -> _Demand:
        both = [each.names for each in (self, other) if each.names is not None]
        return _Demand(
            reduce(frozenset.intersection, both) if both else None, self.kinds | other.kinds
        )

    def holds_for(self, shown: _Shown) -> bool:
        return (self.names is None or shown.name in self.names) and self.kinds <= {shown.kind}


_DEMANDS: Final = {
    names.MATCH_ATTENTION: _Demand(frozenset({names.ATTENTION})),
    names.MATCH_CONTRACTION: _Demand(kinds=frozenset({OpKind.CONTRACTION})),
    names.MATCH_CONVOLUTION: _Demand(kinds=frozenset({OpKind.CONVOLUTION})),
    names.MATCH_ONLINE_ATTENTION: _Demand(frozenset({names.ONLINE_ATTENTION})),
}


@dataclass
class Dependence:
    """What the matchers of a matcher list look at, and what its entries configure.

    Args:
        spec: the matcher list.
    """

    spec: Anatomy
    _demands: dict[mlir.Operation, _Demand] = field(default_factory=dict)

    def watched(self) -> Watched:
        """Returns which ops, beside the one it is asked about, a matcher looks at the attributes of."""
        kinds: set[_Shown] = set()
        anything = False
        looking = self.spec.table.scan.looking
        navigates = any(
            each.name in _NAVIGATING or each.name.startswith(_STRUCTURED_PREFIX) for each in looking
        )
        for operation in looking:
            if operation.name in (names.MATCH_DAG, names.MATCH_REGIONS):
                kinds |= set(_shown(operation))
            elif operation.name != names.HAS_NO_LOWERING_CONFIG:
                anything |= operation.name not in _NAVIGATING and not operation.name.startswith(
                    _STRUCTURED_PREFIX
                )
                continue
            anything |= navigates and not self._is_own(operation.operands[0])
        return Watched(frozenset(kinds), anything)

    def _is_own(self, handle: mlir.Value[mlir.Type]) -> bool:
        """Tells whether a handle is to the op that a matcher is asked about, and can be to no other."""
        if not isinstance(handle, mlir.BlockArgument) or handle.arg_number:
            return False
        name = handle.owner.owner.attributes.get(names.SYMBOL_NAME)
        included = self.spec.table.scan.included
        return isinstance(name, mlir.StringAttr) and not any(
            split_path(each)[-1] == name.value for each in included
        )

    def may_configure(self, watched: Watched) -> bool:
        """Tells whether an entry may configure one of these ops."""
        if not watched.anything and not watched.kinds:
            return False
        table = self.spec.table
        for matcher, action in dict.fromkeys(self.spec.pairs):
            if not self.spec.annotations(action):
                continue
            demand = self._demand(table, matcher)
            if watched.anything or any(map(demand.holds_for, watched.kinds)):
                return True
        return False

    def _demand(self, table: SequenceTable, path: str) -> _Demand:
        """Reads what a sequence asks of its first argument."""
        found = table.resolve(path)
        if found is None:
            return _Demand()
        inner, sequence = found
        if sequence not in self._demands:
            self._demands[sequence] = _Demand()  # It may include itself.
            asked = sequence.regions[0].blocks[0].arguments[0]
            demands = [
                self._demand_of(inner, each)
                for each in body(sequence)
                if len(each.operands) and each.operands[0] == asked
            ]
            self._demands[sequence] = reduce(_Demand.__and__, demands, _Demand())
        return self._demands[sequence]

    def _demand_of(self, table: SequenceTable, operation: mlir.Operation) -> _Demand:
        if operation.name == names.INCLUDE and fails_as_included(operation):
            return self._demand(table, reference(operation.attributes["target"]))
        if operation.name == names.MATCH_OPERATION_NAME:
            wanted = operation.attributes["op_names"]
            assert isinstance(wanted, mlir.ArrayAttr)
            strings = (each.value for each in wanted if isinstance(each, mlir.StringAttr))
            return _Demand(frozenset(strings))
        if operation.name == names.MATCH_DAG:
            *_, root, _ = body(operation)
            return _Demand(frozenset({root.name}))
        return _DEMANDS.get(operation.name, _Demand())


def depend_on_each_other(specs: Sequence[Anatomy]) -> bool:
    """Tells whether the answer of a matcher may depend on what another one of these matcher lists configures."""
    read = [Dependence(each) for each in specs]
    watched = [each.watched() for each in read]
    return any(
        other is not watching and other.may_configure(seen)
        for watching, seen in zip(read, watched, strict=True)
        for other in read
    )


def _shown(matcher: mlir.Operation) -> Iterator[_Shown]:
    """Yields what a matcher of a DAG or of regions shows beside the op that it is asked about."""
    found: list[mlir.Operation] = []
    visit(matcher, found.append)
    *_, root, terminator = [matcher, *body(matcher)]
    for operation in found:
        if operation not in (matcher, root, terminator):
            yield _Shown(operation.name, StructuredOp(operation).kind)
