"""Analysis of specs to be linked: the ops that matchers depend on, and the ops that guards cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
from tuninglink.specs.side_effects import adds_symbol, declares_a_write, is_closed, only_reads
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

_READING: Final = names.SHOWING | {names.HAS_NO_LOWERING_CONFIG}
"""Ops that read attributes of their operand."""


@dataclass(frozen=True)
class _Shown:
    """The properties of an op that matchers can read without its operands."""

    name: str
    kind: OpKind


_NAME_OF_MATCHED: Final = {
    names.MATCH_ATTENTION: names.ATTENTION,
    names.MATCH_ONLINE_ATTENTION: names.ONLINE_ATTENTION,
}
_KIND_OF_MATCHED: Final = {
    names.MATCH_CONTRACTION: OpKind.CONTRACTION,
    names.MATCH_CONVOLUTION: OpKind.CONVOLUTION,
}
"""Properties of the ops that match an op of a matcher."""


def depend_on_each_other(specs: Sequence[Anatomy]) -> bool:
    """Return whether the result of a matcher may depend on ops that another of the matcher lists configures."""
    watched = [_watched(spec) for spec in specs]
    for position, spec in enumerate(specs):
        by_others = watched[:position] + watched[position + 1 :]
        is_any = None in by_others
        shown = frozenset[_Shown]().union(*filter(None, by_others))
        if (is_any or shown) and _may_configure(spec, None if is_any else shown):
            return True
    return False


def _watched(spec: Anatomy) -> frozenset[_Shown] | None:
    """Return the ops other than the matched ones whose attributes a matcher reads; None if it may read any op."""
    looking = spec.table.scan.looking
    may_leave = any(map(_navigates, looking))
    for operation in looking:
        if operation.name in _READING:
            reads_any = may_leave and not _is_own(spec, operation.operands[0])
        else:
            reads_any = not _navigates(operation)
        if reads_any:
            return None
    showing = (operation for operation in looking if operation.name in names.SHOWING)
    return frozenset(neighbor for operation in showing for neighbor in _shown(operation))


def _navigates(operation: mlir.Operation) -> bool:
    return operation.name in _NAVIGATING or operation.name.startswith("transform.match.structured")


def _is_own(spec: Anatomy, handle: mlir.Value[mlir.Type]) -> bool:
    """Return whether a handle always refers to the matched op."""
    if not isinstance(handle, mlir.BlockArgument) or handle.arg_number:
        return False
    name = handle.owner.owner.attributes.get(names.SYMBOL_NAME)
    return isinstance(name, mlir.StringAttr) and not any(
        split_path(path)[-1] == name.value for path in spec.table.scan.included
    )


def _shown(matcher: mlir.Operation) -> Iterator[_Shown]:
    """Yield the ops next to the matched op in the IR of a DAG matcher or a region matcher."""
    operations: list[mlir.Operation] = []
    visit(matcher, operations.append)
    *_, root, terminator = [matcher, *body(matcher)]
    for operation in operations:
        if operation not in (matcher, root, terminator):
            yield _Shown(operation.name, StructuredOp(operation).kind)


def _may_configure(spec: Anatomy, watched: frozenset[_Shown] | None) -> bool:
    """Return whether an entry of a matcher list may configure one of the given ops; None stands for any op."""

    @cache
    def matched(resolved: tuple[SequenceTable, mlir.Operation]) -> frozenset[_Shown]:
        """Return the ops, out of the given ones, that a sequence may match."""
        table, sequence = resolved
        argument = sequence.regions[0].blocks[0].arguments[0]
        left = watched or frozenset()
        for operation in body(sequence):
            if len(operation.operands) and operation.operands[0] == argument:
                if operation.name == names.INCLUDE:
                    callee = table.callee(operation) if fails_as_included(operation) else None
                    left &= matched(callee) if callee else left
                else:
                    left = frozenset(shown for shown in left if _may_match(operation, shown))
        return left

    for matcher, action in dict.fromkeys(spec.pairs):
        if spec.annotations(action):
            resolved = spec.table.resolve(matcher)
            if watched is None or resolved is None or matched(resolved):
                return True
    return False


def _may_match(operation: mlir.Operation, shown: _Shown) -> bool:
    """Return whether an op of a matcher may succeed on an op of the program."""
    if operation.name == names.MATCH_OPERATION_NAME:
        op_names = operation.attributes["op_names"]
        assert isinstance(op_names, mlir.ArrayAttr)
        return mlir.StringAttr.get(shown.name, operation.context) in op_names
    if operation.name == names.MATCH_DAG:
        *_, root, _ = body(operation)
        return shown.name == root.name
    name, kind = _NAME_OF_MATCHED.get(operation.name), _KIND_OF_MATCHED.get(operation.name)
    return name in (None, shown.name) and kind in (None, shown.kind)


def restriction(spec: Anatomy, entry_points: Sequence[EntryPoint] = ()) -> Diagnostic | None:
    """Return the reason why a spec, or some of its entry points, may change decided ops despite guards, or None."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return None
    paths = (entry_point.path for entry_point in entry_points or spec.entry_points)
    return next(restrictions(spec.table, *paths), None)


def restrictions(table: SequenceTable, *paths: str) -> Iterator[Diagnostic]:
    """Yield the changes that sequences make other than by annotations, which guards cover."""
    for inner, operation in _ops_run_by(table, *paths):
        if operation.name == names.FOREACH_MATCH and (
            reason := unguarded_because(inner, operation)
        ):
            yield reason
        yield from _changes(inner, operation)


def untraced(spec: Anatomy, *, is_first: bool) -> Diagnostic | None:
    """Return the reason why a guarded entry point cannot pass on all ops that a spec decides, or None.

    Args:
        spec: the spec.
        is_first: whether no other spec has decided anything before.
    """
    if spec.kind is SpecKind.MATCHER_LIST or (is_first and spec.is_readable):
        return None
    for inner, operation in _ops_run_by(spec.table, *(point.path for point in spec.entry_points)):
        if reason := next(_changes(inner, operation), None):
            return reason
        if operation.name == names.INCLUDE and not fails_as_included(operation):
            path = reference(operation.attributes["target"])
            if inner.may_change(path) and inner.may_fail(path):
                return note("what it configures before it fails is not known", operation)
        if operation.name in (names.FOREACH, names.SEQUENCE) and any(
            op.name != names.INCLUDE or inner.may_change(reference(op.attributes["target"]))
            for op in collect(operation, *_DECIDING)
        ):
            return note("what it decides inside is not known behind it", operation)
    return None


_DECIDING: Final = (names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH)


def _changes(table: SequenceTable, operation: mlir.Operation) -> Iterator[Diagnostic]:
    """Yield the reason why an op that a sequence runs may change the program other than by annotations."""
    if operation.name == names.INCLUDE:
        if table.callee(operation) is None:
            path = reference(operation.attributes["target"])
            yield note(f"it includes '{path}', which is not defined beside it", operation)
    elif operation.name == names.FOREACH_MATCH:
        for matcher in dict.fromkeys(matcher for matcher, _ in table.pairs(operation)):
            if table.may_change(matcher):
                yield note(f"its matcher '{matcher}' may change the program", table.lookup(matcher))
    elif operation.name == names.ALTERNATIVES:
        if collect(operation, *_DECIDING):
            yield note("what its alternatives change cannot be guarded", operation)
    elif operation.name != names.ANNOTATE and declares_a_write(operation):
        yield note("it changes the program other than by annotations", operation)


def configures(spec: Anatomy) -> bool:
    """Return whether a spec may change anything, so that it needs guards after another spec."""
    paths = (entry_point.path for entry_point in spec.entry_points)
    return any(
        operation.name == names.ANNOTATE or declares_a_write(operation)
        for _, operation in _ops_run_by(spec.table, *paths)
    )


def _ops_run_by(
    table: SequenceTable, *paths: str
) -> Iterator[tuple[SequenceTable, mlir.Operation]]:
    """Yield the ops by which sequences change ops of the program, except in matchers, each with the table of its module."""
    operations: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult | None:
        operations.append(operation)
        makes_module = operation.name == names.CREATE_SERIALIZED_MODULE and is_closed(operation)
        return mlir.WalkResult.SKIP if makes_module else None

    for inner, sequence in table.closure(*paths):
        operations.clear()
        visit(sequence, keep)
        for operation in operations[1:]:
            if operation.name.startswith("transform.") and not (
                only_reads(operation) or adds_symbol(operation)
            ):
                yield inner, operation


def unguarded_because(table: SequenceTable, foreach_match: mlir.Operation) -> Diagnostic | None:
    """Return the reason why a list cannot start with an additional pair for decided ops; None if it can."""
    if not all(is_any_op(result.type) for result in foreach_match.results):
        return note("its 'foreach_match' yields something other than ops", foreach_match)
    pairs = dict.fromkeys(table.pairs(foreach_match))
    problems = (pair_problem(table, foreach_match, *pair) for pair in pairs)
    return next(filter(None, problems), None)


def own_arguments(
    table: SequenceTable, pairs: Iterable[tuple[str, str]]
) -> dict[str, frozenset[int]]:
    """Return for each action the arguments that are always the matched op."""
    own: dict[str, frozenset[int]] = {}
    for matcher, action in dict.fromkeys(pairs):
        sequence = table.lookup(matcher)
        assert sequence is not None, "checked by the caller"
        positions = range(len(signature(sequence).results))
        here = frozenset(number for number in positions if table.yielded(matcher, number) == 0)
        own[action] = own.get(action, here) & here
    return own
