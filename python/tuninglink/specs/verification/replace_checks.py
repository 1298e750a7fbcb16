"""Checks of replace entries: their calls fit, and their matchers pin all that their functions rely on.

The compiler checks the second neither when it reads a spec nor when it applies it. What a function does not get must be the
same in all programs that the matcher matches. Otherwise it replaces two programs that compute different results, and one
of them wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity, counted
from tuninglink.mlir import DiagnosticSink, body, error, names, note
from tuninglink.rules import Rule

if TYPE_CHECKING:
    from tuninglink.specs import Handle, ReplaceEntry, ReplaceList

_TYPES: Final[Mapping[str, Sequence[str]]] = {
    names.MATCH_CONTRACTION: ("lhs_type", "rhs_type", "output_type"),
    names.MATCH_CONVOLUTION: ("lhs_type", "rhs_type", "output_type"),
    names.MATCH_ATTENTION: ("query_type", "key_type", "value_type"),
}
"""The attributes of named matchers with the element types of the first operands."""


def check_replace_entries(entries: ReplaceList, diagnostics: DiagnosticSink) -> None:
    """Report calls of replace entries that do not fit, and matchers that do not pin what a function relies on.

    An error about a matcher names a program that the entry would replace wrongly.
    """
    for entry in entries.entries:
        action = entries.table.lookup(entry.action)
        sequences = [sequence for _, sequence in entries.table.closure(entry.matcher)]
        if action is not None and sequences:  # Otherwise the compiler's verifier reports it.
            matcher = [operation for sequence in sequences for operation in body(sequence)]
            checks = _EntryChecks(entries, entry, matcher)
            for fault in checks.faults(action):
                diagnostics.emit(fault)


@dataclass(frozen=True)
class _Operand:
    """An operand of a matched op.

    Attributes:
        type: its type, or its element type as a text, or None, as far as the matcher tells.
        free: the arguments of a DAG that it depends on; None without a DAG.
    """

    what: str
    program: str
    type: mlir.Type | None = None
    is_read: bool = True
    free: frozenset[int] | None = None


@dataclass(frozen=True)
class _EntryChecks:
    entries: ReplaceList
    entry: ReplaceEntry
    matcher: Sequence[mlir.Operation]

    def _error(
        self, message: str, at: mlir.Operation, *remedies: str, rule: Rule = Rule.STRUCTURE
    ) -> Diagnostic:
        about = f"replace entry '{self.entry.matcher}'"
        return error(f"{about} {message}", at, list(map(note, remedies)), rule)

    def faults(self, action: mlir.Operation) -> Iterator[Diagnostic]:
        # 1. There is one call of a function of the spec.
        calls = [op for op in body(action) if op.name == names.CAST_AND_CALL]
        function = self.entries.table.symbols.get(self.entry.function)
        if len(calls) != 1:
            remedy = f"call the function with one '{names.CAST_AND_CALL}' in '@{self.entry.action}'"
            yield self._error(f"calls {counted(len(calls), 'function')}", action, remedy)
            return
        (call,) = calls
        if (
            function is None
            or function.name != names.UTIL_FUNCTION
            or not function.regions[0].blocks
        ):
            remedy = f"import a 'util.func' of the spec with '{names.IMPORT_SYMBOL}'"
            name = (
                f"'@{self.entry.function}', which is not a 'util.func' with a body"
                if self.entry.function
                else "a function that it does not import"
            )
            yield self._error(f"calls {name}", call, remedy)
            return
        # 2. It is in place of the matched op: it replaces the results of the op that it is next to.
        segments = list(mlir.DenseI32ArrayAttr(call.attributes["operandSegmentSizes"]))
        handles = [self._yielded(handle) for handle in call.operands]
        root, *values = handles
        inputs = values[0] if segments[1] else None
        outputs = _definition(values[segments[1]]) if segments[2] else None
        is_in_place = (
            isinstance(root, mlir.BlockArgument)
            and root.arg_number == 0
            and outputs is not None
            and outputs.name in (names.GET_RESULT, names.MATCH_DAG)
            and self._yielded(outputs.operands[0]) == root
        )
        if not is_in_place:
            remedy = f"replace what '{names.GET_RESULT} %root[all]' returns, after %root"
            yield self._error("does not replace the results of the matched op", call, remedy)
            return
        # 3. What the matcher tells of the operands, and what of them the function gets.
        dag = next((op for op in self.matcher if op.name == names.MATCH_DAG), None)
        named = next((op for op in self.matcher if op.name in _TYPES), None)
        if dag is not None:
            operands, at = _operands_of_dag(dag), dag
        elif named is not None:
            operands, at = _operands_of_named(named), named
        else:
            message = f"replace entry '{self.entry.matcher}' is not decided: its matcher has neither '{names.MATCH_DAG}' nor a named matcher"
            yield Diagnostic(Severity.WARNING, message, self.entry.place, rule=Rule.UNDECIDED)
            return
        given = _definition(inputs)
        passed = self._passed(given, root, operands)
        if dag is not None and given == dag:
            # The matcher hands on the values that its DAG leaves free, in their order.
            kinds = [argument.type for argument in dag.regions[0].blocks[0].arguments]
            read = {free for operand in operands if operand.is_read for free in operand.free or ()}
            operands = [
                _Operand(
                    f"value {number} of the DAG",
                    f"with another value {number} of the DAG",
                    kind,
                    number in read,
                )
                for number, kind in enumerate(kinds)
            ]
            passed = range(len(kinds))
        if passed is None:
            return
        yield from self._types(call, function, [operands[position] for position in passed])
        if dag is not None:
            yield from self._results(call, function, dag)
        yield from self._operands(function, operands, list(passed), at)
        yield from self._body(dag, named)

    def _yielded(self, handle: Handle) -> Handle:
        """Return the handle of the matcher that an argument of the action stands for; any other handle as it is."""
        matcher = self.entries.table.lookup(self.entry.matcher)
        if not isinstance(handle, mlir.BlockArgument) or matcher is None:
            return handle
        if handle.owner == matcher.regions[0].blocks[0]:
            return handle
        *_, terminator = body(matcher)
        yielded: Handle = terminator.operands[handle.arg_number]
        return yielded

    def _passed(
        self, operation: mlir.Operation | None, root: Handle, operands: Sequence[_Operand]
    ) -> Sequence[int] | None:
        """Return the positions of the operands of the matched op that are passed, in order; None if they are not known."""
        if operation is None:
            return ()
        if operation.name != names.GET_OPERAND or self._yielded(operation.operands[0]) != root:
            return None
        if "is_inverted" in operation.attributes:
            return None
        if "is_all" in operation.attributes:
            return range(len(operands))
        positions = list(mlir.DenseI64ArrayAttr(operation.attributes["raw_position_list"]))
        return positions if all(0 <= at < len(operands) for at in positions) else None

    def _types(
        self, call: mlir.Operation, function: mlir.Operation, passed: Sequence[_Operand]
    ) -> Iterator[Diagnostic]:
        arguments = [argument.type for argument in function.regions[0].blocks[0].arguments]
        takes = f"'@{self.entry.function}', which takes {len(arguments)}"
        if len(passed) != len(arguments):
            message = f"passes {counted(len(passed), 'value')} to {takes}"
            yield self._error(message, call, "pass one operand for each argument")
            return
        for number, (operand, kind) in enumerate(zip(passed, arguments, strict=True)):
            if operand.type is not None and not _fits(operand.type, kind):
                message = f"passes the {operand.what} of type {operand.type} as argument {number} of '@{self.entry.function}', of type {kind}"
                yield self._error(message, call, "a tensor may only gain or lose static sizes")

    def _results(
        self, call: mlir.Operation, function: mlir.Operation, dag: mlir.Operation
    ) -> Iterator[Diagnostic]:
        *_, root, _ = body(dag)
        *_, terminator = body(function)
        own, returned = (
            [value.type for value in values] for values in (root.results, terminator.operands)
        )
        if len(own) != len(returned) or not all(map(_fits, own, returned)):
            kinds = ", ".join(map(str, returned)) or "nothing"
            message = f"calls '@{self.entry.function}', which returns {kinds} in place of {', '.join(map(str, own))}"
            yield self._error(message, call, "return what the matched op returns")

    def _operands(
        self,
        function: mlir.Operation,
        operands: Sequence[_Operand],
        passed: Sequence[int],
        at: mlir.Operation,
    ) -> Iterator[Diagnostic]:
        """Yield the operands that the function does not depend on, although the op does."""
        arguments = function.regions[0].blocks[0].arguments
        unused = {
            position
            for position, argument in zip(passed, arguments, strict=False)
            if not any(True for _ in argument.uses)
        }
        given: set[int] = set()
        for position in set(passed) - unused:
            given |= operands[position].free or set()
        for position, operand in enumerate(operands):
            if not operand.is_read or (position in passed and position not in unused):
                continue
            if operand.free is not None and operand.free <= given:
                continue  # Its value is pinned, or computed from values that are passed.
            why = (
                f"'@{self.entry.function}' does not use it"
                if position in unused
                else "the action does not pass it"
            )
            message = f"relies on the {operand.what}, which its matcher does not see: {why}, so that a program {operand.program} is replaced as well"
            remedy = f"pass it to the function, or show its value in '{names.MATCH_DAG}'"
            yield self._error(message, at, remedy, rule=Rule.UNPINNED)

    def _body(
        self, dag: mlir.Operation | None, named: mlir.Operation | None
    ) -> Iterator[Diagnostic]:
        """Yield what the matcher does not see of the body of the op."""
        shown = list(body(dag)) if dag is not None else []
        by_name = [op for op in shown if names.NAME_ONLY in op.attributes]
        remedy = f"match it with '{names.MATCH_DAG}', which compares it"
        if by_name:
            message = f"sees only the name of '{by_name[0].name}', so that the op with another body or other attributes is replaced as well"
            yield self._error(
                message, by_name[0], f"remove '{names.NAME_ONLY}'", rule=Rule.UNPINNED
            )
        if (
            named is None
            or dag is not None
            or any(op.name == names.MATCH_REGIONS for op in self.matcher)
        ):
            return
        if named.name == names.MATCH_ATTENTION:
            message = "does not see the modification of the scores: a program whose region multiplies them by themselves is replaced as well"
            yield self._error(message, named, remedy, rule=Rule.UNPINNED)
            return
        if "indexing_maps" not in named.attributes:
            message = "does not see the indexing maps: a program with an operand transposed is replaced as well"
            yield self._error(message, named, remedy, rule=Rule.UNPINNED)
        op_names = {
            mlir.StringAttr(element).value
            for op in self.matcher
            if op.name == names.MATCH_OPERATION_NAME
            for element in mlir.ArrayAttr(op.attributes["op_names"])
        }
        types = [mlir.TypeAttr(named.attributes[name]).value for name in _TYPES[named.name]]
        if not op_names or names.GENERIC in op_names:
            # The compiler skips ops with one operand, since these may be conversions: `isContractionBody`.
            program = "a program that negates the factors with 'arith.negf'"
        elif isinstance(types[-1], mlir.IntegerType) and len(set(types)) > 1:
            program = "an op that extends integers without their sign, by 'cast_unsigned'"
        else:
            return
        message = f"does not see the body beyond its product and sum: {program} is replaced as well"
        yield self._error(message, named, remedy, rule=Rule.UNPINNED)


def _definition(value: Handle | None) -> mlir.Operation | None:
    return value.owner.operation if isinstance(value, mlir.OpResult) else None


def _operands_of_named(matcher: mlir.Operation) -> list[_Operand]:
    """Return the operands of the ops that a named matcher matches; nothing of them is pinned but their types."""
    kinds = [mlir.TypeAttr(matcher.attributes[name]).value for name in _TYPES[matcher.name]]
    if matcher.name != names.MATCH_ATTENTION:
        accumulator = _Operand(
            "accumulator", "whose accumulator starts at 1 instead of 0", kinds[2]
        )
        return [*_factors(kinds[:2]), accumulator]
    count = len(mlir.ArrayAttr(matcher.attributes["indexing_maps"]))
    scale = _Operand("scale", "whose scale is 3 instead of 0.125")
    mask = [_Operand("mask", "with another mask")] * (count - 5)
    destination = _Operand("destination", "", is_read=False)
    return [*_factors(kinds), scale, *mask, destination]


def _factors(kinds: Sequence[mlir.Type]) -> list[_Operand]:
    return [
        _Operand(f"operand {number}", f"with another operand {number}", kind)
        for number, kind in enumerate(kinds)
    ]


def _operands_of_dag(dag: mlir.Operation) -> list[_Operand]:
    """Return the operands of the last op of a DAG."""
    *_, root, _ = body(dag)
    operands = []
    for position, value in enumerate(root.operands):
        what, program = f"operand {position}", f"with another operand {position}"
        if position >= len(root.operands) - len(root.results):
            what, program = "accumulator", "whose accumulator starts at 1 instead of 0"
        operands.append(_Operand(what, program, value.type, _reads(root, position), _free(value)))
    return operands


def _reads(operation: mlir.Operation, position: int) -> bool:
    """Return whether an op may read an operand: not one that it only writes its result to."""
    if position < len(operation.operands) - len(operation.results):
        return True
    blocks = [block for region in operation.regions for block in region.blocks]
    if operation.name == names.ATTENTION:
        return False
    arguments = list(blocks[0].arguments) if blocks else []
    is_structured = len(arguments) == len(operation.operands)
    return not is_structured or any(True for _ in arguments[position].uses)


def _free(value: Handle) -> frozenset[int]:
    """Return the numbers of the arguments of a DAG that a value in it depends on."""
    free: set[int] = set()
    seen: set[Handle] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        operation = _definition(value)
        if operation is None:
            free.add(mlir.BlockArgument(value).arg_number)
        else:
            operands = enumerate(operation.operands)
            waiting += [operand for at, operand in operands if _reads(operation, at)]
    return frozenset(free)


def _fits(one: mlir.Type, other: mlir.Type) -> bool:
    """Return whether a value of a type may be passed as one of another, with a cast of sizes; one may be an element type."""
    if not isinstance(other, mlir.RankedTensorType):
        return one == other
    if not isinstance(one, mlir.RankedTensorType):
        return one == other.element_type
    are_equal = one.element_type == other.element_type and one.rank == other.rank
    dynamic = mlir.ShapedType.get_dynamic_size()
    return are_equal and all(
        size == wanted or dynamic in (size, wanted)
        for size, wanted in zip(one.shape, other.shape, strict=True)
    )
