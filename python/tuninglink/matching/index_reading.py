"""Reading the entries of a spec for an index: their conditions, and the checks that their matchers imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS, OpKind
from tuninglink.matching.conditions import Condition
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.index_plan import IndexEntry, Structure, fixed_axes
from tuninglink.matching.reader import MatcherReader, read_matcher
from tuninglink.mlir import names
from tuninglink.specs.builders import yield_

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from tuninglink.specs.structure import Anatomy

_STRUCTURED: Final = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
}
_STRUCTURED_TYPES: Final = ("lhs_type", "rhs_type", "output_type")
_STRUCTURED_RESULTS: Final = {names.MATCH_CONTRACTION: 4, names.MATCH_CONVOLUTION: 8}

_ATTENTIONS: Final[Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    names.ATTENTION: (
        names.MATCH_ATTENTION,
        ("query_type", "key_type", "value_type"),
        ("output_type",),
    ),
    names.ONLINE_ATTENTION: (
        names.MATCH_ONLINE_ATTENTION,
        ("query_type", "key_type", "value_type", "scale_type"),
        ("output_type", "max_type", "sum_type"),
    ),
}
"""For each kind of attention its matcher, and the types that it demands of inputs and of outputs."""

_UNMASKED_OPERANDS: Final = {names.ATTENTION: 5, names.ONLINE_ATTENTION: 7}
"""Query, key, value and scale, and the outputs."""

_ATTENTION_RESULTS: Final = 5

_COMPUTING: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""How the names of operations begin that are worth a group of their own: there are few in a dispatch."""


class IndexReader:
    """Reads the entries of one spec.

    Args:
        anatomy: a matcher list.

    Attributes:
        entries: the entries that can be reached, in order: of those with the same matcher, the first.
        checks: for each structure a named sequence that matches what has it, in a module of its own.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self._anatomy = anatomy
        self._reader = MatcherReader(anatomy.table)
        self._structures: dict[Hashable, Structure] = {}
        self.checks: dict[Structure, mlir.Operation] = {}
        with anatomy.module.context, mlir.Location.unknown():
            self._scratch = mlir.Module.create()
            first: dict[str, int] = {}
            for position, (matcher, _) in enumerate(anatomy.pairs):
                first.setdefault(matcher, position)
            self.entries = tuple(self._entry(*each) for each in first.items())

    def _entry(self, matcher: str, position: int) -> IndexEntry:
        condition = exact_condition(self._reader.read(matcher))
        if not isinstance(condition, Condition):
            return IndexEntry(position)
        structure = self._structure(condition)
        return IndexEntry(position, condition, structure, fixed_axes(condition))

    def _structure(self, condition: Condition) -> Structure | None:
        check = _check(condition)
        if check is None:
            return None
        name, attributes, results = check
        key = name, *attributes.items()
        if key not in self._structures:
            sequence = _matcher(self._scratch, name, attributes, results)
            implied = exact_condition(read_matcher(sequence))
            assert isinstance(implied, Condition)
            structure = self._structures[key] = Structure(implied)
            self.checks[structure] = sequence
        return self._structures[key]


_Check = tuple[str, dict[str, mlir.Attribute], int]
"""The name, the attributes and the number of results of an operation that matches an operation."""


def _check(condition: Condition) -> _Check | None:
    """Returns an operation that matches whatever a condition holds for, a specific one if possible."""
    is_graph = condition.root is not None
    if condition.names is not None and len(condition.names) == 1 and not is_graph:
        (name,) = condition.names
        # The matcher of attention refuses operations with a mask, which have a map more.
        if name in _ATTENTIONS and _maps(condition) == _UNMASKED_OPERANDS[name]:
            return _attention(name, condition)
    if condition.kinds == {OpKind.CONTRACTION} or (len(condition.kinds) == 1 and not is_graph):
        (kind,) = condition.kinds
        match = _STRUCTURED[kind]
        attributes = _types(_STRUCTURED_TYPES, 0, condition.types)
        if condition.maps is not None:
            attributes["indexing_maps"] = mlir.Attribute.parse(condition.maps.text)
        return match, attributes, _STRUCTURED_RESULTS[match]
    if condition.names and all(each.startswith(_COMPUTING) for each in condition.names):
        accepted = [mlir.StringAttr.get(each) for each in sorted(condition.names)]
        return names.MATCH_OPERATION_NAME, {"op_names": mlir.ArrayAttr.get(accepted)}, 0
    return None


def _maps(condition: Condition) -> int:
    return len(condition.maps.operands) if condition.maps is not None else 0


def _attention(name: str, condition: Condition) -> _Check:
    match, inputs, outputs = _ATTENTIONS[name]
    assert condition.maps is not None
    first_output = len(condition.maps.operands) - ATTENTION_OUTPUTS[name]
    attributes = {"indexing_maps": mlir.Attribute.parse(condition.maps.text)}
    attributes |= _types(inputs, 0, condition.types) | _types(
        outputs, first_output, condition.types
    )
    return match, attributes, _ATTENTION_RESULTS


def _types(
    wanted: Sequence[str], first: int, types: Mapping[int, str]
) -> dict[str, mlir.Attribute]:
    """Returns the attributes that demand element types of operands from the number `first` on."""
    return {
        name: mlir.TypeAttr.get(mlir.Type.parse(types[number]))
        for number, name in enumerate(wanted, first)
    }


def _matcher(
    module: mlir.Module, name: str, attributes: dict[str, mlir.Attribute], results: int
) -> mlir.Operation:
    """Adds a matcher of one operation to a module, and returns it."""
    any_op, parameter = map(mlir.Type.parse, ("!transform.any_op", "!transform.param<i64>"))
    readonly = mlir.DictAttr.get({names.READONLY: mlir.UnitAttr.get()})
    function_type = mlir.FunctionType.get([any_op], [any_op])
    with mlir.InsertionPoint(module.body):
        sequence = mlir.Operation.create(
            names.NAMED_SEQUENCE,
            attributes={
                names.SYMBOL_NAME: mlir.StringAttr.get("matcher"),
                "function_type": mlir.TypeAttr.get(function_type),
                "arg_attrs": mlir.ArrayAttr.get([readonly]),
            },
            regions=1,
        )
    block = sequence.regions[0].blocks.append(any_op, arg_locs=[mlir.Location.unknown()])
    operation = block.arguments[0]
    with mlir.InsertionPoint(block):
        mlir.Operation.create(
            name, operands=[operation], results=[parameter] * results, attributes=attributes
        )
        yield_([operation])
    return sequence
