"""Entries that can never apply, as an earlier entry takes everything that they match."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.sequences import Handle
    from tuninglink.specs.verification.reach import Code, Entry, Reach

_Key = tuple[Hashable, ...]


class UnreachableEntries:
    """Finds matchers that ask the same questions.

    Two matchers do when their conditions are the same, one by one: the operations that can fail, with all
    attributes and types. What they yield does not matter, nor do names, locations, and constants that are
    only yielded. Different helpers with the same content are the same.

    Args:
        reach: where what a matcher includes is found.
        diagnostics: where findings go.
    """

    def __init__(self, reach: Reach, diagnostics: DiagnosticSink) -> None:
        self._reach = reach
        self._diagnostics = diagnostics
        self._contents: dict[Code, _Key] = {}
        # Matchers are much alike: a number for each distinct operation keeps what is held small.
        self._seen: dict[_Key, int] = {}

    def check(self, entries: Iterable[Entry]) -> None:
        """Reports the unreachable ones among the entries of one `foreach_match`.

        A matcher that is used twice is not reported once more: it is an error.
        """
        first: dict[_Key, Entry] = {}
        takes_all: Entry | None = None
        for entry in entries:
            if entry.matcher_code.is_declaration:
                continue
            conditions = self._conditions(entry.matcher_code, _Values())
            earlier = first.setdefault(conditions, entry)
            if earlier.matcher_code is not entry.matcher_code:
                self._report(entry, earlier, "matches the same operations", "remove one of the two")
            elif takes_all:
                remedy = "give it conditions, or let it be the last"
                self._report(entry, takes_all, "matches every operation", remedy)
            elif not conditions:
                takes_all = entry

    def _report(self, entry: Entry, earlier: Entry, why: str, remedy: str) -> None:
        self._diagnostics.warning(
            f"entry '{entry}' is unreachable: '@{earlier.matcher}' comes first and {why}; {remedy}",
            entry.matcher_code.sequence,
            [note("the earlier matcher", earlier.matcher_code.sequence)],
        )

    def _conditions(self, code: Code, values: _Values) -> _Key:
        for block in code.sequence.regions[0].blocks:
            values.add_arguments(block)
        return self._operations(code, code.top[:-1], values)

    def _content(self, code: Code) -> _Key:
        """Returns all that a sequence does, as whoever includes it sees it."""
        if code not in self._contents:
            values = _Values()
            content: _Key = (code,)
            if not code.is_declaration:
                content = (self._conditions(code, values), values.keys(code.yielded))
            self._contents[code] = content
        return self._contents[code]

    def _operations(
        self, code: Code, operations: Iterable[mlir.Operation], values: _Values
    ) -> _Key:
        key: list[int] = []
        for operation in operations:
            if operation.name == names.PARAM_CONSTANT:
                values.add_constant(operation)  # It cannot fail; whoever uses it holds its value.
                continue
            content = self._operation(code, operation, values)
            key.append(self._seen.setdefault(content, len(self._seen)))
            values.add(operation.results)
        return tuple(key)

    def _operation(self, code: Code, operation: mlir.Operation, values: _Values) -> _Key:
        attributes: dict[str, Hashable] = dict(operation.attributes.items())
        callees: list[Hashable] = []
        for _, callee in self._reach.callees(code, operation):
            if operation.name == names.INCLUDE:
                del attributes["target"]
                callees.append(self._content(callee))
            else:
                callees.append(callee)
        return (
            operation.name,
            tuple(attributes.items()),
            values.keys(operation.operands),
            tuple(each.type for each in operation.results),
            tuple(callees),
            tuple(self._block(code, each, values) for each in _blocks(operation)),
        )

    def _block(self, code: Code, block: mlir.Block, values: _Values) -> _Key:
        values.add_arguments(block)
        return self._operations(code, [each.operation for each in block.operations], values)


class _Values:
    """What the values of a sequence are, by the order in which they appear; constants by their value."""

    def __init__(self) -> None:
        self._keys: dict[Handle, Hashable] = {}
        self._count = 0

    def keys(self, values: Iterable[Handle]) -> _Key:
        return tuple(self._keys[each] for each in values)

    def add(self, values: Iterable[Handle]) -> None:
        for value in values:
            self._keys[value] = self._count
            self._count += 1

    def add_arguments(self, block: mlir.Block) -> None:
        for argument in block.arguments:
            self._keys[argument] = (self._count, argument.type)
            self._count += 1

    def add_constant(self, operation: mlir.Operation) -> None:
        result = operation.results[0]
        self._keys[result] = (operation.attributes["value"], result.type)


def _blocks(operation: mlir.Operation) -> Iterable[mlir.Block]:
    return (block for region in operation.regions for block in region.blocks)
