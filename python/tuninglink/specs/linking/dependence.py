"""Dependence of matchers on ops that other specs may configure."""

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
from tuninglink.specs.transform_ops import fails_as_included

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
"""Ops that may give a matcher ops other than the matched one, and read no attribute of them."""

_READING: Final = frozenset({names.HAS_NO_LOWERING_CONFIG, names.MATCH_DAG, names.MATCH_REGIONS})
"""Ops that read attributes of their operand."""


@dataclass(frozen=True)
class _Shown:
    """The properties of an op that matchers can read without its operands."""

    name: str
    kind: OpKind


@dataclass(frozen=True)
class Watched:
    """The ops whose attributes the matchers of a spec read, other than the matched ones.

    Attributes:
        kinds: the kinds of these ops.
        anything: whether it may be any op.
    """

    kinds: frozenset[_Shown]
    anything: bool


@dataclass(frozen=True)
class _Demand:
    """Necessary conditions for a matcher to match an op.

    Attributes:
        names: the names it may have, None for any.
        kinds: the kinds that it must be of, all of them.
    """

    names: frozenset[str] | None = None
    kinds: frozenset[OpKind] = frozenset()

    def __and__(self, other: _Demand) -> _Demand:
        both = [demand.names for demand in (self, other) if demand.names is not None]
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
    """Dependence of the matchers of a matcher list on other ops, and the ops that its entries configure.

    Args:
        spec: the matcher list.
    """

    spec: Anatomy
    _demands: dict[mlir.Operation, _Demand] = field(default_factory=dict)

    def watched(self) -> Watched:
        """Return the ops other than the matched ones whose attributes a matcher reads."""
        kinds: set[_Shown] = set()
        anything = False
        looking = self.spec.table.scan.looking
        navigates = any(map(_navigates, looking))
        for operation in looking:
            if operation.name in (names.MATCH_DAG, names.MATCH_REGIONS):
                kinds |= set(_shown(operation))
            if operation.name in _READING:
                anything |= navigates and not self._is_own(operation.operands[0])
            else:
                anything |= not _navigates(operation)
        return Watched(frozenset(kinds), anything)

    def _is_own(self, handle: mlir.Value[mlir.Type]) -> bool:
        """Return whether a handle always refers to the matched op."""
        if not isinstance(handle, mlir.BlockArgument) or handle.arg_number:
            return False
        name = handle.owner.owner.attributes.get(names.SYMBOL_NAME)
        included = self.spec.table.scan.included
        return isinstance(name, mlir.StringAttr) and not any(
            split_path(path)[-1] == name.value for path in included
        )

    def may_configure(self, watched: Watched) -> bool:
        """Return whether an entry may configure one of these ops."""
        if not watched.anything and not watched.kinds:
            return False
        table = self.spec.table
        return any(
            self.spec.annotations(action)
            and (
                watched.anything or any(map(self._demand(table, matcher).holds_for, watched.kinds))
            )
            for matcher, action in dict.fromkeys(self.spec.pairs)
        )

    def _demand(self, table: SequenceTable, path: str) -> _Demand:
        """Return the demand of a sequence on its first argument."""
        resolved = table.resolve(path)
        if resolved is None:
            return _Demand()
        inner, sequence = resolved
        if sequence not in self._demands:
            self._demands[sequence] = _Demand()  # It may include itself.
            matched = sequence.regions[0].blocks[0].arguments[0]
            demands = [
                self._demand_of(inner, operation)
                for operation in body(sequence)
                if len(operation.operands) and operation.operands[0] == matched
            ]
            self._demands[sequence] = reduce(_Demand.__and__, demands, _Demand())
        return self._demands[sequence]

    def _demand_of(self, table: SequenceTable, operation: mlir.Operation) -> _Demand:
        if operation.name == names.INCLUDE and fails_as_included(operation):
            return self._demand(table, reference(operation.attributes["target"]))
        if operation.name == names.MATCH_OPERATION_NAME:
            op_names = operation.attributes["op_names"]
            assert isinstance(op_names, mlir.ArrayAttr)
            return _Demand(
                frozenset(name.value for name in op_names if isinstance(name, mlir.StringAttr))
            )
        if operation.name == names.MATCH_DAG:
            *_, root, _ = body(operation)
            return _Demand(frozenset({root.name}))
        return _DEMANDS.get(operation.name, _Demand())


def depend_on_each_other(specs: Sequence[Anatomy]) -> bool:
    """Return whether the result of a matcher may depend on ops that another one of these matcher lists configures."""
    dependences = [Dependence(spec) for spec in specs]
    watched_ops = [dependence.watched() for dependence in dependences]
    return any(
        other is not dependence and other.may_configure(watched)
        for dependence, watched in zip(dependences, watched_ops, strict=True)
        for other in dependences
    )


def _navigates(operation: mlir.Operation) -> bool:
    return operation.name in _NAVIGATING or operation.name.startswith("transform.match.structured")


def _shown(matcher: mlir.Operation) -> Iterator[_Shown]:
    """Yield the ops that a matcher of a DAG or of regions shows next to the matched op."""
    operations: list[mlir.Operation] = []
    visit(matcher, operations.append)
    *_, root, terminator = [matcher, *body(matcher)]
    for operation in operations:
        if operation not in (matcher, root, terminator):
            yield _Shown(operation.name, StructuredOp(operation).kind)
