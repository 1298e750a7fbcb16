"""Analysis of specs to be linked: the ops that matchers depend on, and those that guards cover."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, note
from tuninglink.mlir.symbols import reference, split_path
from tuninglink.mlir.walk import body, collect, visit
from tuninglink.specs.module_scan import is_any_op, signature
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.side_effects import SideEffects, declares_a_write
from tuninglink.specs.structure import Anatomy, EntryPoint, SpecKind, pair_problem
from tuninglink.specs.transform_ops import fails_as_included

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


_Demand = Callable[[_Shown], bool]
"""A necessary condition for a matcher to match an op."""


def _is_named(*op_names: str) -> _Demand:
    return lambda shown: shown.name in op_names


def _is_kind(kind: OpKind) -> _Demand:
    return lambda shown: shown.kind is kind


_DEMANDS: Final = {
    names.MATCH_ATTENTION: _is_named(names.ATTENTION),
    names.MATCH_CONTRACTION: _is_kind(OpKind.CONTRACTION),
    names.MATCH_CONVOLUTION: _is_kind(OpKind.CONVOLUTION),
    names.MATCH_ONLINE_ATTENTION: _is_named(names.ONLINE_ATTENTION),
}


class Dependence:
    """Dependence of the matchers of a matcher list on other ops, and the ops that its entries configure.

    Args:
        spec: the matcher list.

    Attributes:
        watched: the ops other than the matched ones whose attributes a matcher reads; None if it may be any op.
    """

    def __init__(self, spec: Anatomy) -> None:
        self._spec = spec
        self._demands: dict[mlir.Operation, tuple[_Demand, ...]] = {}
        looking = spec.table.scan.looking
        may_leave = any(map(_navigates, looking))
        reads_any = any(
            may_leave and not self._is_own(op.operands[0])
            if op.name in _READING
            else not _navigates(op)
            for op in looking
        )
        shown = (op for op in looking if op.name in (names.MATCH_DAG, names.MATCH_REGIONS))
        self.watched = None if reads_any else {neighbor for op in shown for neighbor in _shown(op)}

    def _is_own(self, handle: mlir.Value[mlir.Type]) -> bool:
        """Return whether a handle always refers to the matched op."""
        if not isinstance(handle, mlir.BlockArgument) or handle.arg_number:
            return False
        name = handle.owner.owner.attributes.get(names.SYMBOL_NAME)
        included = self._spec.table.scan.included
        return isinstance(name, mlir.StringAttr) and not any(
            split_path(path)[-1] == name.value for path in included
        )

    def may_configure(self, watched: set[_Shown] | None) -> bool:
        """Return whether an entry may configure one of the ops that another list watches."""
        configuring = (
            matcher
            for matcher, action in dict.fromkeys(self._spec.pairs)
            if self._spec.annotations(action)
        )
        if watched is None:
            return any(True for _ in configuring)
        return bool(watched) and any(
            all(demand(shown) for demand in self._demands_of(self._spec.table, matcher))
            for matcher in configuring
            for shown in watched
        )

    def _demands_of(self, table: SequenceTable, path: str) -> tuple[_Demand, ...]:
        """Return the demands of a sequence on its first argument."""
        resolved = table.resolve(path)
        if resolved is None:
            return ()
        inner, sequence = resolved
        if sequence not in self._demands:
            self._demands[sequence] = ()  # It may include itself.
            matched = sequence.regions[0].blocks[0].arguments[0]
            self._demands[sequence] = tuple(
                demand
                for operation in body(sequence)
                if len(operation.operands) and operation.operands[0] == matched
                for demand in self._demands_in(inner, operation)
            )
        return self._demands[sequence]

    def _demands_in(self, table: SequenceTable, operation: mlir.Operation) -> tuple[_Demand, ...]:
        if operation.name == names.INCLUDE and fails_as_included(operation):
            return self._demands_of(table, reference(operation.attributes["target"]))
        if operation.name == names.MATCH_OPERATION_NAME:
            op_names = operation.attributes["op_names"]
            assert isinstance(op_names, mlir.ArrayAttr)
            return (
                _is_named(*(name.value for name in op_names if isinstance(name, mlir.StringAttr))),
            )
        if operation.name == names.MATCH_DAG:
            *_, root, _ = body(operation)
            return (_is_named(root.name),)
        return (_DEMANDS[operation.name],) if operation.name in _DEMANDS else ()


def depend_on_each_other(specs: Sequence[Anatomy]) -> bool:
    """Return whether the result of a matcher may depend on ops that another one of these matcher lists configures."""
    dependences = [Dependence(spec) for spec in specs]
    return any(
        other is not dependence and other.may_configure(dependence.watched)
        for dependence in dependences
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


def restriction(spec: Anatomy, entry_points: Sequence[EntryPoint] = ()) -> Diagnostic | None:
    """Return why a spec, or some of its entry points, may change decided ops in spite of guards, or None."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return None
    paths = (entry_point.path for entry_point in entry_points or spec.entry_points)
    return next(_restrictions(spec.table, *paths), None)


def only_annotates(table: SequenceTable, *paths: str) -> bool:
    """Return whether sequences change the program by guarded annotations alone."""
    return not any(True for _ in _restrictions(table, *paths))


def configures(spec: Anatomy) -> bool:
    """Return whether a spec may change anything, so that it needs guards after another spec."""
    paths = (entry_point.path for entry_point in spec.entry_points)
    return any(
        operation.name == names.ANNOTATE or declares_a_write(operation)
        for _, sequence in spec.table.closure(*paths)
        for operation in _transform_ops(sequence)
    )


def _restrictions(table: SequenceTable, *paths: str) -> Iterator[Diagnostic]:
    for inner, sequence in table.closure(*paths):
        yield from _restrictions_in(inner, sequence)


def _restrictions_in(table: SequenceTable, sequence: mlir.Operation) -> Iterator[Diagnostic]:
    for operation in _transform_ops(sequence):
        if operation.name == names.INCLUDE:
            if table.callee(operation) is None:
                path = reference(operation.attributes["target"])
                yield note(f"it includes '{path}', which is not defined beside it", operation)
        elif operation.name == names.FOREACH_MATCH:
            yield from _restrictions_of_list(table, operation)
        elif operation.name == names.ALTERNATIVES:
            if collect(operation, names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH):
                yield note("what its alternatives change cannot be guarded", operation)
        elif operation.name != names.ANNOTATE and declares_a_write(operation):
            yield note("it changes the program other than by annotations", operation)


def _restrictions_of_list(
    table: SequenceTable, foreach_match: mlir.Operation
) -> Iterator[Diagnostic]:
    if reason := unguarded_because(table, foreach_match):
        yield reason
    effects = SideEffects(table)
    for matcher in dict.fromkeys(matcher for matcher, _ in table.pairs(foreach_match)):
        if effects.may_change(matcher):
            yield note(f"its matcher '{matcher}' may change the program", table.lookup(matcher))


def unguarded_because(table: SequenceTable, foreach_match: mlir.Operation) -> Diagnostic | None:
    """Return why a list cannot have a further pair, for decided ops, before its pairs; None if it can."""
    if not all(is_any_op(result.type) for result in foreach_match.results):
        return note("its 'foreach_match' yields something other than ops", foreach_match)
    pairs = dict.fromkeys(table.pairs(foreach_match))
    problems = (pair_problem(table, foreach_match, *pair) for pair in pairs)
    return next(filter(None, problems), None)


def _transform_ops(sequence: mlir.Operation) -> list[mlir.Operation]:
    """Return the transform ops in a sequence, without the ops that its matchers show."""
    operations: list[mlir.Operation] = []
    visit(sequence, operations.append)
    return [operation for operation in operations[1:] if operation.name.startswith("transform.")]


def own_arguments(
    table: SequenceTable, pairs: Iterable[tuple[str, str]]
) -> dict[str, frozenset[int]]:
    """Return for each action which of its arguments always are the matched op."""
    own: dict[str, frozenset[int]] = {}
    for matcher, action in dict.fromkeys(pairs):
        sequence = table.lookup(matcher)
        assert sequence is not None, "checked by the caller"
        positions = range(len(signature(sequence).results))
        here = frozenset(number for number in positions if table.yielded(matcher, number) == 0)
        own[action] = own.get(action, here) & here
    return own
