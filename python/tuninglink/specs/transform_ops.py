"""Builders of transform ops, and the pairs of a `foreach_match`: references to a matcher and to an action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.serialization import repeated_matcher
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body
from tuninglink.specs.module_scan import is_any_op, signature

Handle = mlir.Value[mlir.Type]

FAILURES_PROPAGATE = 1
FAILURES_SUPPRESS = 2
"""The values of `transform`'s FailurePropagationMode."""


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
    """Build a named sequence without a body at the current insertion point and location.

    Args:
        name: its symbol.
        arguments: the types of its arguments.
        results: the types of its results.
        ownership: the ownership of all arguments, `names.READONLY` or `names.CONSUMED`.
    """
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
) -> mlir.Operation:
    """Build an `include` of the sequence at the path `target` at the current insertion point."""
    i32 = mlir.IntegerType.get_signless(32)
    attributes = {
        "target": mlir.SymbolRefAttr.get(list(target)),
        "failure_propagation_mode": mlir.IntegerAttr.get(i32, failures),
    }
    return mlir.Operation.create(
        names.INCLUDE, operands=operands, results=results, attributes=attributes
    )


def any_op() -> mlir.Type:
    """Return `!transform.any_op`, in the current context."""
    return mlir.Type.parse("!transform.any_op")


def merge_handles(handles: Sequence[Handle], *, deduplicate: bool = False) -> Handle:
    """Build a `merge_handles` at the current insertion point and return its result."""
    attributes: dict[str, mlir.Attribute] = {}
    if deduplicate:
        attributes["deduplicate"] = mlir.UnitAttr.get()
    merged: Handle = mlir.Operation.create(
        names.MERGE_HANDLES, operands=handles, results=[handles[0].type], attributes=attributes
    ).results[0]
    return merged


def empty_handle(any_handle: Handle) -> Handle:
    """Build an empty handle; `any_handle` is any valid one."""
    selected: Handle = mlir.Operation.create(
        names.SELECT,
        operands=[any_handle],
        results=[any_op()],
        attributes={"op_name": mlir.StringAttr.get(names.NO_OPERATION)},
    ).results[0]
    return selected


def walk(
    operands: Sequence[Handle], results: Sequence[mlir.Type], attributes: dict[str, mlir.Attribute]
) -> list[Handle]:
    """Build a `foreach_match` over a copy of the first operand, which it consumes; return its results."""
    root = merge_handles(operands[:1])
    operation = mlir.Operation.create(
        names.FOREACH_MATCH,
        operands=[root, *operands[1:]],
        results=results,
        attributes=attributes,
    )
    return list(operation.results)


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


def fails_as_included(operation: mlir.Operation) -> bool:
    """Return whether an `include` propagates failures."""
    mode = operation.attributes["failure_propagation_mode"]
    return isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_PROPAGATE


def yield_(operands: Sequence[Handle]) -> mlir.Operation:
    """Build a `yield` at the current insertion point."""
    return mlir.Operation.create(names.YIELD, operands=operands)


def annotate(handle: Handle, name: str, number: int) -> None:
    """Build an annotation of the ops of a handle with a number at the current insertion point."""
    value = mlir.Operation.create(
        names.PARAM_CONSTANT,
        results=[mlir.Type.parse("!transform.param<i64>")],
        attributes={"value": mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), number)},
    )
    mlir.Operation.create(
        names.ANNOTATE,
        operands=[handle, value.results[0]],
        attributes={"name": mlir.StringAttr.get(name)},
    )


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


def set_pairs(foreach_match: mlir.Operation, pairs: Iterable[Pair]) -> None:
    """Replace the pairs of a `foreach_match`."""
    with foreach_match.context:
        for name, attribute in pair_attributes(pairs).items():
            foreach_match.attributes[name] = attribute


def check_matchers_differ(foreach_match: mlir.Operation) -> None:
    """Check that a list uses no matcher twice.

    Raises:
        SpecError: it does.
    """
    matchers = foreach_match.attributes["matchers"]
    assert isinstance(matchers, mlir.ArrayAttr)
    if len(set(matchers)) < len(matchers):
        matcher = next(matcher for matcher, uses in Counter(matchers).items() if uses > 1)
        raise SpecError(repeated_matcher(reference(matcher), foreach_match))


def is_prepared_foreach_match(sequence: mlir.Operation) -> bool:
    """Return whether a sequence runs passes that the compiler would run later, and then one list."""
    operations = list(body(sequence))
    last = [operation.name for operation in operations[-2:]]
    return last == [names.FOREACH_MATCH, names.YIELD] and all(map(_prepares, operations[:-2]))


def _prepares(operation: mlir.Operation) -> bool:
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
