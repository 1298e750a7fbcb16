"""Facts about the named sequences of a spec: the sequences that they use, their annotations, results and side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.mlir import (
    body,
    collect,
    entries_of,
    join_path,
    names,
    postorder,
    reference,
    references_in,
    split_path,
    visit,
)
from tuninglink.specs.module_scan import ModuleScan, fails, is_any_op, only_reads, signature

_Resolved = tuple["SequenceTable", mlir.Operation]

_Source = mlir.Operation | int | None
"""The source of a yielded value: a constant, the argument with this number, or any other value."""

Found = TypeVar("Found")

_ACTION_OPERATIONS = frozenset({names.ANNOTATE, names.INCLUDE, names.PARAM_CONSTANT, names.YIELD})
"""The operations of actions that only annotate."""

_Values = dict[mlir.Operation, dict[int, mlir.Operation]]
"""For each sequence, the arguments that an annotation takes as its value, and the annotation."""

_Parents = dict[mlir.Value[mlir.Type], tuple[int, mlir.Operation]]
"""The number of enclosing ops that the ops of a handle must have, and an op that fails without them."""

_Needs = dict[int, tuple[int, mlir.Operation]]
"""The same for the arguments of a sequence, or for what a matcher yields."""


@dataclass(frozen=True)
class Annotation:
    """An attribute that a sequence sets on an op.

    Attributes:
        operand: the number of the sequence argument that holds the op.
        value: the attribute's value if the sequence itself holds it, a unit attribute for an annotation without value;
            otherwise the number of the sequence argument that holds the value.
    """

    operand: int
    name: str
    value: mlir.Attribute | int


def argument_attributes(sequence: mlir.Operation, index: int) -> frozenset[str]:
    """Return the names of the attributes on one argument of `sequence`."""
    attributes = sequence.attributes.get("arg_attrs")
    if not isinstance(attributes, mlir.ArrayAttr):
        return frozenset()
    return frozenset(entries_of(attributes[index]))


def consumes_argument(sequence: mlir.Operation, index: int) -> bool:
    """Return whether the body of `sequence` invalidates the handle in argument `index`."""
    argument = sequence.regions[0].blocks[0].arguments[index]
    return any(consumes(operation, argument) for operation in body(sequence))


def consumes(operation: mlir.Operation, handle: Handle) -> bool:
    """Return whether `operation` invalidates `handle`."""
    if handle not in list(operation.operands):
        return False
    with operation.context:
        effects = mlir.MemoryEffectsOpInterface(operation).get_effects()
    return any(e.effect == mlir.MemoryEffect.Free and e.value == handle for e in effects)


class SequenceTable:
    """The named sequences that can be referred to from inside `module`, and facts about them.

    Every fact is computed once for each sequence, even if many entries share the sequence.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self._nested: dict[str, SequenceTable] = {}
        self._referenced: dict[str, tuple[str, ...]] = {}
        self._annotations: dict[mlir.Operation, tuple[Annotation, ...] | None] = {}
        self._yielded: dict[mlir.Operation, tuple[_Source, ...]] = {}
        self._may_change: dict[str, bool] = {}

    def symbol(self, name: str) -> mlir.Operation | None:
        """Return the op, of any kind, that defines a symbol directly in the module; None if the symbol is undefined."""
        return self.scan.symbols.get(name)

    def referenced(self, name: str) -> tuple[str, ...]:
        """Return the symbols of the module that the definition of a symbol refers to, with repetitions."""
        if name not in self._referenced:
            symbol, shape = self.scan.symbols[name], self.scan.shapes.get(name)
            references = references_in(symbol) if shape is None else shape.references(symbol)
            self._referenced[name] = tuple(path[0] for path in references)
        return self._referenced[name]

    def resolve(self, path: str) -> _Resolved | None:
        """Return the sequence at `path` with the table of its module, or None."""
        table = self
        *scope, name = split_path(path) if ":" in path or '"' in path else (path,)
        for each in scope:
            module = table.symbol(each)
            if module is None or module.name != names.MODULE:
                return None
            table = table._nested.setdefault(each, SequenceTable(module))
        symbol = table.symbol(name)
        if symbol is None or symbol.name != names.NAMED_SEQUENCE:
            return None
        return table, symbol

    def lookup(self, path: str) -> mlir.Operation | None:
        """Return the sequence at `path`, or None if it does not exist."""
        resolved = self.resolve(path)
        return resolved[1] if resolved else None

    def callee(self, include: mlir.Operation) -> _Resolved | None:
        """Resolve the target of an `include` in the module."""
        return self.resolve(reference(include.attributes["target"]))

    def pairs(self, foreach_match: mlir.Operation) -> list[tuple[str, str]]:
        """Return the `(matcher, action)` pairs of a `foreach_match`, in order."""
        return [
            (reference(matcher), reference(action)) for matcher, action in pairs_of(foreach_match)
        ]

    def lists(self, sequence: mlir.Operation) -> Iterator[mlir.Operation]:
        """Yield the `foreach_match` ops of a sequence, including those that guards moved to separate sequences."""
        for operation in collect(sequence, names.FOREACH_MATCH, names.INCLUDE):
            if operation.name == names.FOREACH_MATCH:
                yield operation
            else:
                callee = self.callee(operation)
                if callee is not None and names.LIST in callee[1].attributes:
                    yield from callee[0].lists(callee[1])

    def is_bookkeeping(self, matcher: str) -> bool:
        """Return whether a matcher was added by linking, in which case its pair is not an entry."""
        sequence = self.lookup(matcher)
        return sequence is not None and names.NO_ENTRY in sequence.attributes

    @cached_property
    def scan(self) -> ModuleScan:
        """The scan of the module for linking."""
        return ModuleScan(self.module)

    def closure(self, *paths: str) -> Iterator[_Resolved]:
        """Yield the sequences at `paths` and those that they run, by includes and as actions.

        Each sequence is paired with the table of its module, and follows the sequences that it runs, except in cycles.
        """
        return postorder(filter(None, map(self.resolve, paths)), _callees)

    def run_by(self, *paths: str) -> Iterator[_Resolved]:
        """Yield the sequences at `paths` and all sequences that they run, including matchers, as `closure` does."""
        return postorder(filter(None, map(self.resolve, paths)), _referenced)

    def may_change(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it includes, may change the payload."""
        if path not in self._may_change:
            self._may_change[path] = self._any(path, lambda operation: not only_reads(operation))
        return self._may_change[path]

    def may_fail(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it runs, may fail."""
        resolved = self.resolve(path)
        if resolved is None or self._any(path, lambda _: False):
            return True
        values: _Values = {}
        table, sequence = resolved
        return any(True for _ in table.failing_ops(sequence, values)) or bool(values[sequence])

    def _any(self, path: str, holds: Callable[[mlir.Operation], bool]) -> bool:
        """Return whether `holds` is true, or unknown, for an op that the sequence at `path` runs."""
        run = list(self.closure(path))
        return not run or any(
            table.callee(op) is None if op.name == names.INCLUDE else holds(op)
            for table, sequence in run
            for op in body(sequence)
        )

    def failing_ops(
        self, sequence: mlir.Operation, values: _Values | None = None
    ) -> Iterator[mlir.Operation]:
        """Yield the ops of a sequence, and of those that it runs, whose failure makes the sequence fail.

        Record in `values` for each sequence the arguments that must be one value for an annotation.
        """
        values = {} if values is None else values
        needs: dict[mlir.Operation, _Needs] = {}
        for inner, runs in postorder([(self, sequence)], partial(_callees, suppressed=False)):
            yield from (op for op in body(runs) if op.name != names.INCLUDE and fails(op))
            arguments = values[runs] = {}
            for value, annotation in _annotated_values(inner, runs, values):
                if isinstance(value, mlir.BlockArgument) and value.owner.owner == runs:
                    arguments[value.arg_number] = annotation
                elif value is None or not _is_one_value(inner, value):
                    yield annotation
            parents = _parents_needed(inner, runs, needs)
            if needed := _of_arguments(parents, runs):
                needs[runs] = needed
            for value, (_, without) in parents.items():
                # Alternatives work on a copy of their scope that nothing encloses.
                if (
                    isinstance(value, mlir.BlockArgument)
                    and value.owner.owner.name == names.ALTERNATIVES
                ):
                    yield without
        # A spec is applied to a function, which is in a module.
        yield from (without for count, without in needs.get(sequence, {}).values() if count > 1)

    def distinct(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return one pair for each combination of matcher shape and action; others differ only in parameters."""
        found: dict[object, tuple[str, str]] = {}
        for matcher, action in pairs:
            # A path with a colon is nested or quoted, and not a symbol of the module.
            shape = None if ":" in matcher else self.scan.shapes.get(matcher)
            found.setdefault((shape or matcher, action), (matcher, action))
        return list(found.values())

    def annotations(self, path: str) -> tuple[Annotation, ...] | None:
        """Return the annotations of the sequence at `path`, or None if it may do anything other than annotate."""
        return self._fold(path, self._annotations, _read_annotations)

    def yielded(self, path: str, position: int) -> mlir.Attribute | int | None:
        """Return the value that the sequence at `path` yields at `position`.

        The result is the value of a constant, the number of an argument of the sequence, or None for anything else.
        """
        yielded = self._fold(path, self._yielded, _read_yielded) or ()
        source = yielded[position] if position < len(yielded) else None
        return source.attributes["value"] if isinstance(source, mlir.Operation) else source

    def _fold(
        self,
        path: str,
        results: dict[mlir.Operation, Found],
        read: Callable[[SequenceTable, mlir.Operation, Mapping[mlir.Operation, Found]], Found],
    ) -> Found | None:
        """Compute a fact about the sequence at `path` from the facts about the sequences that it includes."""
        result = self.resolve(path)
        if result is None:
            return None
        if result[1] not in results:

            def unread(caller: _Resolved) -> Iterable[_Resolved]:
                return () if caller[1] in results else _callees(caller)

            for table, sequence in postorder([result], unread) if self.scan.including else [result]:
                if sequence not in results:
                    results[sequence] = read(table, sequence, results)
        return results[result[1]]


def _annotated_values(
    table: SequenceTable, sequence: mlir.Operation, values: _Values
) -> Iterator[tuple[Handle | None, mlir.Operation]]:
    """Yield the values in a sequence that annotations take, there or in what it runs; None for an unknown one."""

    def of(resolved: _Resolved | None) -> Iterable[tuple[int, mlir.Operation]]:
        return values.get(resolved[1], {}).items() if resolved else ()

    for operation in collect(sequence, names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH):
        if operation.name == names.ANNOTATE:
            yield from ((value, operation) for value in list(operation.operands)[1:])
        elif operation.name == names.INCLUDE:
            for number, annotation in of(table.callee(operation)):
                yield operation.operands[number], annotation
        else:
            for matcher, action in table.distinct(table.pairs(operation)):
                for number, annotation in of(table.resolve(action)):
                    yielded = table.yielded(matcher, number)
                    if not isinstance(yielded, mlir.Attribute):
                        yield None if yielded is None else operation.operands[yielded], annotation


def _parents_needed(
    table: SequenceTable,
    sequence: mlir.Operation,
    known: Mapping[mlir.Operation, _Needs],
    yielded: _Needs | None = None,
) -> _Parents:
    """Return how many enclosing ops the handles in a sequence need for the `get_parent_op`s in it and what it runs.

    With `yielded`, only what those results need counts: a matcher that fails by itself does not match.
    """
    parents: _Parents = {}
    running = (names.INCLUDE, names.FOREACH_MATCH) if known else ()
    if not (yielded or collect(sequence, names.GET_PARENT, *running)):
        return parents
    operations: list[mlir.Operation] = []
    visit(sequence, operations.append)
    for operation in reversed(operations[1:]):
        needs = list(_needs_of_results(table, operation, parents, is_all=yielded is None))
        if yielded is None:
            needs += _needs_of_run(table, operation, known)
        elif operation.name == names.YIELD and operation.parent == sequence:
            needs += yielded.items()
        for number, (count, without) in needs:
            value = operation.operands[number]
            if count > parents.get(value, (0, without))[0]:
                parents[value] = (count, without)
    return parents


def _needs_of_results(
    table: SequenceTable, operation: mlir.Operation, parents: _Parents, *, is_all: bool
) -> Iterator[tuple[int, tuple[int, mlir.Operation]]]:
    """Yield what the operands of an op need because of what its results and the arguments of its regions do."""
    results = {
        number: parents[result]
        for number, result in enumerate(operation.results)
        if result in parents
    }
    count, without = max(results.values(), key=itemgetter(0), default=(0, operation))
    if operation.name == names.GET_PARENT:
        if results or is_all:
            yield 0, (count + 1, without)
    elif operation.name == names.INCLUDE and results:
        if callee := table.callee(operation):
            yield from _of_arguments(_parents_needed(*callee, {}, results), callee[1]).items()
    elif results and len(operation.operands):
        # Other ops yield what stands about as deep as their first operand.
        yield 0, (count, without)
    if operation.name in (names.FOREACH, names.SEQUENCE):
        block = operation.regions[0].blocks[0]
        yield from ((n, parents[each]) for n, each in enumerate(block.arguments) if each in parents)


def _needs_of_run(
    table: SequenceTable, operation: mlir.Operation, known: Mapping[mlir.Operation, _Needs]
) -> Iterator[tuple[int, tuple[int, mlir.Operation]]]:
    """Yield what the operands of an op need because of the sequences that it runs."""
    if operation.name == names.INCLUDE:
        callee = table.callee(operation)
        if callee and fails_as_included(operation):
            yield from known.get(callee[1], {}).items()
    elif operation.name == names.FOREACH_MATCH:
        is_inside = "restrict_root" not in operation.attributes
        for matcher, action in table.distinct(table.pairs(operation)):
            asked, acting = table.resolve(matcher), table.resolve(action)
            if asked and acting and acting[1] in known:
                found = _parents_needed(*asked, {}, known[acting[1]])
                for number, (count, without) in _of_arguments(found, asked[1]).items():
                    yield number, (count - (is_inside and number == 0), without)


def _of_arguments(parents: _Parents, sequence: mlir.Operation) -> _Needs:
    # A declared sequence has no block.
    arguments = [each for block in sequence.regions[0].blocks for each in block.arguments]
    return {each.arg_number: parents[each] for each in arguments if each in parents}


def _is_one_value(table: SequenceTable, value: Handle) -> bool:
    if not isinstance(value, mlir.OpResult):
        return False
    owner = value.owner.operation
    if owner.name != names.INCLUDE:
        return owner.name in (names.PARAM_CONSTANT, names.CREATE_SERIALIZED_MODULE)
    yielded = table.yielded(reference(owner.attributes["target"]), value.result_number)
    if isinstance(yielded, int):
        return _is_one_value(table, owner.operands[yielded])
    return yielded is not None


def _callees(caller: _Resolved, *, suppressed: bool = True) -> Iterator[_Resolved]:
    """Yield the included sequences, or only the ones whose failures propagate, and the actions of the lists."""
    table, sequence = caller
    for operation in collect(sequence, names.INCLUDE, names.FOREACH_MATCH):
        if operation.name == names.FOREACH_MATCH:
            actions = dict.fromkeys(action for _, action in table.pairs(operation))
            yield from filter(None, map(table.resolve, actions))
        elif suppressed or fails_as_included(operation):
            yield from filter(None, [table.callee(operation)])


def _referenced(caller: _Resolved) -> Iterator[_Resolved]:
    table, sequence = caller
    return filter(None, (table.resolve(join_path(path)) for path in references_in(sequence)))


def _read_yielded(
    table: SequenceTable,
    sequence: mlir.Operation,
    results: Mapping[mlir.Operation, tuple[_Source, ...]],
) -> tuple[_Source, ...]:
    """Return the values that a sequence yields, given the values that its included sequences yield."""

    def source(value: Handle) -> _Source:
        if isinstance(value, mlir.BlockArgument):
            return value.arg_number
        assert isinstance(value, mlir.OpResult)
        owner = value.owner.operation
        if owner.name == names.PARAM_CONSTANT:
            return owner
        callee = table.callee(owner) if owner.name == names.INCLUDE else None
        yielded = results.get(callee[1], ()) if callee else ()
        inner = yielded[value.result_number] if value.result_number < len(yielded) else None
        return source(owner.operands[inner]) if isinstance(inner, int) else inner

    blocks = list(sequence.regions[0].blocks)
    return tuple(map(source, blocks[0].operations[-1].operands)) if blocks else ()


def _read_annotations(
    table: SequenceTable,
    sequence: mlir.Operation,
    results: Mapping[mlir.Operation, tuple[Annotation, ...] | None],
) -> tuple[Annotation, ...] | None:
    """Return the annotations of a sequence, given the annotations of its included sequences."""
    annotations: list[Annotation] = []
    for operation in body(sequence):
        if operation.name not in _ACTION_OPERATIONS:
            return None
        if operation.name == names.ANNOTATE:
            name = operation.attributes["name"]
            assert isinstance(name, mlir.StringAttr)
            unit = mlir.UnitAttr.get(operation.context)
            own = Annotation(0, name.value, 1 if len(operation.operands) > 1 else unit)
            inner: tuple[Annotation, ...] | None = (own,)
        elif operation.name == names.INCLUDE:
            callee = table.callee(operation)
            # A sequence that runs itself, as an action, is not a list of annotations.
            inner = results.get(callee[1]) if callee else None
        else:
            continue
        if inner is None or operation.results:
            return None
        # The numbers of arguments, and the values of constants.
        operands: list[mlir.Attribute | int] = []
        for operand in operation.operands:
            if isinstance(operand, mlir.BlockArgument):
                operands.append(operand.arg_number)
            else:
                assert isinstance(operand, mlir.OpResult)
                operands.append(operand.owner.attributes["value"])
        for annotation in inner:
            target, value = operands[annotation.operand], annotation.value
            assert isinstance(target, int)
            value = operands[value] if isinstance(value, int) else value
            annotations.append(Annotation(target, annotation.name, value))
    # The last annotation of an attribute wins.
    return tuple(reversed(dict.fromkeys(reversed(annotations))))


# --- Builders of transform ops, and the pairs of a `foreach_match`: references to a matcher and to an action

Handle = mlir.Value[mlir.Type]

FAILURES_PROPAGATE = 1
FAILURES_SUPPRESS = 2
"""The values of `transform`'s FailurePropagationMode."""


def create(
    name: str,
    operands: Sequence[Handle],
    results: Sequence[mlir.Type | str] = (),
    /,
    **attributes: mlir.Attribute,
) -> list[Handle]:
    """Build an op without regions at the current insertion point, and return its results. Types may be MLIR text."""
    types = [mlir.Type.parse(result) if isinstance(result, str) else result for result in results]
    operation = mlir.Operation.create(
        name, operands=list(operands), results=types, attributes=attributes
    )
    return list(operation.results)


def add_kernel_config(module: mlir.Operation, *, consumes: bool) -> mlir.Operation:
    """Add an entry point `@__kernel_config` with an empty body at the end of `module` and return it."""
    with module.context, module.location, mlir.InsertionPoint(module.regions[0].blocks[0]):
        ownership = names.CONSUMED if consumes else names.READONLY
        sequence = named_sequence(names.KERNEL_CONFIG, [any_op()], [any_op()], ownership)
        sequence.attributes[names.ENTRY_POINT] = mlir.UnitAttr.get()
    return sequence


def named_sequence(
    name: str,
    arguments: Sequence[mlir.Type],
    results: Sequence[mlir.Type] = (),
    ownership: str = names.READONLY,
) -> mlir.Operation:
    """Build a named sequence without a body at the current insertion point and location."""
    attributes = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get(arguments, results)),
        "arg_attrs": argument_declarations(len(arguments), ownership),
    }
    sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
    locations = [mlir.Location.current] * len(arguments)
    sequence.regions[0].blocks.append(*arguments, arg_locs=locations)
    return sequence


def argument_declarations(count: int, ownership: str = names.READONLY) -> mlir.ArrayAttr:
    """Return the attributes of arguments with the same ownership."""
    return mlir.ArrayAttr.get([mlir.DictAttr.get({ownership: mlir.UnitAttr.get()})] * count)


def include(
    target: Sequence[str], operands: Sequence[Handle], results: Sequence[mlir.Type], failures: int
) -> list[Handle]:
    """Build an `include` of the sequence at the path `target`, and return its results."""
    i32 = mlir.IntegerType.get_signless(32)
    return create(
        names.INCLUDE,
        operands,
        results,
        target=mlir.SymbolRefAttr.get(list(target)),
        failure_propagation_mode=mlir.IntegerAttr.get(i32, failures),
    )


def any_op() -> mlir.Type:
    """Return `!transform.any_op`, in the current context."""
    return mlir.Type.parse("!transform.any_op")


def merge_handles(handles: Sequence[Handle], *, deduplicate: bool = False) -> Handle:
    """Build a `merge_handles` at the current insertion point and return its result."""
    options = {"deduplicate": mlir.UnitAttr.get()} if deduplicate else {}
    return create(names.MERGE_HANDLES, handles, [handles[0].type], **options)[0]


def empty_handle(any_handle: Handle) -> Handle:
    """Build an empty handle; `any_handle` may be any valid handle."""
    no_operation = mlir.StringAttr.get(names.NO_OPERATION)
    return create(names.SELECT, [any_handle], [any_op()], op_name=no_operation)[0]


def walk(
    operands: Sequence[Handle], results: Sequence[mlir.Type], attributes: dict[str, mlir.Attribute]
) -> list[Handle]:
    """Build a `foreach_match` over a copy of the first operand, which it consumes; return its results."""
    root = merge_handles(operands[:1])
    return create(names.FOREACH_MATCH, [root, *operands[1:]], results, **attributes)


def change_signature(
    sequence: mlir.Operation, arguments: Sequence[mlir.Type], results: Sequence[mlir.Type]
) -> list[Handle]:
    """Add arguments, which are read only, and results to a sequence; return the arguments.

    The caller updates the terminator.
    """
    kind = signature(sequence)
    inputs, outputs = [*kind.inputs, *arguments], [*kind.results, *results]
    declared = sequence.attributes.get("arg_attrs")
    declarations = list(declared) if isinstance(declared, mlir.ArrayAttr) else []
    declarations += [mlir.DictAttr.get({}) for _ in range(len(kind.inputs) - len(declarations))]
    declarations += argument_declarations(len(arguments))
    sequence.attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(inputs, outputs))
    sequence.attributes["arg_attrs"] = mlir.ArrayAttr.get(declarations)
    if "res_attrs" in sequence.attributes:
        del sequence.attributes["res_attrs"]
    block = sequence.regions[0].blocks[0]
    return [block.add_argument(kind, sequence.location) for kind in arguments]


def yield_more(sequence: mlir.Operation, handles: Sequence[Handle]) -> None:
    """Add handles to the values that a sequence yields."""
    terminator = list(body(sequence))[-1]
    operands = [*terminator.operands, *handles]
    with mlir.InsertionPoint(terminator):
        mlir.Operation.create(names.YIELD, operands=operands, loc=terminator.location)
    terminator.erase()


def copy_sequence(sequence: mlir.Operation, name: str) -> mlir.Operation:
    """Insert a renamed copy of a sequence after the sequence, and return the copy."""
    with mlir.InsertionPoint.after(sequence):
        copy = sequence.clone().operation
    copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name, sequence.context)
    return copy


def fails_as_included(operation: mlir.Operation) -> bool:
    """Return whether an `include` propagates failures."""
    mode = operation.attributes["failure_propagation_mode"]
    return isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_PROPAGATE


def yield_(operands: Sequence[Handle]) -> None:
    """Build a `yield` at the current insertion point."""
    create(names.YIELD, operands)


def annotate(handle: Handle, name: str, number: int) -> None:
    """Build an annotation of the ops of a handle with a number at the current insertion point."""
    value = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), number)
    parameters = create(names.PARAM_CONSTANT, [], ["!transform.param<i64>"], value=value)
    create(names.ANNOTATE, [handle, *parameters], name=mlir.StringAttr.get(name))


_PREPARATIONS: Final = frozenset({names.ADD_BATCH_LOOP, names.MATERIALIZE_ENCODINGS})
"""Passes that a readable spec may run before its entries."""

Pair = tuple[mlir.Attribute, mlir.Attribute]
"""References to a matcher and an action."""


def pairs_of(foreach_match: mlir.Operation) -> list[Pair]:
    """Return the pairs of a `foreach_match`, in order."""
    matchers, actions = (foreach_match.attributes[key] for key in ("matchers", "actions"))
    assert isinstance(matchers, mlir.ArrayAttr)
    assert isinstance(actions, mlir.ArrayAttr)
    return list(zip(matchers, actions, strict=True))


def pair_attributes(pairs: Iterable[Pair]) -> dict[str, mlir.Attribute]:
    """Return pairs as the attributes of a `foreach_match`, in the current context."""
    pairs = list(pairs)
    return {
        "matchers": mlir.ArrayAttr.get([matcher for matcher, _ in pairs]),
        "actions": mlir.ArrayAttr.get([action for _, action in pairs]),
    }


def named_pair_attributes(pairs: Iterable[tuple[str, str]]) -> dict[str, mlir.Attribute]:
    """Return pairs as the attributes of a `foreach_match`, from the symbols of matchers and actions."""
    reference_to = mlir.FlatSymbolRefAttr.get
    return pair_attributes(
        (reference_to(matcher), reference_to(action)) for matcher, action in pairs
    )


def add_list(module: mlir.Operation, pairs: Iterable[Pair]) -> None:
    """Add an entry point `@__kernel_config` that is one `foreach_match` and a yield at the end of `module`."""
    # A foreach_match consumes its root, so the entry point does.
    block = add_kernel_config(module, consumes=True).regions[0].blocks[0]
    root = block.arguments[0]
    with module.context, module.location, mlir.InsertionPoint(block):
        yield_(create(names.FOREACH_MATCH, [root], [root.type], **pair_attributes(pairs)))


def set_pairs(foreach_match: mlir.Operation, pairs: Iterable[Pair]) -> None:
    """Replace the pairs of a `foreach_match`."""
    with foreach_match.context:
        for name, attribute in pair_attributes(pairs).items():
            foreach_match.attributes[name] = attribute


def is_prepared_foreach_match(sequence: mlir.Operation) -> bool:
    """Return whether a sequence runs passes that the compiler would run later, and then one list."""
    operations = list(body(sequence))
    last = [operation.name for operation in operations[-2:]]
    return last == [names.FOREACH_MATCH, names.YIELD] and all(map(prepares, operations[:-2]))


def prepares(operation: mlir.Operation) -> bool:
    """Return whether an op runs a pass that the compiler would run later, and that configures nothing."""
    name = operation.attributes.get("pass_name")
    if operation.name != names.RUN_REGISTERED or not isinstance(name, mlir.StringAttr):
        return False
    return name.value in _PREPARATIONS


def is_plain_foreach_match(sequence: mlir.Operation) -> bool:
    """Return whether a sequence is one list without options, and a yield."""
    operations = list(body(sequence))
    if [op.name for op in operations] != [names.FOREACH_MATCH, names.YIELD]:
        return False
    foreach_match, terminator = operations
    has_options = {"restrict_root", "flatten_results"} & set(foreach_match.attributes.keys())
    if has_options or len(foreach_match.operands) != 1 or len(foreach_match.results) != 1:
        return False
    (result,) = foreach_match.results
    # Older specs have no result and yield nothing.
    return list(terminator.operands) in ([], [result]) and is_any_op(result.type)
