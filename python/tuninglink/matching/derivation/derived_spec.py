"""The output of derived entries, each as a separate spec that is linked after all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.matching import predicates as pred
from tuninglink.matching.reader import STRUCTURED_MATCHERS
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import split_path
from tuninglink.specs.bindings import BINDING
from tuninglink.specs.entry_settings import DERIVED, PROVENANCE
from tuninglink.specs.spec import Spec
from tuninglink.specs.transform_ops import (
    add_kernel_config,
    any_op,
    named_pair_attributes,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree.structured_op import Sizes
    from tuninglink.matching.derivation.problem_forms import ProblemForm
    from tuninglink.matching.op_info import OpInfo
    from tuninglink.specs.structure import Entry
    from tuninglink.specs.transform_ops import Handle


@dataclass(frozen=True)
class MatchedForm:
    """A form of a problem, with the properties that its matcher compares.

    Attributes:
        form: the form.
        kind: the kind of op.
        maps: the indexing maps, as MLIR prints them.
        element_types: the element types of the operands.
        role_sizes: the sizes of the loops by role; roles are named like the results of matcher ops.
        roles: the role of each loop.
        iterators: the iterator of each loop.
        operand_types: the required full types of operands, by their positions.
    """

    form: ProblemForm
    kind: OpKind
    maps: str
    element_types: tuple[str, ...]
    role_sizes: Mapping[str, Sizes]
    roles: tuple[Role, ...]
    iterators: tuple[str, ...]
    operand_types: Mapping[int, str] = field(default_factory=dict)


def matched_form(op: OpInfo, form: ProblemForm) -> MatchedForm:
    """Return the properties that a matcher compares for an op.

    Args:
        op: the op.
        form: the form of its problem.
    """
    # The loops do not determine the extent of the image after the last window.
    windows = {operand: op.operands[operand].text for operand, _ in form.windows}
    return MatchedForm(
        form=form,
        kind=op.kind,
        maps=op.maps_text,
        element_types=op.element_types,
        role_sizes=op.role_sizes,
        roles=op.roles,
        iterators=op.iterator_types,
        operand_types=windows,
    )


_PARAMETER: Final = "!transform.any_param"
_SIZES: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"

_MATCHERS: Final = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
    OpKind.ATTENTION: names.MATCH_ONLINE_ATTENTION,
}


def derived_spec(
    source: Spec,
    entry: Entry,
    settings: Mapping[str, mlir.Attribute],
    form: MatchedForm,
    change: str,
) -> Spec:
    """Return a spec with a single entry, derived from another one for the form of an op.

    Its matcher and its action keep the names and the locations of the original.

    Args:
        source: the spec of the entry.
        entry: the entry.
        settings: the attributes that the derived entry sets.
        form: the form that it matches.
        change: the change in words.
    """
    original = entry.anatomy.table.lookup(entry.matcher)
    assert original is not None
    with source.module.context, original.location:
        module = mlir.Module.create().operation
        for name in (names.SYMBOL_NAME, BINDING):
            if name in source.module.attributes:
                module.attributes[name] = source.module.attributes[name]
        module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
        module.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
        matcher, action = (split_path(path)[-1] for path in (entry.matcher, entry.action))
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            _add_action(action, list(settings))
            sequence = _add_matcher(matcher, list(settings.values()), form)
        _describe(sequence, original, entry, change)
        _add_entry_point(module, matcher, action)
        module.verify()
    return Spec(module, source.source)


def _describe(
    sequence: mlir.Operation, original: mlir.Operation, entry: Entry, change: str
) -> None:
    """Copy the descriptive attributes of a matcher to the derived one, and record its origin."""
    if BINDING in original.attributes:
        sequence.attributes[BINDING] = original.attributes[BINDING]
    derived = mlir.StringAttr.get(f"from @{entry.matcher}: {change}")
    entries = entries_of(original.attributes.get(PROVENANCE))
    sequence.attributes[PROVENANCE] = mlir.DictAttr.get({**entries, DERIVED: derived})


def _add_action(name: str, attributes: Sequence[str]) -> None:
    parameter = mlir.Type.parse(_PARAMETER)
    sequence = named_sequence(name, [any_op(), *[parameter] * len(attributes)])
    block = sequence.regions[0].blocks[0]
    operation, *values = block.arguments
    with mlir.InsertionPoint(block):
        for attribute, value in zip(attributes, values, strict=True):
            named: dict[str, mlir.Attribute] = {"name": mlir.StringAttr.get(attribute)}
            mlir.Operation.create(names.ANNOTATE, operands=[operation, value], attributes=named)
        yield_([])


def _add_matcher(
    name: str, settings: Sequence[mlir.Attribute], form: MatchedForm
) -> mlir.Operation:
    results = [any_op(), *[mlir.Type.parse(_PARAMETER)] * len(settings)]
    sequence = named_sequence(name, [any_op()], results)
    block = sequence.regions[0].blocks[0]
    root = block.arguments[0]
    with mlir.InsertionPoint(block):
        _create(names.HAS_NO_LOWERING_CONFIG, [root])
        _match_problem(root, form)
        for operand, type_ in form.operand_types.items():
            positions = mlir.DenseI64ArrayAttr.get([operand])
            (value,) = _create(
                names.GET_OPERAND, [root], [_VALUE], {"raw_position_list": positions}
            )
            target = mlir.TypeAttr.get(mlir.Type.parse(type_))
            _create(names.MATCH_TYPE, [value], [], {"target_type": target})
        values = [
            _create(names.PARAM_CONSTANT, [], [_PARAMETER], {"value": setting})[0]
            for setting in settings
        ]
        yield_([root, *values])
    return sequence


def _match_problem(root: Handle, form: MatchedForm) -> None:
    """Add the matcher ops that compare types, maps and sizes with those of a form."""
    name = _MATCHERS[form.kind]
    matcher = STRUCTURED_MATCHERS[name]
    attributes: dict[str, mlir.Attribute] = {"indexing_maps": mlir.Attribute.parse(form.maps)}
    for position, role in enumerate(matcher.operands):
        element = mlir.Type.parse(form.element_types[matcher.operand(position)])
        attributes[f"{role}_type"] = mlir.TypeAttr.get(element)
    handles = _create(name, [root], [_SIZES] * len(matcher.roles), attributes)
    for role, handle in zip(matcher.roles, handles, strict=True):
        sizes = form.role_sizes[role]
        if role in pred.STEPS or all(size is None for size in sizes):
            continue
        expected = mlir.DenseI64ArrayAttr.get([-1 if size is None else size for size in sizes])
        _create(names.MATCH_DIMS_EQUAL, [handle], [], {"expected_values": expected})


def _add_entry_point(module: mlir.Operation, matcher: str, action: str) -> None:
    entry_point = add_kernel_config(module, consumes=True)
    block = entry_point.regions[0].blocks[0]
    with mlir.InsertionPoint(block):
        walk = mlir.Operation.create(
            names.FOREACH_MATCH,
            operands=[block.arguments[0]],
            results=[any_op()],
            attributes=named_pair_attributes([(matcher, action)]),
        )
        yield_(list(walk.results))


def _create(
    name: str,
    operands: Sequence[Handle],
    results: Sequence[str] = (),
    attributes: Mapping[str, mlir.Attribute] | None = None,
) -> list[Handle]:
    operation = mlir.Operation.create(
        name,
        operands=list(operands),
        results=[mlir.Type.parse(result) for result in results],
        attributes=dict(attributes or {}),
    )
    return list(operation.results)
