"""Specialization ranges: the loop sizes for which a dynamic op is compiled separately.

An entry with unconstrained sizes may have ranges on its matcher. The ranges are set on the matched root ops before the
compiler configures dispatches. `iree-codegen-specialize-exports` then creates a function for each range, and entries
with bounds configure these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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


_EXAMPLE: Final = "#util<int.assumption.multi_array[[<umin = 1, umax = 1>, <>, <>]]>"


@dataclass(frozen=True)
class _Specialization:
    """A matcher with ranges."""

    matcher: Matcher
    ranges: mlir.Attribute
    sequence: mlir.Operation


def specialize_dispatches(dispatches: Iterable[LinkedDispatch]) -> None:
    """Set the ranges of specs on the root ops of dispatches, in place; the first matching entry decides.

    Raises:
        SpecError: the ranges of an entry have another form, or their number differs from the number of loops.
    """
    specializations: dict[int, Sequence[_Specialization]] = {}
    for dispatch in dispatches:
        if dispatch.linked is None:
            continue
        if id(dispatch.linked) not in specializations:
            specializations[id(dispatch.linked)] = _specializations(dispatch.linked)
        if specializations[id(dispatch.linked)]:
            _specialize(dispatch.dispatch.module, specializations[id(dispatch.linked)])


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
        if sequence is None or RANGES not in sequence.attributes:
            continue
        ranges = sequence.attributes[RANGES]
        fault = _fault(ranges, sequence)
        if fault is None:
            fault = _wrong_count(ranges, _loops(reader.read(matcher)), sequence)
            fault = replace(fault, severity=Severity.WARNING) if fault else None
        if fault is not None:
            diagnostics.emit(fault)


def _specialize(module: mlir.Operation, specializations: Sequence[_Specialization]) -> None:
    for function in find_root_ops(module):
        for root in function.roots:
            op = OpInfo(root)
            if None not in op.sizes or SPECIALIZATION_RANGES in root.attributes:
                continue
            matches = (each for each in specializations if compare(each.matcher, op).matches)
            specialization = next(matches, None)
            if specialization is None:
                continue
            ranges = specialization.ranges
            fault = _wrong_count(ranges, len(op.sizes), specialization.sequence)
            if fault is not None:
                raise SpecError(fault)
            # The spec and the program live in different contexts.
            copy = mlir.Attribute.parse(str(ranges), root.context)
            root.attributes[SPECIALIZATION_RANGES] = copy


def _specializations(linked: LinkedSpec) -> Sequence[_Specialization]:
    """Return the matchers with ranges, in order of precedence."""
    specializations: list[_Specialization] = []
    for part in linked.parts:
        table = part.spec.anatomy.table
        reader = MatcherReader(table)
        for entry in part.entries:
            sequence = table.lookup(entry.matcher)
            ranges = sequence.attributes.get(RANGES) if sequence is not None else None
            if sequence is None or ranges is None:
                continue
            matcher = reader.read(entry.matcher)
            fault = _fault(ranges, sequence) or _wrong_count(ranges, _loops(matcher), sequence)
            if fault is not None:
                raise SpecError(fault)
            specializations.append(_Specialization(matcher, ranges, sequence))
    return specializations


def _fault(ranges: mlir.Attribute, sequence: mlir.Operation) -> Diagnostic | None:
    """Return the error in the form of ranges; None if the form is valid."""
    if ranges.typeid == mlir.Attribute.parse(_EXAMPLE, ranges.context).typeid:
        return None
    return error(
        f"'{RANGES}' must hold a range for each loop, such as {_EXAMPLE}",
        sequence,
        rule=Rule.RANGES,
    )


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


def _loops(matcher: Matcher) -> int | None:
    maps = (predicate.maps for predicate in matcher.predicates if isinstance(predicate, HasMaps))
    return next((map_.loop_count for map_ in maps), None)
