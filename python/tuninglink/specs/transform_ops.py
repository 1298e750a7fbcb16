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


def create(
    name: str,
    operands: Sequence[Handle],
    results: Sequence[mlir.Type | str] = (),
    /,
    **attributes: mlir.Attribute,
) -> list[Handle]:
    """Build an op without regions at the current insertion point, and return its results.

    Args:
        name: the name of the op.
        operands: its operands.
        results: the types of its results, as types or as MLIR text.
        attributes: its attributes.
    """
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


def check_matchers_differ(foreach_match: mlir.Operation) -> None:
    """Check that a list uses no matcher twice.

    Raises:
        SpecError: a matcher is used twice.
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
