"""Indexing of specs: the entries are rearranged so that an operation is compared with few of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.conditions import Condition
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.index_building import IndexBuilder
from tuninglink.matching.index_plan import (
    IndexEntry,
    IndexGroup,
    Item,
    Structure,
    fixed_axes,
    plan_index,
)
from tuninglink.matching.predicates import STRUCTURED_OPERANDS, UNMASKED_INPUTS
from tuninglink.matching.reader import (
    STRUCTURED_MATCHERS,
    MatcherReader,
    StructuredMatcher,
    read_matcher,
)
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.specs.module_scan import has_entry_point, nested_specs
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.transform_ops import any_op, named_sequence, yield_

LONGEST_LIST: Final = 64
"""The default maximum length of a list that is not split: trying its entries takes no longer than the walk itself."""


@dataclass(frozen=True)
class Indexing:
    """The result of indexing a module and its nested modules.

    Attributes:
        entries: the number of entries.
        groups: the number of groups.
    """

    entries: int = 0
    groups: int = 0

    def __add__(self, other: Indexing) -> Indexing:
        return Indexing(self.entries + other.entries, self.groups + other.groups)


def index_matchers(
    module: mlir.Operation,
    *,
    longest: int = LONGEST_LIST,
    diagnostics: DiagnosticSink | None = None,
) -> Indexing:
    """Arrange the entries of a spec, and of those nested in it, in a tree of lists.

    The program is configured exactly as before. Modules without an entry point and specs that are not matcher lists
    stay unchanged.

    Args:
        module: a `builtin.module`.
        longest: the maximum length of a list that is not split.
        diagnostics: receives the specs that stay unchanged because they are not matcher lists.

    Returns:
        The numbers of entries and groups.

    Raises:
        SpecError: an entry point has a signature that cannot be linked. The module is then unchanged.
    """
    result = Indexing()
    plans = [_plan(spec, longest, diagnostics) for spec in _specs(module)]
    for anatomy, reader, items in filter(None, plans):
        groups = _count_groups(items)
        if groups:
            IndexBuilder(anatomy, reader.checks).build(items)
        result += Indexing(len(reader.entries), groups)
    return result


def _specs(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the specs nested in a module, or the module itself; a module that runs nested specs has no entries."""
    return nested_specs(module) or ([module] if has_entry_point(module) else [])


def _plan(
    module: mlir.Operation, longest: int, diagnostics: DiagnosticSink | None
) -> tuple[Anatomy, IndexReader, tuple[Item, ...]] | None:
    anatomy = Anatomy(module)
    reason = anatomy.opaque_because
    if reason is not None:
        if diagnostics:
            diagnostics.remark(
                "this spec is not a list of matchers and stays as it is", module, [reason]
            )
        return None
    reader = IndexReader(anatomy)
    return anatomy, reader, plan_index(reader.entries, longest)


def _count_groups(items: Sequence[Item]) -> int:
    return sum(1 + _count_groups(item.items) for item in items if isinstance(item, IndexGroup))


_COMPUTING: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The name prefixes of operations that get a group of their own, since a dispatch has few of them."""


class IndexReader:
    """Reads the entries of one spec.

    Args:
        anatomy: a matcher list.

    Attributes:
        entries: the reachable entries, in order: the first of those with the same matcher.
        checks: for each structure, a named sequence that matches it, in a separate module.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self._anatomy = anatomy
        self._reader = MatcherReader(anatomy.table)
        self._structures: dict[Hashable, Structure] = {}
        self.checks: dict[Structure, mlir.Operation] = {}
        with anatomy.module.context, mlir.Location.unknown():
            self._scratch = mlir.Module.create()
            first: dict[str, int] = {}
            for position, (matcher, _) in enumerate(anatomy.pairs):
                first.setdefault(matcher, position)
            self.entries = tuple(self._entry(*pair) for pair in first.items())

    def _entry(self, matcher: str, position: int) -> IndexEntry:
        condition = exact_condition(self._reader.read(matcher))
        if not isinstance(condition, Condition):
            return IndexEntry(position)
        structure = self._structure(condition)
        return IndexEntry(position, condition, structure, fixed_axes(condition))

    def _structure(self, condition: Condition) -> Structure | None:
        check = _check(condition)
        if check is None:
            return None
        name, attributes, results = check
        key = name, *attributes.items()
        if key not in self._structures:
            sequence = _matcher(self._scratch, name, attributes, results)
            implied = exact_condition(read_matcher(sequence))
            assert isinstance(implied, Condition)
            structure = self._structures[key] = Structure(implied)
            self.checks[structure] = sequence
        return self._structures[key]


_Check = tuple[str, dict[str, mlir.Attribute], int]
"""The name, the attributes and the number of results of a matcher op."""


def _check(condition: Condition) -> _Check | None:
    """Return an operation that matches all ops for which a condition holds, a specific one if possible."""
    for name, form in STRUCTURED_MATCHERS.items():
        if _asks_for(condition, form):
            return name, _attributes(condition, form), len(form.roles)
    if condition.names and all(name_.startswith(_COMPUTING) for name_ in condition.names):
        accepted = [mlir.StringAttr.get(name_) for name_ in sorted(condition.names)]
        return names.MATCH_OPERATION_NAME, {"op_names": mlir.ArrayAttr.get(accepted)}, 0
    return None


def _asks_for(condition: Condition, form: StructuredMatcher) -> bool:
    """Return whether a condition implies that a matcher op matches, given the condition's types and maps."""
    is_graph = condition.root is not None
    if not form.op_name:
        is_alike = form.kind is OpKind.CONTRACTION or not is_graph
        return condition.kinds == {form.kind} and is_alike
    # The matcher op for attention rejects ops with a mask, which have an additional map.
    unmasked = UNMASKED_INPUTS + len(form.outputs)
    has_maps = condition.maps is not None and len(condition.maps.operands) == unmasked
    return condition.names == frozenset({form.op_name}) and has_maps and not is_graph


def _attributes(condition: Condition, form: StructuredMatcher) -> dict[str, mlir.Attribute]:
    count = STRUCTURED_OPERANDS
    attributes: dict[str, mlir.Attribute] = {}
    if condition.maps is not None:
        attributes["indexing_maps"] = mlir.Attribute.parse(condition.maps.text)
        count = len(condition.maps.operands)
    for position, role in enumerate(form.operands):
        element = mlir.Type.parse(condition.types[form.operand(position) % count])
        attributes[f"{role}_type"] = mlir.TypeAttr.get(element)
    return attributes


def _matcher(
    module: mlir.Module, name: str, attributes: dict[str, mlir.Attribute], results: int
) -> mlir.Operation:
    """Add a matcher with one argument to a module, and return it."""
    parameter = mlir.Type.parse("!transform.param<i64>")
    with mlir.InsertionPoint(module.body):
        sequence = named_sequence("matcher", [any_op()], [any_op()])
    block = sequence.regions[0].blocks[0]
    operation = block.arguments[0]
    with mlir.InsertionPoint(block):
        mlir.Operation.create(
            name, operands=[operation], results=[parameter] * results, attributes=attributes
        )
        yield_([operation])
    return sequence
