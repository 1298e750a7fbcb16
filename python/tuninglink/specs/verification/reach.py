"""The sequences that run when a spec is applied: all that its entry points reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.transform_ops import Handle


@dataclass(frozen=True, eq=False)
class Code:
    """A named sequence that runs.

    Attributes:
        sequence: the op.
        table: resolves the sequences that it refers to.
        top: the ops of its body; empty if it is only declared.
        operations: these and all nested ops, parents before their children.
        matchers: the matchers that the ops refer to.
        callees: all sequences that they refer to, matchers included.
    """

    sequence: mlir.Operation
    table: SequenceTable
    top: tuple[mlir.Operation, ...]
    operations: tuple[mlir.Operation, ...]
    matchers: Mapping[mlir.Operation, tuple[str, ...]]
    callees: Mapping[mlir.Operation, tuple[str, ...]]

    @property
    def is_declaration(self) -> bool:
        """Whether the sequence has no body."""
        return not self.top

    @property
    def yielded(self) -> Sequence[Handle]:
        """The values that the sequence yields."""
        return list(self.top[-1].operands)


@dataclass(frozen=True, eq=False)
class ReachedEntry:
    """An entry of a `foreach_match`.

    Attributes:
        matcher: the matcher's symbol, as written there.
        action: the action's symbol, likewise.
        matcher_code: the matcher.
        action_code: the action.
        table: resolves both.
    """

    matcher: str
    action: str
    matcher_code: Code
    action_code: Code
    table: SequenceTable

    def __str__(self) -> str:
        return f"@{self.matcher} -> @{self.action}"


class Reach:
    """All sequences that some sequences reach, collected in one walk.

    Undefined references are ignored, since the compiler's verifier rejects them.

    Args:
        table: the sequences of the module.
        entry_points: the first sequences.

    Attributes:
        codes: all sequences that run, in the order of discovery.
    """

    def __init__(self, table: SequenceTable, entry_points: Sequence[mlir.Operation]) -> None:
        self._codes: dict[mlir.Operation, Code] = {}
        waiting = [(table, point) for point in reversed(entry_points)]
        while waiting:
            result = waiting.pop()
            if result[1] not in self._codes:
                code = self._codes[result[1]] = _read(*result)
                paths = [path for paths in code.callees.values() for path in paths]
                waiting += filter(None, map(code.table.resolve, reversed(paths)))
        self.codes = tuple(self._codes.values())

    def callee(self, code: Code, path: str) -> Code | None:
        """Return the sequence that an op of `code` refers to as `path`."""
        resolved = code.table.resolve(path)
        return self._codes[resolved[1]] if resolved else None

    def callees(self, code: Code, operation: mlir.Operation) -> Iterator[tuple[str, Code]]:
        """Yield the sequences that an op of `code` refers to, each with the reference."""
        for path in code.callees.get(operation, ()):
            callee = self.callee(code, path)
            if callee:
                yield path, callee

    def entries(self, code: Code, foreach_match: mlir.Operation) -> Iterator[ReachedEntry]:
        """Yield the entries of a `foreach_match` in `code`."""
        for matcher, action in code.table.pairs(foreach_match):
            matcher_code, action_code = self.callee(code, matcher), self.callee(code, action)
            if matcher_code and action_code:
                yield ReachedEntry(matcher, action, matcher_code, action_code, code.table)


_NONE: Mapping[mlir.Operation, tuple[str, ...]] = MappingProxyType({})


def _read(table: SequenceTable, sequence: mlir.Operation) -> Code:
    top = tuple(body(sequence))
    operations = tuple(_with_nested(top))
    matchers: dict[mlir.Operation, tuple[str, ...]] = {}
    callees: dict[mlir.Operation, tuple[str, ...]] = {}
    for operation in operations:
        name = operation.name
        if name == names.INCLUDE:
            callees[operation] = (reference(operation.attributes["target"]),)
        elif name == names.COLLECT_MATCHING:
            callees[operation] = (reference(operation.attributes["matcher"]),)
            matchers[operation] = callees[operation]
        elif name == names.FOREACH_MATCH:
            pairs = table.pairs(operation)
            matchers[operation] = tuple(matcher for matcher, _ in pairs)
            callees[operation] = (*matchers[operation], *(action for _, action in pairs))
    return Code(sequence, table, top, operations, matchers or _NONE, callees or _NONE)


def _with_nested(operations: Sequence[mlir.Operation]) -> Iterator[mlir.Operation]:
    for operation in operations:
        yield operation
        for region in operation.regions:
            for block in region.blocks:
                yield from _with_nested([op.operation for op in block.operations])
