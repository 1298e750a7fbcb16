"""Ops of the transform dialect: markers and signatures of sequences, side effects of ops, and builders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects.transform` re-exports this, but takes longer to build the classes of the ops.
from iree.compiler._mlir_libs._mlirDialectsTransform import AnyOpType

from tuninglink.errors import Diagnostic, nearest
from tuninglink.mlir import SymbolRenaming, body, entries_of, error, names, note, symbol_name, visit

Handle = mlir.Value[mlir.Type]

# --- Markers of specs and of entry points, and signatures ----------------------------------------


def is_entry_point(operation: mlir.Operation) -> bool:
    """Return whether `operation` is a sequence that the compiler runs on a dispatch, by its marker or its name."""
    if operation.name != names.NAMED_SEQUENCE:
        return False
    attributes = operation.attributes
    return (
        names.ENTRY_POINT in attributes
        or symbol_name(operation) == names.KERNEL_CONFIG
        or names.CHAINED_ENTRY_POINT in attributes
    )


def unmark(sequence: mlir.Operation) -> None:
    """Remove the markers of an entry point."""
    for marker in (names.ENTRY_POINT, names.CHAINED_ENTRY_POINT):
        if marker in sequence.attributes:
            del sequence.attributes[marker]


def has_entry_point(module: mlir.Operation) -> bool:
    """Return whether `module` is a spec: whether one of its sequences is an entry point."""
    return any(map(is_entry_point, body(module)))


def preprocessing_entry_points(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the sequences that the compiler runs where `module` is a preprocessing spec; empty if it is none."""
    sequences = (op for op in body(module) if op.name == names.NAMED_SEQUENCE)
    return [op for op in sequences if symbol_name(op) == names.TRANSFORM_MAIN]


def nested_specs(module: mlir.Operation, *, replacing: bool = False) -> list[mlir.Operation]:
    """Return the specs among the modules nested in `module`, with or without those that could only replace ops."""
    modules = [op for op in body(module) if op.name == names.MODULE]
    return [
        op
        for op in modules
        if has_entry_point(op) or (replacing and preprocessing_entry_points(op))
    ]


_MARKERS: Final = (names.ENTRY_POINT, names.DEFAULT_ENTRY_POINT, names.WITH_NAMED_SEQUENCE)
_SIMILAR: Final = 0.85
"""The similarity of a misspelt marker to a marker; these have at most 0.76 to each other."""


PREPROCESSING_FLAG: Final = "--iree-preprocessing-transform-spec-filename"
"""The compiler's flag for a preprocessing spec."""


def misspelt_markers(operations: Iterable[mlir.Operation]) -> Iterator[tuple[mlir.Operation, str]]:
    """Yield specs and entry points with misspelt markers, which the compiler ignores, each with a message."""
    for operation in operations:
        for name in sorted(set(operation.attributes.keys()).difference(_MARKERS)):
            if marker := nearest(name, _MARKERS, _SIMILAR):
                yield operation, f"unknown attribute '{name}' is ignored; did you mean '{marker}'?"


def no_entry_point(module: mlir.Operation) -> Diagnostic:
    """Return the error for a module without an entry point, with suggestions."""
    if preprocessing_entry_points(module):
        remedy = f"pass it with '{PREPROCESSING_FLAG}=FILE'"
        return error("a preprocessing spec, not a tuning spec", module, [note(remedy)])
    nested = nested_specs(module, replacing=True)
    if nested:
        message = (
            "no entry point, but nested modules are specs; link them with tuninglink-link-specs"
        )
        return error(message, module, [note("this one is a spec", nested[0])])
    markers = misspelt_markers([module, *body(module)])
    notes = [note(message, operation) for operation, message in markers]
    if names.WITH_NAMED_SEQUENCE in module.attributes:
        message = f"no entry point: mark a named sequence with '{names.ENTRY_POINT}'"
        return error(message, module, notes)
    message = (
        f"not a tuning spec: the module lacks '{names.WITH_NAMED_SEQUENCE}' and an entry point"
    )
    return error(message, module, notes)


def is_any_op(kind: mlir.Type) -> bool:
    """Return whether `kind` is `!transform.any_op`, a handle to ops of any name."""
    return isinstance(kind, AnyOpType)


def signature(sequence: mlir.Operation) -> mlir.FunctionType:
    """Return the type of a named sequence."""
    attribute = sequence.attributes["function_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    assert isinstance(attribute.value, mlir.FunctionType)
    return attribute.value


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


# --- Side effects of transform ops: changes to the program, and failures -------------------------

_READING: Final = frozenset(
    {
        *(names.MERGE_HANDLES, names.NUM_ASSOCIATIONS),
        *(names.NEAREST_SYMBOL_TABLE, names.PARAM_CONSTANT),
        names.PRINT,
        names.SELECT,
        names.STRUCTURED_MATCH,
        names.YIELD,
    }
)
CHECKING_PREFIXES: Final = ("transform.iree.match.", "transform.match.")
"""The beginnings of names of ops that fail for some operands and otherwise only read."""

_READING_PREFIXES: Final = ("transform.get_", *CHECKING_PREFIXES)


def only_reads(operation: mlir.Operation, *, or_adds_symbol: bool = False) -> bool:
    """Return whether an op of a sequence, other than an include, changes neither the program nor any handle.

    An op that adds a symbol to a program may count as well: it leaves everything else there as it is.
    """
    name = operation.name
    if (
        or_adds_symbol
        and name == names.IMPORT_SYMBOL
        and "force_import" not in operation.attributes
    ):
        return True
    if name in _READING or name.startswith(_READING_PREFIXES):
        return True
    if name == names.CREATE_SERIALIZED_MODULE:
        return is_closed(operation)
    if name in _DECIDED_BY_CONTENT or len(operation.regions):
        return False
    effects = _effects(operation)
    return effects is not None and not any(
        effect.effect == mlir.MemoryEffect.Free
        or (effect.effect == mlir.MemoryEffect.Write and effect.value is None)
        for effect in effects
    )


def is_closed(operation: mlir.Operation) -> bool:
    """Return whether the ops inside an op use no values from outside."""
    operations: list[mlir.Operation] = []
    visit(operation, operations.append)
    blocks = [block for op in operations for region in op.regions for block in region.blocks]
    values: set[mlir.Value[mlir.Type]] = {arg for block in blocks for arg in block.arguments}
    values |= {result for op in operations[1:] for result in op.results}
    return all(operand in values for op in operations[1:] for operand in op.operands)


def _effects(operation: mlir.Operation) -> list[mlir.MemoryEffectInstance] | None:
    with operation.context:
        try:
            return list(mlir.MemoryEffectsOpInterface(operation).get_effects())
        except ValueError:
            return None


_INFALLIBLE: Final = _READING | {
    *(names.ANNOTATE, names.COLLECT_MATCHING, names.CREATE_SERIALIZED_MODULE),
    *(names.FOREACH_MATCH, names.IMPORT_SYMBOL, names.RUN_REGISTERED),
}
"""Ops that fail only where a sequence that they run does, or with an error that nothing suppresses.

A matcher that fails does not match. An annotation also fails if it has not one value.
"""


def fails(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, may fail by itself, which an include may suppress."""
    if operation.name in (names.ALTERNATIVES, names.FOREACH, names.SEQUENCE):
        may_fail = (
            any(fails(op.operation) for block in region.blocks for op in block.operations)
            for region in operation.regions
        )
        return all(may_fail) if operation.name == names.ALTERNATIVES else any(may_fail)
    if operation.name == names.GET_PARENT:
        # `SequenceTable.failing_ops` knows whether there is a parent at all. A number of 1 is the default.
        options = {"nth_parent", "op_name", "allow_empty_results"}
        return any(
            name in options and not (isinstance(value, mlir.IntegerAttr) and value.value == 1)
            for name, value in operation.attributes.items()
        )
    # Handles to several ops are an error of a `foreach_match` with further results.
    is_strict = len(operation.results) > 1 and "flatten_results" not in operation.attributes
    is_list = operation.name == names.FOREACH_MATCH
    return operation.name not in _INFALLIBLE or (is_list and is_strict)


_DECIDED_BY_CONTENT: Final = frozenset(
    {
        *(names.INCLUDE, names.FOREACH_MATCH, names.COLLECT_MATCHING, names.SEQUENCE),
        *(names.FOREACH, names.MATCH_STRUCTURED, names.PRINT),
    }
)
"""Ops that declare more effects on the payload than they have: their bodies decide, and a print writes elsewhere."""


def declares_a_write(operation: mlir.Operation) -> bool:
    """Return whether an op declares a write to the payload, apart from the sequences that it runs."""
    if operation.name in _DECIDED_BY_CONTENT:
        return False
    return any(
        effect.effect == mlir.MemoryEffect.Write and effect.value is None
        for effect in _effects(operation) or ()
    )


_PREPARATIONS: Final = frozenset({names.ADD_BATCH_LOOP, names.MATERIALIZE_ENCODINGS})
"""Passes that a readable spec may run before its entries."""


def prepares(operation: mlir.Operation) -> bool:
    """Return whether an op runs a pass that the compiler would run later, and that configures nothing."""
    name = operation.attributes.get("pass_name")
    if operation.name != names.RUN_REGISTERED or not isinstance(name, mlir.StringAttr):
        return False
    return name.value in _PREPARATIONS


# --- Builders of transform ops, and the pairs of a `foreach_match`: references to a matcher and to an action

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


def add_empty_kernel_config(module: mlir.Operation) -> None:
    """Add an entry point `@__kernel_config` that configures nothing at the end of `module`."""
    block = add_kernel_config(module, consumes=False).regions[0].blocks[0]
    with module.context, module.location, mlir.InsertionPoint(block):
        yield_(list(block.arguments))


def named_sequence(
    name: str,
    arguments: Sequence[mlir.Type],
    results: Sequence[mlir.Type] = (),
    ownership: str = names.READONLY,
) -> mlir.Operation:
    """Build a named sequence without a body at the current insertion point and location."""
    declaration = mlir.DictAttr.get({ownership: mlir.UnitAttr.get()})
    attributes = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get(arguments, results)),
        "arg_attrs": mlir.ArrayAttr.get([declaration] * len(arguments)),
    }
    sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
    locations = [mlir.Location.current] * len(arguments)
    sequence.regions[0].blocks.append(*arguments, arg_locs=locations)
    return sequence


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
    declarations += [mlir.DictAttr.get({names.READONLY: mlir.UnitAttr.get()})] * len(arguments)
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


def defining_constant(value: Handle) -> mlir.Operation | None:
    """Return the constant that defines a value, None for any other value."""
    if not isinstance(value, mlir.OpResult):
        return None
    owner: mlir.Operation = value.owner.operation
    return owner if owner.name == names.PARAM_CONSTANT else None


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


Pair = tuple[mlir.Attribute, mlir.Attribute]
"""References to a matcher and an action."""


def pairs_of(foreach_match: mlir.Operation, renames: Mapping[str, str] | None = None) -> list[Pair]:
    """Return the pairs of a `foreach_match`, in order, with the new names of symbols if there are any."""
    matchers, actions = (foreach_match.attributes[key] for key in ("matchers", "actions"))
    assert isinstance(matchers, mlir.ArrayAttr)
    assert isinstance(actions, mlir.ArrayAttr)
    pairs = list(zip(matchers, actions, strict=True))
    if not (renaming := SymbolRenaming(renames or {})):
        return pairs
    return [(renaming.replace(matcher), renaming.replace(action)) for matcher, action in pairs]


def pair_attributes(
    pairs: Iterable[tuple[mlir.Attribute | str, mlir.Attribute | str]],
) -> dict[str, mlir.Attribute]:
    """Return pairs, of references or of symbols, as the attributes of a `foreach_match`, in the current context."""
    references = [
        [mlir.FlatSymbolRefAttr.get(side) if isinstance(side, str) else side for side in pair]
        for pair in pairs
    ]
    return {
        "matchers": mlir.ArrayAttr.get([matcher for matcher, _ in references]),
        "actions": mlir.ArrayAttr.get([action for _, action in references]),
    }


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
