"""Specialization ranges: the loop sizes for which a dynamic op is compiled separately.

An entry with unconstrained sizes may have ranges on its matcher. The ranges are set on the matched root ops before the
compiler configures dispatches. `iree-codegen-specialize-exports` then creates a function for each range, and entries
with bounds configure these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity, SpecError, counted
from tuninglink.iree import RANGES, SPECIALIZATION_RANGES, find_root_ops, range_counts
from tuninglink.matching.nearest_entries import compare
from tuninglink.matching.predicates import HasMaps
from tuninglink.matching.reader import MatcherReader, OpInfo
from tuninglink.mlir import DiagnosticSink, error, note
from tuninglink.rules import Rule

if TYPE_CHECKING:
    from tuninglink.matching.materialization import LinkedDispatch
    from tuninglink.matching.reader import Matcher
    from tuninglink.specs import LinkedSpec, Spec


_Specialization = tuple["Matcher", mlir.Attribute, mlir.Operation]
"""A matcher, its ranges and its sequence."""

_EXAMPLE: Final = "#util<int.assumption.multi_array[[<umin = 1, umax = 1>, <>, <>]]>"


def specialize_dispatches(dispatches: Iterable[LinkedDispatch]) -> None:
    """Set the ranges of specs on the root ops of dispatches, in place; the first matching entry decides.

    Raises:
        SpecError: the ranges of an entry have another form, or their number differs from the number of loops.
    """
    read: dict[int, Sequence[_Specialization]] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None:
            continue
        if id(linked) not in read:
            read[id(linked)] = _specializations(linked)
        specializations = read[id(linked)]
        functions = find_root_ops(dispatch.dispatch.module) if specializations else ()
        for root in (root for function in functions for root in function.roots):
            op = OpInfo(root)
            if None not in op.sizes or SPECIALIZATION_RANGES in root.attributes:
                continue
            for matcher, ranges, sequence in specializations:
                if compare(matcher, op).matches:
                    fault = _wrong_count(ranges, len(op.sizes), sequence)
                    if fault is not None:
                        raise SpecError(fault)
                    # The spec and the program live in different contexts.
                    copy = mlir.Attribute.parse(str(ranges), root.context)
                    root.attributes[SPECIALIZATION_RANGES] = copy
                    break


def has_ranges(spec: Spec) -> bool:
    """Return whether a matcher of a spec has ranges."""
    sequences = map(spec.anatomy.table.lookup, {entry.matcher for entry in spec.entries})
    return any(sequence is not None and RANGES in sequence.attributes for sequence in sequences)


def check_ranges(spec: Spec, diagnostics: DiagnosticSink) -> None:
    """Report malformed ranges of a spec as errors, and wrong numbers of ranges as warnings.

    Both make a compilation with the spec fail, since the compiler itself silently accepts wrong numbers of ranges.
    """
    table = spec.anatomy.table
    reader = MatcherReader(table)
    for matcher in dict.fromkeys(entry.matcher for entry in spec.entries):
        sequence = table.lookup(matcher)
        if sequence is not None and RANGES in sequence.attributes:
            fault = _fault(sequence, reader.read(matcher), Severity.WARNING)
            if fault is not None:
                diagnostics.emit(fault)


def _specializations(linked: LinkedSpec) -> list[_Specialization]:
    """Return the matchers with ranges, in order of precedence."""
    specializations: list[_Specialization] = []
    for part in linked.parts:
        table = part.spec.anatomy.table
        reader = MatcherReader(table)
        for entry in part.entries:
            sequence = table.lookup(entry.matcher)
            if sequence is None or RANGES not in sequence.attributes:
                continue
            matcher = reader.read(entry.matcher)
            fault = _fault(sequence, matcher)
            if fault is not None:
                raise SpecError(fault)
            specializations.append((matcher, sequence.attributes[RANGES], sequence))
    return specializations


def _fault(
    sequence: mlir.Operation, matcher: Matcher, wrong_count: Severity = Severity.ERROR
) -> Diagnostic | None:
    """Return the fault of the ranges of a matcher, None if there is none; a wrong number has a severity of its own."""
    ranges = sequence.attributes[RANGES]
    if ranges.typeid != mlir.Attribute.parse(_EXAMPLE, ranges.context).typeid:
        message = f"'{RANGES}' must hold a range for each loop, such as {_EXAMPLE}"
        return error(message, sequence, rule=Rule.RANGES)
    maps = (predicate.maps for predicate in matcher.predicates if isinstance(predicate, HasMaps))
    loops = next((map_.loop_count for map_ in maps), None)
    fault = _wrong_count(ranges, loops, sequence)
    return replace(fault, severity=wrong_count) if fault else None


def _wrong_count(
    ranges: mlir.Attribute, loops: int | None, sequence: mlir.Operation
) -> Diagnostic | None:
    """Return the list whose number of ranges differs from the number of loops; None if there is none or if unknown."""
    for number, count in enumerate(range_counts(ranges)):
        if loops is not None and count != loops:
            message = (
                f"list {number} of '{RANGES}' has {counted(count, 'range')}, "
                f"and the operation {counted(loops, 'loop')}"
            )
            remedy = note("write a range for each loop, <> for any size")
            return error(message, sequence, [remedy], Rule.RANGES)
    return None
