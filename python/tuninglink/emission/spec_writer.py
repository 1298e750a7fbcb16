"""The writer of specs: for each entry a matcher of its problem, and an action that configures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.emission import FORMS, NoMatcherError
from tuninglink.emission.entry_points import Preparation, add_entry_point, add_unrolling
from tuninglink.iree.dynamic_sizes import RANGES, UNBOUNDED, SizeRange, specialization_ranges
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.mlir.symbols import FreshNames
from tuninglink.specs.bindings import bind
from tuninglink.specs.entry_settings import PROVENANCE, provenance_attribute
from tuninglink.specs.transform_ops import create, yield_

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.spaces.workload import Workload

    Value = mlir.Value[Any]


_ANY_VALUE: Final = "!transform.any_value"


def match_in_ranges(
    form: str, dispatch: Workload, operation: Value, ranges: Mapping[int, SizeRange]
) -> None:
    """Add ops to a matcher that match the root op of a dispatch with other loop sizes.

    Args:
        form: one of `FORMS`.
        dispatch: the dispatch.
        operation: the handle to the candidate op.
        ranges: the sizes of loops. Other loops have the sizes of the dispatch.

    Raises:
        NoMatcherError: the form cannot match the root op, or a loop with a range is not a dimension of an operand.
    """
    FORMS[form](dispatch, operation, ranges)
    op = StructuredOp(dispatch.root)
    for loop, sizes in _complete_roles(op, ranges).items():
        _match_bounds(operation, *_places(op, loop)[0], sizes)


def match_bounds(dispatch: Workload, operation: Value, bounds: Mapping[int, SizeRange]) -> None:
    """Add ops to a matcher that bound the dynamic loops of an operation, for the compiler.

    The bounds refer to the output, since the compiler does not propagate bounds of an input on GPUs.

    Args:
        dispatch: the dispatch.
        operation: the handle to the candidate op.
        bounds: the sizes of loops.

    Raises:
        NoMatcherError: a loop is not a dimension of an operand.
    """
    op = StructuredOp(dispatch.root)
    for loop, sizes in bounds.items():
        _match_bounds(operation, *_places(op, loop)[-1], sizes)


def _places(op: StructuredOp, loop: int) -> list[tuple[int, int]]:
    """Return the operand dimensions that a loop indexes, as pairs of operand number and dimension number.

    Raises:
        NoMatcherError: no operand dimension is indexed by the loop.
    """
    places = [
        (operand, loops.index(loop))
        for operand, loops in enumerate(op.operand_loops)
        if loop in loops
    ]
    if not places:
        raise NoMatcherError(f"no operand has loop {loop} for a dimension")
    return places


def _match_bounds(operation: Value, operand: int, dimension: int, sizes: SizeRange) -> None:
    numbers = mlir.DenseI64ArrayAttr.get([operand])
    (value,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=numbers)
    bounds = {"lower_bound": _integer(sizes.low)}
    if sizes.high < UNBOUNDED:
        bounds["upper_bound"] = _integer(sizes.high)
    create(names.MATCH_DIM_BOUNDS, [value], [], dim=_integer(dimension), **bounds)
    if sizes.divisor > 1:
        divisor = _integer(sizes.divisor)
        create(names.MATCH_DIM_MULTIPLE, [value], [], dim=_integer(dimension), size=divisor)


def _complete_roles(op: StructuredOp, ranges: Mapping[int, SizeRange]) -> dict[int, SizeRange]:
    """Add exact ranges for the other loops of the same roles, since a matcher op handles a whole role."""
    completed: dict[int, SizeRange] = {}
    for loops in op.loops.values():
        if any(loop in ranges for loop in loops):
            exact = {loop: SizeRange(op.sizes[loop] or 0, op.sizes[loop] or 0) for loop in loops}
            completed |= {loop: ranges.get(loop, exact[loop]) for loop in loops}
    return completed


def _integer(value: int) -> mlir.Attribute:
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)


_ANY_OP: Final = "!transform.any_op"
_ANY_PARAMETER: Final = "!transform.any_param"


@dataclass(frozen=True)
class SpecEntry:
    """An entry to be written.

    Attributes:
        label: the name of the matcher, after `match_`.
        dispatch: the dispatch whose root op the entry matches, as matchers see it, without a configuration.
        form: the form of the matcher, one of `FORMS`.
        configuration: the attributes that configure the operation, by name, as MLIR prints them. Without any, the
            compiler chooses. `names.UNROLLED_LOOPS` rewrites it instead.
        provenance: the entries of `tuninglink.provenance`.
        target: the target that the entry is bound to; None for any target.
        ranges: the ranges of loop sizes. Other loops have the sizes of the dispatch.
        bounds: bounds on the sizes of dynamic loops, for the compiler.
        specializations: the boxes of sizes that the compiler specializes code for; see `specialization_ranges`.
    """

    label: str
    dispatch: Workload
    form: str
    configuration: Mapping[str, str]
    provenance: Mapping[str, object] = field(default_factory=dict)
    target: Target | None = None
    ranges: Mapping[int, SizeRange] = field(default_factory=dict)
    bounds: Mapping[int, SizeRange] = field(default_factory=dict)
    specializations: tuple[Mapping[int, SizeRange], ...] = ()

    @property
    def copies(self) -> tuple[int, ...]:
        """The number of copies of the operation by loop if the entry unrolls it; else empty."""
        text = self.configuration.get(names.UNROLLED_LOOPS)
        if text is None:
            return ()
        return tuple(mlir.DenseI64ArrayAttr(mlir.Attribute.parse(text, self.dispatch.root.context)))


def write_spec(name: str, entries: Sequence[SpecEntry]) -> str:
    """Return a spec in default-entrypoint form, as text.

    The form requires an entry. Without entries, the spec has an entry point that does nothing. If entries need a
    preparation, the entry point runs it first. A spec with a preparation, or with entries that rewrite their
    operations, is not in default-entrypoint form.

    Args:
        name: the symbol of its module.
        entries: its entries, in order of precedence.

    Raises:
        NoMatcherError: the form of an entry cannot match its operation.
    """
    context = entries[0].dispatch.root.context if entries else thread_context()
    with context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        unit = mlir.UnitAttr.get()
        configuring = [entry for entry in entries if not entry.copies]
        dispatches = [entry.dispatch for entry in configuring]
        # Mark the module; only a plain matcher list has the default form.
        module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        module.attributes[names.WITH_NAMED_SEQUENCE] = unit
        preparations = [kind for kind in Preparation if any(map(kind.is_for, dispatches))]
        if configuring == list(entries) and entries and not preparations:
            module.attributes[names.DEFAULT_ENTRY_POINT] = unit
        # Entries with equal configurations share an action.
        actions = {
            attributes: _add_action(module, attributes)
            for attributes in sorted({tuple(entry.configuration) for entry in configuring}, key=len)
        }
        unrolling = {
            copies: add_unrolling(module, copies)
            for copies in dict.fromkeys(entry.copies for entry in entries if entry.copies)
        }
        # Add a matcher for each entry.
        fresh = FreshNames([])
        pairs, rewriting = [], []
        for entry in entries:
            matcher = fresh.take(f"match_{entry.label}")
            _add_matcher(module, matcher, entry)
            if entry.copies:
                rewriting.append((matcher, unrolling[entry.copies]))
            else:
                pairs.append((matcher, actions[tuple(entry.configuration)]))
        add_entry_point(module, pairs, preparations, rewriting)
        module.verify()
        return to_text(module)


def matcher_key(dispatch: Workload, form: str) -> str:
    """Return a key that is equal for dispatches with the same matcher.

    Raises:
        NoMatcherError: the form cannot match the operation.
    """
    with dispatch.root.context as context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        block = _add_sequence(module, "match", [_ANY_OP], [])
        with mlir.InsertionPoint(block):
            FORMS[form](dispatch, block.arguments[0], ())
            yield_([])
        return to_text(module)


def _add_sequence(
    module: mlir.Operation, name: str, inputs: Sequence[str], outputs: Sequence[str]
) -> mlir.Block:
    """Add a named sequence that only reads its arguments, and return its block."""
    types = [mlir.Type.parse(input_) for input_ in inputs]
    results = [mlir.Type.parse(output) for output in outputs]
    readonly = mlir.DictAttr.get({names.READONLY: mlir.UnitAttr.get()})
    attributes = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get(types, results)),
        "arg_attrs": mlir.ArrayAttr.get([readonly] * len(types)),
    }
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
    locations = [mlir.Location.unknown()] * len(types)
    block: mlir.Block = sequence.regions[0].blocks.append(*types, arg_locs=locations)
    return block


def _add_action(module: mlir.Operation, annotated: Sequence[str]) -> str:
    name = "configure" if annotated else "keep"
    if names.DECOMPOSITION_CONFIG in annotated:
        name = "configure_attention"
    block = _add_sequence(module, name, [_ANY_OP, *[_ANY_PARAMETER] * len(annotated)], [])
    operation, *parameters = block.arguments
    with mlir.InsertionPoint(block):
        for attribute, parameter in zip(annotated, parameters, strict=True):
            text = mlir.StringAttr.get(attribute)
            create(names.ANNOTATE, [operation, parameter], [], name=text)
        yield_([])
    return name


def _add_matcher(module: mlir.Operation, name: str, entry: SpecEntry) -> None:
    context = entry.dispatch.root.context
    texts = () if entry.copies else entry.configuration.values()
    configurations = [mlir.Attribute.parse(text, context) for text in texts]
    results = [_ANY_OP, *[_ANY_PARAMETER] * len(configurations)]
    block = _add_sequence(module, name, [_ANY_OP], results)
    operation = block.arguments[0]
    # The body matches the op, and yields it with its configuration.
    with mlir.InsertionPoint(block):
        # The compiler has configured an op that it chose a microkernel for.
        if names.UKERNEL not in entry.configuration:
            create(names.HAS_NO_LOWERING_CONFIG, [operation], [])
        if entry.ranges:
            match_in_ranges(entry.form, entry.dispatch, operation, entry.ranges)
        else:
            FORMS[entry.form](entry.dispatch, operation, ())
        match_bounds(entry.dispatch, operation, entry.bounds)
        parameters = [
            create(names.PARAM_CONSTANT, [], [_ANY_PARAMETER], value=configuration)[0]
            for configuration in configurations
        ]
        yield_([operation, *parameters])
    # The attributes of the sequence.
    sequence: Any = block.owner
    if entry.target is not None:
        bind(sequence.operation, [entry.target.name])
    if entry.specializations:
        loops = len(entry.dispatch.problem.dimensions)
        ranges = specialization_ranges(entry.specializations, loops, context)
        sequence.operation.attributes[RANGES] = ranges
    if entry.provenance:
        sequence.operation.attributes[PROVENANCE] = provenance_attribute(entry.provenance)
