"""Specialization ranges: for which sizes of its loops a dynamic op gets code of its own.

An entry that leaves sizes open may carry ranges on its matcher. They are put on the root ops that it matches before the
compiler configures dispatches; `iree-codegen-specialize-exports` then makes a function for each range, and entries with
bounds configure these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.iree.size_ranges import SPECIALIZATION_RANGES
from tuninglink.matching.differences import compare
from tuninglink.matching.op_info import OpInfo
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.matching.matcher import Matcher
    from tuninglink.matching.materialization import LinkedDispatch
    from tuninglink.specs.linking.linker import LinkedSpec

RANGES: Final = "tuninglink.specialization_ranges"
"""The attribute of a matcher: a list of a range for each loop, for each specialization."""

_EXAMPLE: Final = "#util<int.assumption.multi_array[[<umin = 1, umax = 1>, <>, <>]]>"

_Specialization = tuple["Matcher", mlir.Attribute]


def specialize_dispatches(dispatches: Iterable[LinkedDispatch]) -> None:
    """Puts the ranges of specs on the root ops of dispatches, in place; an op gets those of the first entry.

    Args:
        dispatches: the dispatches, with the specs that are linked for them.

    Raises:
        SpecError: the ranges of an entry are of another form.
    """
    known: dict[int, Sequence[_Specialization]] = {}
    for each in dispatches:
        if each.linked is None:
            continue
        if id(each.linked) not in known:
            known[id(each.linked)] = _specializations(each.linked)
        if known[id(each.linked)]:
            _specialize(each.dispatch.module, known[id(each.linked)])


def _specialize(module: mlir.Operation, specializations: Sequence[_Specialization]) -> None:
    for function in find_root_ops(module):
        for root in function.roots:
            op = OpInfo(root)
            if None not in op.sizes or SPECIALIZATION_RANGES in root.attributes:
                continue
            found = (ranges for matcher, ranges in specializations if compare(matcher, op).matches)
            ranges = next(found, None)
            if ranges is not None:
                # The spec and the program live in different contexts.
                copy = mlir.Attribute.parse(str(ranges), root.context)
                root.attributes[SPECIALIZATION_RANGES] = copy


def _specializations(linked: LinkedSpec) -> Sequence[_Specialization]:
    """Returns the matchers that carry ranges, in order of precedence."""
    found: list[_Specialization] = []
    for part in linked.parts:
        table = part.spec.anatomy.table
        reader = MatcherReader(table)
        for entry in part.entries:
            sequence = table.lookup(entry.matcher)
            ranges = sequence.attributes.get(RANGES) if sequence is not None else None
            if sequence is not None and ranges is not None:
                _check(ranges, sequence)
                found.append((reader.read(entry.matcher), ranges))
    return found


def _check(ranges: mlir.Attribute, sequence: mlir.Operation) -> None:
    if ranges.typeid != mlir.Attribute.parse(_EXAMPLE, ranges.context).typeid:
        message = f"'{RANGES}' must hold a range for each loop, such as {_EXAMPLE}"
        raise SpecError(error(message, sequence))
