"""Pinning: the checks of replace entries, whose matchers must see all that their functions rely on.

The compiler checks the second neither when it reads a spec nor when it applies it. What a function does not get must be the
same in all programs that the matcher matches. Otherwise it replaces two programs that compute different results, and one
of them wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity, counted
from tuninglink.iree import ValueType
from tuninglink.matching import Matcher, MatcherReader, predicates as pred
from tuninglink.mlir import DiagnosticSink, body, collect, error, names, note
from tuninglink.rules import Rule
from tuninglink.solver import Verdict
from tuninglink.specs import only_reads
from tuninglink.specs.verification import kernel_faults

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.specs import Handle, ReplaceEntry, ReplaceList

_NAMED: Final = (names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION, names.MATCH_ATTENTION)
"""The matcher ops for ops of one kind."""

_STRUCTURED: Final = ("linalg", "iree_linalg_ext")
"""The dialects whose ops have an argument of their block for each operand."""

_CASTING: Final = frozenset({"linalg.matmul", "linalg.batch_matmul", "linalg.contract"})
"""The named ops whose attribute `cast` chooses the sign of integers that are extended or converted."""

_POOLING: Final = "linalg.pooling_"
"""The beginning of the names of convolutions that combine values in different ways."""

_CASTS_TO_STATIC: Final = "ignore_dynamic_info"
"""The attribute of a conversion that casts dynamic sizes to static ones; others fail to."""

_SIZE_OF: Final = "tensor.dim"
"""The op that reads the type of its operand, but no value of it."""


def check_replace_entries(entries: ReplaceList, diagnostics: DiagnosticSink) -> list[Verdict]:
    """Report calls of replace entries that do not fit, and matchers that do not pin what a function relies on.

    An error about a matcher names a program that the entry would replace wrongly. Return whether each entry is sound.
    """
    reader, verdicts = MatcherReader(entries.table), [Verdict.PROVEN] * len(entries.entries)
    for position, entry in enumerate(entries.entries):
        action = entries.table.lookup(entry.action)
        sequences = [sequence for _, sequence in entries.table.closure(entry.matcher)]
        if action is not None and sequences:  # Otherwise the compiler's verifier reports it.
            run = [operation for sequence in sequences for operation in body(sequence)]
            checks = _EntryChecks(entries, entry, reader.read(entry.matcher), run)
            function = entries.table.symbols.get(entry.function)
            kernels = kernel_faults(entries, position, function) if function is not None else ()
            for fault in (*checks.faults(action), *kernels):
                diagnostics.emit(fault)
                is_refuted = (
                    Severity.ERROR is fault.severity or verdicts[position] is Verdict.REFUTED
                )
                verdicts[position] = Verdict.REFUTED if is_refuted else Verdict.NOT_DECIDED
    return verdicts


@dataclass(frozen=True)
class _Operand:
    """An operand of a matched op.

    Attributes:
        program: a program with another value of it, in words.
        type: its type as far as the matcher compares it.
        value: the operand in a DAG.
    """

    what: str
    program: str
    type: ValueType | None = None
    is_read: bool = True
    value: Handle | None = None


@dataclass(frozen=True)
class _EntryChecks:
    """The checks of one entry; `run` has the ops of its matcher and of the sequences that this includes."""

    entries: ReplaceList
    entry: ReplaceEntry
    matcher: Matcher
    run: Sequence[mlir.Operation]

    def _error(
        self, message: str, at: mlir.Operation, *remedies: str, rule: Rule = Rule.STRUCTURE
    ) -> Diagnostic:
        about = f"replace entry '{self.entry.matcher}'"
        return error(f"{about} {message}", at, list(map(note, remedies)), rule)

    def _unpinned(self, message: str, at: mlir.Operation, remedy: str) -> Diagnostic:
        """Return an error, or a warning if a part of the matcher that is not understood may pin it."""
        fault = self._error(message, at, remedy, rule=Rule.UNPINNED)
        if (stop := self.matcher.stop) is None:
            return fault
        notes = (note(f"unless the matcher excludes it: {stop.reason}", stop.place), *fault.notes)
        return replace(fault, severity=Severity.WARNING, notes=notes)

    def _undecided(self, reason: str) -> Diagnostic:
        message = f"replace entry '{self.entry.matcher}' is not decided: {reason}"
        return Diagnostic(Severity.WARNING, message, self.entry.place, rule=Rule.UNDECIDED)

    @cached_property
    def _conditions(self) -> Sequence[pred.Predicate]:
        """The predicates of the matcher: all are necessary, also those after a part that is not understood."""
        rest = self.matcher.stop.rest if self.matcher.stop else ()
        later = rest if isinstance(rest, tuple) else ()
        own = (one for one in later if isinstance(one, pred.Predicate))
        return (*self.matcher.predicates, *own)

    @cached_property
    def _op_names(self) -> set[str]:
        """The names that the matcher accepts, with that of ops with any body if it accepts all."""
        accepted = [set(one.names) for one in self._conditions if isinstance(one, pred.NameIn)]
        return set.intersection(*accepted) if accepted else {names.GENERIC}

    def faults(self, action: mlir.Operation) -> Iterator[Diagnostic]:
        # 1. There is one call of a function of the spec.
        calls = [op for op in body(action) if op.name == names.CAST_AND_CALL]
        if len(calls) != 1:
            remedy = f"call the function with one '{names.CAST_AND_CALL}' in '@{self.entry.action}'"
            yield self._error(f"calls {counted(len(calls), 'function')}", action, remedy)
            return
        (call,) = calls
        function = self.entries.table.symbols.get(self.entry.function)
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
        # 2. It is in place of the matched op: it replaces the results of the op that it is next to, and nothing else.
        segments = list(mlir.DenseI32ArrayAttr(call.attributes["operandSegmentSizes"]))
        root, *values = [self._yielded(handle) for handle in call.operands]
        inputs = values[0] if segments[1] else None
        outputs = values[segments[1]] if segments[2] else None
        source = _definition(outputs)
        is_in_place = (
            _is_matched(root)
            and isinstance(outputs, mlir.OpResult)
            and source is not None
            # A DAG returns the values that it leaves free, and the results of its last op.
            and (source.name, outputs.result_number)
            in ((names.GET_RESULT, 0), (names.MATCH_DAG, 1))
            and self._yielded(source.operands[0]) == root
        )
        if not is_in_place:
            remedy = f"replace what '{names.GET_RESULT} %root[all]' returns, after %root"
            yield self._error("does not replace the results of the matched op", call, remedy)
            return
        for other in body(action):
            if other != call and not only_reads(other, or_adds_symbol=True):
                yield self._undecided(
                    f"'@{self.entry.action}' also runs '{other.name}', whose effect is not known"
                )
        # 3. What the matcher tells of the operands, and what of them the function gets.
        dag, named = self._dag(), self._named()
        if dag is not None:
            operands, at = _operands_of_dag(dag), dag
            results = [ValueType.of(result.type) for result in _root_of(dag).results]
        elif named is not None:
            operands, at = self._operands_of_named(named), named
            results = [kind for kind in (operands[-1].type,) if kind is not None]
        else:
            reason = f"its matcher has neither '{names.MATCH_DAG}' nor a named matcher"
            if self.matcher.stop and any(op.name in (names.MATCH_DAG, *_NAMED) for op in self.run):
                reason = self.matcher.stop.reason
            yield self._undecided(reason)
            return
        passed: Sequence[int] | None = ()
        hands_on = dag is not None and _definition(inputs) == dag
        if dag is not None and hands_on and isinstance(inputs, mlir.OpResult):
            # The matcher hands on the values that its DAG leaves free, in their order.
            operands = _free_values(dag)
            passed = None if inputs.result_number else range(len(operands))
        elif inputs is not None:
            passed = self._passed(_definition(inputs), root, len(operands))
        if passed is None:
            yield self._undecided(f"what '@{self.entry.action}' passes is not known")
            return
        yield from self._types(call, function, [operands[position] for position in passed])
        yield from self._results(call, function, results)
        read = _arguments_read(function)
        used = {position for number, position in enumerate(passed) if number in read}
        yield from self._operands(operands, set(passed), used, at)
        if dag is not None:
            yield from self._producers(dag, set() if hands_on else used)
        elif named is not None:
            yield from self._body(named)

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

    def _dag(self) -> mlir.Operation | None:
        """Return the DAG that the matched op must equal; None without exactly one."""
        dags = [op for op in self.run if op.name == names.MATCH_DAG]
        if len(dags) != 1:
            return None
        is_for_root = any(isinstance(one, pred.IsDag) for one in self._conditions)
        is_for_root |= names.NAME_ONLY in _root_of(dags[0]).attributes
        is_for_root |= _definition(dags[0].operands[0]) is not None  # the matched op is a user
        return dags[0] if is_for_root else None

    def _named(self) -> mlir.Operation | None:
        """Return the named matcher of the matched op; None without exactly one."""
        matchers = [op for op in self.run if op.name in _NAMED]
        is_for_root = any(isinstance(one, pred.HasElementType) for one in self._conditions)
        return matchers[0] if is_for_root and len(matchers) == 1 else None

    def _operands_of_named(self, matcher: mlir.Operation) -> list[_Operand]:
        """Return the operands of the ops that a named matcher matches; of these, it compares types and sizes only."""
        maps = next((one.maps for one in self._conditions if isinstance(one, pred.HasMaps)), None)
        count = len(maps.loops) if maps else pred.STRUCTURED_OPERANDS
        # The sizes of loops, by their roles.
        sizes: dict[int, int | None] = {}
        for role, loops in maps.roles if maps else ():
            for one in self._conditions:
                if isinstance(one, pred.HasRoleSizes) and f"{one.kind.value} {one.role}" == role:
                    sizes |= zip(loops, one.sizes, strict=False)
        types: dict[int, ValueType] = {}
        for one in self._conditions:
            if isinstance(one, pred.HasElementType):
                at = one.operand % count
                own = (
                    tuple(loop if loop is None else sizes.get(loop) for loop in maps.loops[at])
                    if maps
                    else None
                )
                types[at] = ValueType(one.element, one.element, own, is_tensor=True)
        for one in self._conditions:
            if isinstance(one, pred.IsCastCompatible) and one.value.group == pred.OPERAND:
                types[one.value.number] = one.type
        # What they are, and how programs differ in them.
        last = count - 1
        words = {last: ("accumulator", "whose accumulator starts at 1 instead of 0")}
        # Poolings read no value of their window.
        unread = {1} if all(name.startswith(_POOLING) for name in self._op_names) else set()
        if matcher.name == names.MATCH_ATTENTION:
            unread = {last}
            words = dict.fromkeys(range(4, last), ("mask", "with another mask"))
            words |= {3: ("scale", "whose scale is 3 instead of 0.125"), last: ("destination", "")}
        return [
            _Operand(
                *words.get(at, (f"operand {at}", f"with another operand {at}")),
                types.get(at),
                is_read=at not in unread,
            )
            for at in range(count)
        ]

    def _passed(
        self, operation: mlir.Operation | None, root: Handle, count: int
    ) -> Sequence[int] | None:
        """Return the positions of the operands of the matched op that are passed, in order; None if they are not known."""
        if operation is None or operation.name != names.GET_OPERAND:
            return None
        if self._yielded(operation.operands[0]) != root:
            return None
        if "is_all" in operation.attributes:
            return range(count)
        positions = list(mlir.DenseI64ArrayAttr(operation.attributes["raw_position_list"]))
        if not all(-count <= at < count for at in positions):
            return None
        if "is_inverted" in operation.attributes:
            left_out = {at % count for at in positions}
            return [at for at in range(count) if at not in left_out]
        return [at % count for at in positions]

    def _types(
        self, call: mlir.Operation, function: mlir.Operation, passed: Sequence[_Operand]
    ) -> Iterator[Diagnostic]:
        kinds = [ValueType.of(one.type) for one in function.regions[0].blocks[0].arguments]
        if len(passed) != len(kinds):
            message = f"passes {counted(len(passed), 'value')} to '@{self.entry.function}', which takes {len(kinds)}"
            yield self._error(message, call, "pass one operand for each argument")
            return
        casts = any(_CASTS_TO_STATIC in op.attributes for op in body(call))
        for number, (operand, kind) in enumerate(zip(passed, kinds, strict=True)):
            if operand.type is None:
                continue
            if not _fits(operand.type, kind):
                message = f"passes the {operand.what} of type {operand.type.text} as argument {number} of '@{self.entry.function}', of type {kind.text}"
                yield self._error(message, call, "a tensor may only gain or lose static sizes")
            elif casts and _unknown_sizes(operand.type, kind):
                message = f"relies on the sizes of the {operand.what}, which its matcher does not compare with those of {kind.text}: a program with dynamic sizes is replaced as well"
                yield self._unpinned(message, call, f"leave out '{_CASTS_TO_STATIC}'")

    def _results(
        self, call: mlir.Operation, function: mlir.Operation, own: Sequence[ValueType]
    ) -> Iterator[Diagnostic]:
        *_, terminator = body(function)
        returned = [ValueType.of(value.type) for value in terminator.operands]
        if len(own) != len(returned) or not all(map(_fits, own, returned)):
            kinds = ", ".join(kind.text for kind in returned) or "nothing"
            message = f"calls '@{self.entry.function}', which returns {kinds} in place of {', '.join(kind.text for kind in own)}"
            yield self._error(message, call, "return what the matched op returns")

    def _operands(
        self, operands: Sequence[_Operand], passed: set[int], used: set[int], at: mlir.Operation
    ) -> Iterator[Diagnostic]:
        """Yield the operands that the function does not depend on, although the op does."""
        values = [operands[position].value for position in used]
        derived = _arguments_in(_sources(values))
        for position, operand in enumerate(operands):
            if not operand.is_read or position in used:
                continue
            needed = _arguments_in(_sources([operand.value]))
            if operand.value is not None and needed <= derived:
                # Its value is pinned, or computed from values that are passed.
                if not needed <= _arguments_in(values):
                    reason = f"the {operand.what} depends on values that '@{self.entry.function}' gets only in another form"
                    yield self._undecided(reason)
                continue
            why = (
                f"'@{self.entry.function}' does not use it"
                if position in passed
                else "the action does not pass it"
            )
            message = f"relies on the {operand.what}, which its matcher does not see: {why}, so that a program {operand.program} is replaced as well"
            remedy = f"pass it to the function, or show its value in '{names.MATCH_DAG}'"
            yield self._unpinned(message, at, remedy)

    def _producers(self, dag: mlir.Operation, used: set[int]) -> Iterator[Diagnostic]:
        """Yield what a DAG does not compare of its ops; the operands of the last one that are `used` may be any."""
        for op in body(dag):
            if names.NAME_ONLY in op.attributes:
                message = f"sees only the name of '{op.name}', so that the op with another body or other attributes is replaced as well"
                remedy = f"remove '{names.NAME_ONLY}'"
                yield self._error(message, op, remedy, rule=Rule.UNPINNED)
                return
        # The compiler compares which op computes an operand, but not which of its results it is.
        root = _root_of(dag)
        seen = [
            value for at, value in enumerate(root.operands) if at not in used and _reads(root, at)
        ]
        for value in _sources(seen):
            kind, source = ValueType.of(value.type), _definition(value)
            if source is not None and any(
                other != value and _fits(ValueType.of(other.type), kind) for other in source.results
            ):
                message = f"does not see which result of '{source.name}' is read: a program that reads another one is replaced as well"
                remedy = "pass the result to the function, and leave it free in the matcher"
                yield self._unpinned(message, source, remedy)
                return

    def _body(self, named: mlir.Operation) -> Iterator[Diagnostic]:
        """Yield what a named matcher does not see of the body of the op."""
        remedy = f"match it with '{names.MATCH_DAG}', which compares it"
        if not any(isinstance(one, pred.HasMaps) for one in self._conditions):
            message = "does not see the indexing maps: a program with an operand transposed is replaced as well"
            yield self._unpinned(message, named, remedy)
        if any(isinstance(one, pred.HasRegions) for one in self._conditions):
            return
        if named.name == names.MATCH_ATTENTION:
            message = "does not see the modification of the scores: a program whose region multiplies them by themselves is replaced as well"
            yield self._unpinned(message, named, remedy)
            return
        op_names = self._op_names
        lhs, rhs, output = (
            mlir.TypeAttr(named.attributes[f"{name}_type"]).value
            for name in ("lhs", "rhs", "output")
        )
        pooling = sorted(name for name in op_names if name.startswith(_POOLING))
        unseen = "the body beyond its product and sum"
        if names.GENERIC in op_names:
            # The compiler skips ops with one operand, since these may be conversions: `isContractionBody`.
            is_integer = isinstance(lhs, mlir.IntegerType)
            verb, unary = (
                ("takes absolute values of", "math.absi")
                if is_integer
                else ("negates", "arith.negf")
            )
            program = f"a program that {verb} the factors with '{unary}'"
        elif pooling and len(op_names) > 1:
            unseen = "which of its ops it is"
            program = f"a program with '{pooling[0]}' instead of '{max(op_names - {pooling[0]})}'"
        elif op_names & _CASTING and any(
            factor != output
            and (isinstance(factor, mlir.IntegerType) or isinstance(output, mlir.IntegerType))
            for factor in (lhs, rhs)
        ):
            program = "an op that extends integers without their sign, by 'cast_unsigned'"
        else:
            return
        message = f"does not see {unseen}: {program} is replaced as well"
        yield self._unpinned(message, named, remedy)


def _definition(value: Handle | None) -> mlir.Operation | None:
    return value.owner.operation if isinstance(value, mlir.OpResult) else None


def _is_matched(handle: Handle) -> bool:
    """Return whether a handle is the op that a matcher is tried at, or a user of such an op."""
    while (match := _definition(handle)) is not None and match.name == names.MATCH_STRUCTURED:
        if [op.name for op in body(match)][:-1] != [names.MATCH_USER]:
            return False
        handle = match.operands[0]
    return isinstance(handle, mlir.BlockArgument) and handle.arg_number == 0


def _root_of(dag: mlir.Operation) -> mlir.Operation:
    *_, root, _ = body(dag)
    return root


def _operands_of_dag(dag: mlir.Operation) -> list[_Operand]:
    """Return the operands of the last op of a DAG."""
    root = _root_of(dag)
    operands = []
    for position, value in enumerate(root.operands):
        what, program = f"operand {position}", f"with another operand {position}"
        if position >= len(root.operands) - len(root.results):
            what, program = "accumulator", "whose accumulator starts at 1 instead of 0"
        kind, is_read = ValueType.of(value.type), _reads(root, position)
        operands.append(_Operand(what, program, kind, is_read, value))
    return operands


def _free_values(dag: mlir.Operation) -> list[_Operand]:
    """Return the values that a DAG leaves free, as operands of all of it."""
    root = _root_of(dag)
    read = _arguments_in(
        _sources(value for at, value in enumerate(root.operands) if _reads(root, at))
    )
    return [
        _Operand(
            f"value {number} of the DAG",
            f"with another value {number} of the DAG",
            ValueType.of(value.type),
            number in read,
            value,
        )
        for number, value in enumerate(dag.regions[0].blocks[0].arguments)
    ]


def _reads(operation: mlir.Operation, position: int) -> bool:
    """Return whether an op may read the values of an operand: it writes to some, and reads only the type of others."""
    if operation.name == _SIZE_OF:
        return False
    if operation.name in (names.ATTENTION, names.QUANTIZE, names.DEQUANTIZE):
        return position < len(operation.operands) - len(operation.results)
    blocks = [block for region in operation.regions for block in region.blocks]
    arguments = list(blocks[0].arguments) if blocks else []
    dialect = operation.name.partition(".")[0]
    is_structured = dialect in _STRUCTURED and len(arguments) == len(operation.operands)
    return not is_structured or any(True for _ in arguments[position].uses)


def _sources(values: Iterable[Handle | None]) -> list[Handle]:
    """Return values, and those that they are computed from in the same block."""
    sources: dict[Handle, None] = {}
    waiting = [value for value in values if value is not None]
    while waiting:
        value = waiting.pop()
        operation = _definition(value)
        if value in sources or operation is None:
            sources[value] = None
            continue
        sources[value] = None
        waiting += [one for at, one in enumerate(operation.operands) if _reads(operation, at)]
        _, *inside = collect(operation)
        waiting += [one for op in inside for one in op.operands]
    return list(sources)


def _arguments_in(values: Iterable[Handle | None]) -> set[int]:
    """Return the numbers of the arguments among values of a block."""
    arguments = (value for value in values if isinstance(value, mlir.BlockArgument))
    holders = (names.MATCH_DAG, names.UTIL_FUNCTION)
    return {one.arg_number for one in arguments if one.owner.owner.name in holders}


def _arguments_read(function: mlir.Operation) -> set[int]:
    """Return the numbers of the arguments that the results of a function depend on."""
    first, *others = function.regions[0].blocks
    if others:  # Branches pass values on.
        return {one.arg_number for one in first.arguments if any(True for _ in one.uses)}
    *_, terminator = body(function)
    return _arguments_in(_sources(terminator.operands))


def _fits(one: ValueType, other: ValueType) -> bool:
    """Return whether a value of a type may be passed as one of another, with a cast of sizes."""
    if not (one.is_tensor and other.is_tensor):
        return one.text == other.text
    if one.element != other.element or one.sizes is None or other.sizes is None:
        return one.element == other.element
    pairs = zip(one.sizes, other.sizes, strict=False)
    are_equal = all(size == fixed or None in (size, fixed) for size, fixed in pairs)
    return are_equal and len(one.sizes) == len(other.sizes)


def _unknown_sizes(one: ValueType, other: ValueType) -> bool:
    """Return whether a tensor whose sizes are not known may be passed as one with fixed sizes."""
    fixed = other.sizes or ()
    own = (None,) * len(fixed) if one.sizes is None else one.sizes
    return any(size is None and needed is not None for needed, size in zip(fixed, own, strict=True))
