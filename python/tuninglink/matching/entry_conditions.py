"""The conditions and configurations of all entries of a spec; configurations are compared by structure, not by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import MatcherReader
from tuninglink.matching.relations import Subsumption
from tuninglink.mlir import names
from tuninglink.mlir.symbols import split_path
from tuninglink.mlir.walk import collect
from tuninglink.specs.applicability import scopes_of
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import Entry, is_guarded

_OTHER_TARGETS: Final = Opaque("it is for other targets than most entries")
_IN_REGION: Final = Opaque(
    "its list is in a region of another op, which decides whether it is walked"
)


@dataclass(frozen=True, eq=False)
class EntryList:
    """The entries of one `foreach_match`, where the first match decides.

    Attributes:
        operation: the `foreach_match`.
        start: the position of its first entry among all of the spec.
        conditions: the condition of the matcher of each entry.
    """

    operation: mlir.Operation
    start: int
    conditions: Sequence[Condition | Opaque]

    @cached_property
    def subsumption(self) -> Subsumption:
        """Decides which entries are subsumed by earlier ones."""
        return Subsumption(self.conditions)


class MatcherConditions:
    """The conditions of the matchers of a module; a matcher is read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self.table = table
        self._reader = MatcherReader(table)
        self._conditions: dict[str, Condition | Opaque] = {}

    def of(self, path: str) -> Condition | Opaque:
        """Return the condition of the matcher at a path."""
        if path not in self._conditions:
            self._conditions[path] = exact_condition(self._reader.read(path))
        return self._conditions[path]


class EntryConditions:
    """Reads the conditions of the entries of a spec.

    Args:
        spec: any spec. Entries are those of the `foreach_match` operations in its entry points, in order.
        matchers: the conditions of its matchers that were already read.
    """

    def __init__(self, spec: Spec, matchers: MatcherConditions | None = None) -> None:
        self.spec = spec
        self._matchers = matchers or MatcherConditions(spec.anatomy.table)

    @cached_property
    def lists(self) -> tuple[EntryList, ...]:
        """The entries by their `foreach_match`, each of which walks the whole payload; empty if they have guards."""
        table = self.spec.anatomy.table
        lists = []
        start = 0
        for entry_point in self.spec.anatomy.entry_points:
            if is_guarded(entry_point.sequence):
                return ()
            for foreach_match in collect(entry_point.sequence, names.FOREACH_MATCH):
                is_walked = foreach_match.parent == entry_point.sequence
                conditions = [
                    self._matchers.of(matcher) if is_walked else _IN_REGION
                    for matcher, _ in table.pairs(foreach_match)
                ]
                lists.append(EntryList(foreach_match, start, self._comparable(start, conditions)))
                start += len(conditions)
        return tuple(lists)

    def _comparable(
        self, start: int, conditions: list[Condition | Opaque]
    ) -> Sequence[Condition | Opaque]:
        """Return the conditions of the entries that apply to the targets of most entries.

        If an entry does not apply, a later one may configure the ops that it matches.
        """
        scopes = scopes_of(self.spec, range(start, start + len(conditions)))
        if len(set(scopes)) <= 1:
            return conditions
        ((most, _),) = Counter(scopes).most_common(1)
        return [
            each if scope == most else _OTHER_TARGETS
            for each, scope in zip(conditions, scopes, strict=True)
        ]

    def entry(self, position: int) -> Entry:
        """Return the entry at a position."""
        return self.spec.anatomy.entry(position)

    @cached_property
    def configurations(self) -> Sequence[int]:
        """The number of each entry's configuration; equal for entries with the same effect."""
        reader = ConfigurationReader(self.spec.anatomy.table)
        numbers: dict[Hashable, int] = {}
        result = (reader.configuration(*pair) for pair in self.spec.anatomy.pairs)
        return [numbers.setdefault(each, len(numbers)) for each in result]

    def changing(self, entries: EntryList) -> list[int]:
        """Return the positions, within a list, of the entries whose matchers may change the payload."""
        pairs = self.spec.anatomy.pairs
        return [
            position
            for position, each in enumerate(entries.conditions)
            if isinstance(each, Opaque)
            and self.spec.anatomy.table.may_change(pairs[entries.start + position][0])
        ]


class ConfigurationReader:
    """Reads the configurations of the entries of one module; shared parts are read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._structures: dict[str, Hashable] = {}

    def configuration(self, matcher: str, action: str) -> Hashable:
        """Return a key of an entry's effect on a matched op; equal for equivalent entries.

        For an action that only annotates, the key consists of the resulting attributes. For other actions, it consists
        of the structure of the action and the values that the matcher passes to it.
        """
        annotations = self._table.annotations(action)
        if annotations is None:
            sequence = self._table.lookup(matcher)
            count = len(signature(sequence).results) if sequence is not None else 0
            return self._structure(action), tuple(self._yielded(matcher, at) for at in range(count))
        return frozenset(
            {
                (self._yielded(matcher, annotation.operand), annotation.name): self._yielded(
                    matcher, annotation.value
                )
                if isinstance(annotation.value, int)
                else annotation.value
                for annotation in annotations
            }.items()
        )

    def _yielded(self, path: str, position: int) -> Hashable:
        """Return the key of a value that a matcher yields."""
        yielded = self._table.yielded(path, position)
        return (path, position) if yielded is None else yielded

    def _structure(self, path: str) -> Hashable:
        if path not in self._structures:
            sequence = self._table.lookup(path)
            result = structural_key(sequence) if sequence is not None else path
            # References are compared by name, which may refer to something else in another module.
            self._structures[path] = (tuple(split_path(path)[:-1]), result)
        return self._structures[path]


def structural_key(
    operation: mlir.Operation, replaced: Mapping[str, str] = MappingProxyType({})
) -> Hashable:
    """Return the structural key of an operation and its regions. Keys compare within one context only.

    The key ignores locations and the symbol that the operation defines.

    Args:
        operation: the operation.
        replaced: for referenced symbols, the symbols to use in their place.
    """
    return _KeyBuilder(replaced).operation(operation)


class _KeyBuilder:
    def __init__(self, replaced: Mapping[str, str]) -> None:
        self._replaced = replaced
        self._values: dict[mlir.Value[Any], int] = {}

    def operation(self, operation: mlir.Operation) -> Hashable:
        attributes = tuple(
            (name, self._attribute(attribute))
            for name, attribute in operation.attributes.items()
            if name != names.SYMBOL_NAME
        )
        operands = tuple(self._number(operand) for operand in operation.operands)
        results = tuple((self._number(result), result.type) for result in operation.results)
        replaced = self._replaced
        if operation.name in names.SHOWING:
            self._replaced = {}  # The program that a matcher shows has its own symbols.
        blocks = tuple(
            tuple(self._block(block) for block in region.blocks) for region in operation.regions
        )
        self._replaced = replaced
        return operation.name, attributes, operands, results, blocks

    def _block(self, block: mlir.Block) -> Hashable:
        arguments = tuple((self._number(argument), argument.type) for argument in block.arguments)
        return arguments, tuple(
            self.operation(operation.operation) for operation in block.operations
        )

    def _number(self, value: mlir.Value[Any]) -> int:
        return self._values.setdefault(value, len(self._values))

    def _attribute(self, attribute: mlir.Attribute) -> Hashable:
        if isinstance(attribute, mlir.FlatSymbolRefAttr):
            return self._replaced.get(attribute.value, attribute.value)
        if isinstance(attribute, mlir.ArrayAttr):
            return tuple(map(self._attribute, attribute))
        return attribute
