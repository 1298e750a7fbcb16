"""The sequences that run when a spec is applied, and the requirements of their matchers on the configured ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, affine_maps, indexing_loops
from tuninglink.iree.structured_op import PARALLEL, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.transform_ops import Handle

_OPERANDS: Final = 3
"""The number of operands of a product, including its result."""

_OUTPUTS: Final = {
    names.MATCH_CONTRACTION: 1,
    names.MATCH_CONVOLUTION: 1,
    names.MATCH_ATTENTION: 1,
    names.MATCH_ONLINE_ATTENTION: 3,
}
"""The numbers of outputs of the ops that matchers with indexing maps match."""

_TYPES: Final = {
    names.MATCH_ATTENTION: ("query_type", "key_type"),
    names.MATCH_ONLINE_ATTENTION: ("query_type", "key_type"),
}


@dataclass(frozen=True)
class MatchedOp:
    """The requirements of a matcher on an op.

    Attributes:
        parallel: for each loop, whether it is parallel rather than a reduction.
        types: the element types of its first two operands; empty if unknown.
        operands: the number of its operands, including results.
        is_product: whether the op is a contraction or a convolution, for which each knob was tested individually.
        parts: the products of an attention, by the names of their attributes.
    """

    parallel: tuple[bool, ...]
    types: tuple[str, str] = ("", "")
    operands: int = _OPERANDS
    is_product: bool = True
    parts: tuple[tuple[str, MatchedOp], ...] = ()


def matched_op(matcher: mlir.Operation | None) -> MatchedOp | None:
    """Return the requirements of a matcher on its op, None if its loops are unknown."""
    for operation in body(matcher) if matcher is not None and matcher.regions[0].blocks else ():
        if operation.name in _OUTPUTS:
            return _by_maps(operation)
        if operation.name == names.MATCH_DAG:
            return _root_of_dag(operation)
    return None


def _by_maps(operation: mlir.Operation) -> MatchedOp | None:
    maps = affine_maps(operation.attributes.get("indexing_maps"))
    if not maps:
        return None
    outputs = _OUTPUTS[operation.name]
    lhs, rhs = _TYPES.get(operation.name, ("lhs_type", "rhs_type"))
    types = _type(operation, lhs), _type(operation, rhs)
    parallel = _parallel(maps[0].n_dims, indexing_loops(maps[-outputs]))
    if operation.name not in _TYPES:
        return MatchedOp(parallel, types)
    # An attention is a product of queries and keys, and one of its result and values.
    query, key, value, result = (_loops(maps[at]) for at in (0, 1, 2, -outputs))
    qk = MatchedOp(tuple(loop in result for loop in sorted(query | key)), types, is_product=False)
    # The scores are converted to the type of the values.
    of_value = _type(operation, "value_type")
    pv = MatchedOp(tuple(loop in result for loop in sorted(value | result)), (of_value, of_value))
    parts = (("qk_attrs", qk), ("pv_attrs", pv))
    return MatchedOp(parallel, operands=len(maps), is_product=False, parts=parts)


def _loops(map_: mlir.AffineMap) -> set[int]:
    return {loop for loop in indexing_loops(map_) if loop is not None}


def _parallel(count: int, loops: Iterable[int | None]) -> tuple[bool, ...]:
    parallel = set(loops)
    return tuple(loop in parallel for loop in range(count))


def _type(operation: mlir.Operation, name: str) -> str:
    attribute = operation.attributes.get(name)
    return str(attribute.value) if isinstance(attribute, mlir.TypeAttr) else ""


def _root_of_dag(operation: mlir.Operation) -> MatchedOp | None:
    """Return the requirements on the last op of a DAG, or None if that op has no loops."""
    operations = [op for op in body(operation) if op.name != names.YIELD]
    root = StructuredOp(operations[-1]) if operations else None
    if root is None or not root.loop_count:
        return None
    is_product = root.kind in (OpKind.CONTRACTION, OpKind.CONVOLUTION)
    parallel = tuple(type_ == PARALLEL for type_ in root.iterator_types)
    operands = len(root.operation.operands)
    return MatchedOp(parallel, operands=operands, is_product=is_product)


@dataclass(frozen=True, eq=False)
class Code:
    """A named sequence that runs.

    Attributes:
        sequence: the op.
        table: resolves the sequences that it refers to.
        top: the ops of its body; empty if it is only declared.
        operations: the ops in `top` and all nested ops, parents before their children.
        matchers: the matchers that the ops refer to.
        callees: all sequences that the ops refer to, including matchers.
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
        matcher: the matcher's symbol, as written in the `foreach_match`.
        action: the action's symbol, as written in the `foreach_match`.
        matcher_code: the matcher.
        action_code: the action.
        table: the table that resolves both symbols.
    """

    matcher: str
    action: str
    matcher_code: Code
    action_code: Code
    table: SequenceTable

    def __str__(self) -> str:
        return f"@{self.matcher} -> @{self.action}"


_NONE: Mapping[mlir.Operation, tuple[str, ...]] = MappingProxyType({})


class Reach:
    """All sequences reachable from the entry points, collected in one walk.

    Undefined references are ignored, since the compiler's verifier rejects them.

    Args:
        table: the sequences of the module.
        entry_points: the sequences at which the walk starts.

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
        """Return the sequence that `path` refers to in an op of `code`."""
        resolved = code.table.resolve(path)
        return self._codes[resolved[1]] if resolved else None

    def callees(self, code: Code, operation: mlir.Operation) -> Iterator[tuple[str, Code]]:
        """Yield the sequences that an op of `code` refers to, each with its reference."""
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
