"""Writing specs: for each winner a matcher that finds its problem, and an action that configures it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured import (
    contraction_loops,
    convolution_loops,
    is_contraction,
    is_convolution,
)
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.mlir.symbols import FreshNames
from tuninglink.specs.builders import add_kernel_config, yield_
from tuninglink.tuning.candidates import configuration_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tuninglink.spaces.providers import Dispatch
    from tuninglink.tuning.candidates import Candidate

    Value = mlir.Value[Any]
    Matcher = Callable[["Dispatch", Value], None]
    """Adds to a matcher of an operation what tells the root op of a dispatch from others."""

PROVENANCE: Final = "tuninglink.provenance"
"""The attribute of a matcher that says where its configuration comes from."""

_PARAMETER: Final = "!transform.param<i64>"
_ANY_OP: Final = "!transform.any_op"
_ANY_PARAMETER: Final = "!transform.any_param"
_ANY_VALUE: Final = "!transform.any_value"
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result of a product."""
_CONVOLUTION_STEPS: Final = 2
"""Strides and dilations, which a convolution matcher returns behind the loops."""


class NoMatcherError(Exception):
    """A form of matchers cannot find an operation; says why not."""


@dataclass(frozen=True)
class SpecEntry:
    """An entry to be written.

    Attributes:
        label: what the entry is called, `match_` before it.
        dispatch: the dispatch whose root op it is to find, as matchers see it, without a configuration.
        form: how it is found, one of `FORMS`.
        candidate: the configuration.
        provenance: what `tuninglink.provenance` says.
    """

    label: str
    dispatch: Dispatch
    form: str
    candidate: Candidate
    provenance: Mapping[str, object] = field(default_factory=dict)


def write_spec(name: str, entries: Sequence[SpecEntry]) -> str:
    """Returns a spec in default-entrypoint form, as text.

    Args:
        name: the symbol of its module.
        entries: its entries, in order of precedence.

    Raises:
        NoMatcherError: the form of an entry cannot find its operation.
    """
    context = entries[0].dispatch.root.context if entries else thread_context()
    with context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        unit = mlir.UnitAttr.get()
        module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        module.attributes[names.WITH_NAMED_SEQUENCE] = unit
        module.attributes[names.DEFAULT_ENTRY_POINT] = unit
        actions = {
            has_decomposition: _add_action(module, has_decomposition=has_decomposition)
            for has_decomposition in (False, True)
            if any(bool(each.candidate.decomposition) is has_decomposition for each in entries)
        }
        fresh = FreshNames([])
        pairs = []
        for each in entries:
            matcher = fresh.take(f"match_{each.label}")
            _add_matcher(module, matcher, each)
            pairs.append((matcher, actions[bool(each.candidate.decomposition)]))
        _add_entry_point(module, pairs)
        module.verify()
        return to_text(module)


def matcher_key(dispatch: Dispatch, form: str) -> str:
    """Returns a text that is equal for dispatches which the same matcher finds.

    Raises:
        NoMatcherError: the form cannot find the operation.
    """
    with dispatch.root.context as context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        block = _add_sequence(module, "match", [_ANY_OP], [])
        with mlir.InsertionPoint(block):
            FORMS[form](dispatch, block.arguments[0])
            yield_([])
        return to_text(module)


# --- Matchers --------------------------------------------------------------------------------------------


def _match_contraction(dispatch: Dispatch, operation: Value) -> None:
    root = dispatch.root
    if not (root.name.startswith("linalg.") and is_contraction(root)):
        raise NoMatcherError("it is no contraction")
    loops = contraction_loops(_maps(root))
    _match_product(names.MATCH_CONTRACTION, dispatch, operation, list(loops.values()), 0)


def _match_convolution(dispatch: Dispatch, operation: Value) -> None:
    root = dispatch.root
    if not (root.name.startswith("linalg.") and is_convolution(root)):
        raise NoMatcherError("it is no convolution")
    loops = list(convolution_loops(_maps(root)).values())
    _match_product(names.MATCH_CONVOLUTION, dispatch, operation, loops, _CONVOLUTION_STEPS)


def _match_product(
    form: str, dispatch: Dispatch, operation: Value, loops: Sequence[Sequence[int]], steps: int
) -> None:
    root = dispatch.root
    types = [each.type for each in root.operands]
    if len(types) != _OPERANDS or not all(isinstance(each, mlir.ShapedType) for each in types):
        raise NoMatcherError("it has other operands than two factors and a result")
    lhs, rhs, output = (mlir.TypeAttr.get(each.element_type) for each in types)
    results = _create(
        form,
        [operation],
        [_PARAMETER] * (len(loops) + steps),
        lhs_type=lhs,
        rhs_type=rhs,
        output_type=output,
        indexing_maps=_maps_attribute(root),
    )
    _match_sizes(dispatch, results, loops)
    if form == names.MATCH_CONVOLUTION:
        # The loops leave open how much of the image there is behind the last window.
        _match_type(operation, 0, types[0])


def _match_attention(dispatch: Dispatch, operation: Value) -> None:
    root = dispatch.root
    if root.name not in (names.ATTENTION, names.ONLINE_ATTENTION):
        raise NoMatcherError("it is no attention")
    is_online = root.name == names.ONLINE_ATTENTION
    maps = _maps_attribute(root)
    operands = [each.type for each in root.operands]
    outputs = [each.type for each in root.results]
    inputs = dict(zip(("query", "key", "value", "scale"), operands, strict=False))
    named = {f"{name}_type": _element(inputs[name]) for name in ("query", "key", "value")}
    if is_online:
        named["scale_type"] = _element(inputs["scale"])
    called = ("output", "max", "sum")
    named |= {
        f"{name}_type": _element(kind) for name, kind in zip(called, outputs, strict=False)
    }
    form = names.MATCH_ONLINE_ATTENTION if is_online else names.MATCH_ATTENTION
    roles = ("batch", "m", "n", "k1", "k2")
    results = _create(
        form, [operation], [_PARAMETER] * len(roles), indexing_maps=maps, **named
    )
    dimensions = dispatch.problem.dimensions
    loops = [
        [loop for loop, each in enumerate(dimensions) if each.role.value == role] for role in roles
    ]
    _match_sizes(dispatch, results, loops)


def _match_dag(dispatch: Dispatch, operation: Value) -> None:
    """Matches an operation with the same attributes, types and body, whatever its operands come from."""
    root = dispatch.root
    _create(
        names.MATCH_OPERATION_NAME,
        [operation],
        [],
        op_names=mlir.ArrayAttr.get([mlir.StringAttr.get(root.name)]),
    )
    dag = mlir.Operation.create(
        names.MATCH_DAG,
        operands=[operation],
        results=[mlir.Type.parse(_ANY_VALUE)] * 2,
        regions=1,
    )
    operands = list(dict.fromkeys(root.operands))
    if any(not isinstance(each.type, mlir.RankedTensorType) for each in operands):
        raise NoMatcherError("it has operands that are no tensors")
    location = mlir.Location.unknown()
    block = dag.regions[0].blocks.append(
        *(each.type for each in operands), arg_locs=[location] * len(operands)
    )
    with mlir.InsertionPoint(block):
        copy = root.operation.clone().operation
        for position, each in enumerate(root.operands):
            copy.operands[position] = block.arguments[operands.index(each)]
        yield_([])


FORMS: Final[Mapping[str, Matcher]] = {
    "contraction": _match_contraction,
    "convolution": _match_convolution,
    "attention": _match_attention,
    "dag": _match_dag,
}
"""The forms of matchers, the most robust ones first."""


def _maps_attribute(root: mlir.Operation) -> mlir.ArrayAttr:
    from tuninglink.iree.structured import indexing_maps  # noqa: PLC0415

    found = indexing_maps(root) if root.name.startswith("linalg.") else None
    found = found if found is not None else root.attributes.get("indexing_maps")
    if not isinstance(found, mlir.ArrayAttr):
        raise NoMatcherError("it has no indexing maps")
    return found


def _maps(root: mlir.Operation) -> list[mlir.AffineMap]:
    return [each.value for each in _maps_attribute(root) if isinstance(each, mlir.AffineMapAttr)]


def _match_sizes(
    dispatch: Dispatch, handles: Sequence[Value], loops: Sequence[Sequence[int]]
) -> None:
    for handle, numbers in zip(handles, loops, strict=False):
        sizes = [dispatch.problem.dimensions[each].size for each in numbers]
        if not sizes:
            continue
        if any(each is None for each in sizes):
            raise NoMatcherError("it has dynamic sizes")
        _create(
            names.MATCH_DIMS_EQUAL,
            [handle],
            [],
            expected_values=mlir.DenseI64ArrayAttr.get([each or 0 for each in sizes]),
        )


def _match_type(operation: Value, number: int, kind: mlir.Type) -> None:
    position = mlir.DenseI64ArrayAttr.get([number])
    (operand,) = _create(
        names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=position
    )
    _create(names.MATCH_TYPE, [operand], [], target_type=mlir.TypeAttr.get(kind))


def _element(kind: mlir.Type) -> mlir.Attribute:
    return mlir.TypeAttr.get(kind.element_type if isinstance(kind, mlir.ShapedType) else kind)


# --- The module ------------------------------------------------------------------------------------------


def _create(
    name: str, operands: Sequence[Value], results: Sequence[str], /, **attributes: mlir.Attribute
) -> list[Value]:
    operation = mlir.Operation.create(
        name,
        operands=list(operands),
        results=[mlir.Type.parse(each) for each in results],
        attributes=attributes,
    )
    return list(operation.results)


def _add_sequence(
    module: mlir.Operation, name: str, inputs: Sequence[str], outputs: Sequence[str]
) -> mlir.Block:
    """Adds a named sequence that only reads its arguments, and returns its block."""
    types = [mlir.Type.parse(each) for each in inputs]
    results = [mlir.Type.parse(each) for each in outputs]
    readonly = mlir.DictAttr.get({names.READONLY: mlir.UnitAttr.get()})
    attributes = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get(types, results)),
        "arg_attrs": mlir.ArrayAttr.get([readonly] * len(types)),
    }
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
    location = mlir.Location.unknown()
    return sequence.regions[0].blocks.append(*types, arg_locs=[location] * len(types))


def _add_action(module: mlir.Operation, *, has_decomposition: bool) -> str:
    name = "configure_attention" if has_decomposition else "configure"
    annotated = [names.COMPILATION_INFO]
    if has_decomposition:
        annotated.append(names.DECOMPOSITION_CONFIG)
    block = _add_sequence(module, name, [_ANY_OP, *[_ANY_PARAMETER] * len(annotated)], [])
    operation, *parameters = block.arguments
    with mlir.InsertionPoint(block):
        for attribute, parameter in zip(annotated, parameters, strict=True):
            text = mlir.StringAttr.get(attribute)
            _create(names.ANNOTATE, [operation, parameter], [], name=text)
        yield_([])
    return name


def _add_matcher(module: mlir.Operation, name: str, entry: SpecEntry) -> None:
    context = entry.dispatch.root.context
    configurations = list(configuration_of(entry.candidate, context).values())
    results = [_ANY_OP, *[_ANY_PARAMETER] * len(configurations)]
    block = _add_sequence(module, name, [_ANY_OP], results)
    operation = block.arguments[0]
    with mlir.InsertionPoint(block):
        _create(names.HAS_NO_LOWERING_CONFIG, [operation], [])
        FORMS[entry.form](entry.dispatch, operation)
        parameters = [
            _create(names.PARAM_CONSTANT, [], [_ANY_PARAMETER], value=each)[0]
            for each in configurations
        ]
        yield_([operation, *parameters])
    if entry.provenance:
        sequence: Any = block.owner
        sequence.operation.attributes[PROVENANCE] = attribute_of(entry.provenance)


def attribute_of(value: object) -> mlir.Attribute:
    """Returns a value as an attribute: a mapping, a sequence, a number or text."""
    if isinstance(value, dict):
        return mlir.DictAttr.get({name: attribute_of(each) for name, each in value.items()})
    if isinstance(value, list | tuple):
        return mlir.ArrayAttr.get([attribute_of(each) for each in value])
    if isinstance(value, int):
        return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return mlir.FloatAttr.get(mlir.F64Type.get(), value)
    return mlir.StringAttr.get(str(value))


def _add_entry_point(module: mlir.Operation, pairs: Sequence[tuple[str, str]]) -> None:
    entry_point = add_kernel_config(module, consumes=True)
    block = entry_point.regions[0].blocks[0]
    root = block.arguments[0]
    matchers, actions = (
        mlir.ArrayAttr.get([mlir.FlatSymbolRefAttr.get(each[side]) for each in pairs])
        for side in (0, 1)
    )
    with mlir.InsertionPoint(block):
        found = mlir.Operation.create(
            names.FOREACH_MATCH,
            operands=[root],
            results=[root.type],
            attributes={"matchers": matchers, "actions": actions},
        )
        yield_(list(found.results))
