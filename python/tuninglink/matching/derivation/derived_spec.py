"""Entries from which others can be derived, and derived entries, each in a separate spec linked after all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role, affine_maps
from tuninglink.matching import predicates as pred
from tuninglink.matching.derivation.problem_forms import ProblemForm, problem_form
from tuninglink.matching.pruning_keys import kind_of
from tuninglink.matching.reader import STRUCTURED_MATCHERS
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import split_path
from tuninglink.specs.bindings import BINDING
from tuninglink.specs.entry_settings import DERIVED, PROVENANCE
from tuninglink.specs.spec import Spec
from tuninglink.specs.transform_ops import (
    add_list,
    any_op,
    create,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree.structured_op import Sizes
    from tuninglink.matching.matcher import Matcher
    from tuninglink.matching.op_info import OpInfo
    from tuninglink.specs.structure import Anatomy, Entry
    from tuninglink.specs.transform_ops import Handle


@dataclass(frozen=True)
class Derivable:
    """An entry from which others can be derived.

    Attributes:
        form: the form of its problem.
        maps: the indexing maps that it matches, as MLIR prints them.
        sizes: the size of each loop, None if unconstrained.
        element_types: the element types of the operands.
        settings: the attributes that it sets, by name.
    """

    form: ProblemForm
    maps: str
    sizes: Sizes
    element_types: tuple[str, ...]
    settings: Mapping[str, mlir.Attribute]


def derivable(anatomy: Anatomy, position: int, matcher: Matcher) -> Derivable | None:
    """Return the derivable form of an entry of a matcher list; None if the entry is not derivable.

    Args:
        anatomy: the structure of the list.
        position: the position of the entry.
        matcher: its parsed matcher.
    """
    fold = _fold(matcher)
    settings = _settings(anatomy, *anatomy.pairs[position]) if fold is not None else None
    if fold is None or settings is None:
        return None
    maps, sizes, types = fold.maps, fold.loop_sizes(), fold.element_types()
    parsed = affine_maps(mlir.Attribute.parse(maps.text, anatomy.module.context))
    form = problem_form(fold.kind, parsed, sizes, fold.operands, types)
    return None if form is None else Derivable(form, maps.text, sizes, types, settings)


def _fold(matcher: Matcher) -> _Fold | None:
    """Fold the predicates of a matcher; return None if they do not exactly describe a problem."""
    kind = kind_of(matcher.predicates)
    maps = next(
        (predicate.maps for predicate in matcher.predicates if isinstance(predicate, pred.HasMaps)),
        None,
    )
    if matcher.stop or kind is None or maps is None:
        return None
    fold = _Fold(kind, maps)
    count = len(maps.operands)
    is_problem = all(map(fold.add, matcher.predicates)) and len(fold.types) == count
    return fold if is_problem else None


class _Fold:
    """The conjunction of predicates.

    Args:
        kind: the required kind of op.
        maps: the indexing maps.

    Attributes:
        kind: the kind of op.
        maps: the indexing maps.
        types: the element types of operands, by their positions.
        operands: the sizes of operands, by their positions.
    """

    def __init__(self, kind: OpKind, maps: pred.Maps) -> None:
        self.kind = kind
        self.maps = maps
        self._roles = dict(maps.roles)
        self._sizes: dict[int, int] = {}
        self.types: dict[int, str] = {}
        self.operands: dict[int, Sizes] = {}

    def add(self, predicate: pred.Predicate) -> bool:
        """Add a predicate, unless it has requirements that are not part of a problem."""
        match predicate:
            case pred.HasElementType(kind, operand, _, element):
                self.types[operand % len(self.maps.operands)] = element
                return kind is self.kind
            case pred.HasRoleSizes(kind, role, sizes):
                return kind is self.kind and self._add_role(role, sizes)
            case pred.IsCastCompatible(value, type_):
                self.operands[value.number] = type_.sizes or ()
                return self._has(value) and type_.is_tensor and not type_.encoding
            case pred.HasMaps(maps):
                return maps == self.maps
            case pred.HasValue(value):
                return self._has(value)
        return isinstance(
            predicate, pred.NameIn | pred.IsKind | pred.IsUnconfigured | pred.IsUnmasked
        )

    def _has(self, value: pred.ValueRef) -> bool:
        return value.group == pred.OPERAND and value.number < len(self.maps.operands)

    def _add_role(self, role: str, sizes: Sizes) -> bool:
        if role in pred.STEPS:
            return True  # The maps have them, too.
        loops = self._roles.get(pred.role_name(self.kind, role), ())
        static = {loop: size for loop, size in zip(loops, sizes, strict=False) if size is not None}
        self._sizes |= static
        return len(loops) == len(sizes)

    def element_types(self) -> tuple[str, ...]:
        """Return the element types of the operands."""
        return tuple(self.types[operand] for operand in range(len(self.maps.operands)))

    def loop_sizes(self) -> Sizes:
        """Return the size of each loop, None if unconstrained."""
        dimensions = (
            dimension
            for operand, sizes in self.operands.items()
            for dimension in zip(self.maps.loops[operand], sizes, strict=False)
        )
        result = {loop: size for loop, size in dimensions if loop is not None and size is not None}
        sizes = {**self._sizes, **result}
        return tuple(sizes.get(loop) for loop in range(self.maps.loop_count))


def _settings(anatomy: Anatomy, matcher: str, action: str) -> Mapping[str, mlir.Attribute] | None:
    """Return the attributes that an entry sets on its root op; None if it sets them on other ops or computes them."""
    settings: dict[str, mlir.Attribute] = {}
    for annotation in anatomy.annotations(action):
        value: mlir.Attribute | int | None = annotation.value
        if isinstance(value, int):
            value = anatomy.table.yielded(matcher, value)
        # The first argument of a matcher is the candidate op.
        if anatomy.table.yielded(matcher, annotation.operand) != 0 or not isinstance(
            value, mlir.Attribute
        ):
            return None
        settings[annotation.name] = value
    return settings if _CONFIGURING & settings.keys() else None


_CONFIGURING = frozenset({names.COMPILATION_INFO, names.LOWERING_CONFIG})


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
    """Return the properties of an op in a given form that matchers compare."""
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
        pair = mlir.FlatSymbolRefAttr.get(matcher), mlir.FlatSymbolRefAttr.get(action)
        add_list(module, [pair])
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
            create(names.ANNOTATE, [operation, value], **named)
        yield_([])


def _add_matcher(
    name: str, settings: Sequence[mlir.Attribute], form: MatchedForm
) -> mlir.Operation:
    results = [any_op(), *[mlir.Type.parse(_PARAMETER)] * len(settings)]
    sequence = named_sequence(name, [any_op()], results)
    block = sequence.regions[0].blocks[0]
    root = block.arguments[0]
    with mlir.InsertionPoint(block):
        create(names.HAS_NO_LOWERING_CONFIG, [root])
        _match_problem(root, form)
        for operand, type_ in form.operand_types.items():
            positions = mlir.DenseI64ArrayAttr.get([operand])
            (value,) = create(names.GET_OPERAND, [root], [_VALUE], raw_position_list=positions)
            target = mlir.TypeAttr.get(mlir.Type.parse(type_))
            create(names.MATCH_TYPE, [value], target_type=target)
        values = [
            create(names.PARAM_CONSTANT, [], [_PARAMETER], value=setting)[0] for setting in settings
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
    handles = create(name, [root], [_SIZES] * len(matcher.roles), **attributes)
    for role, handle in zip(matcher.roles, handles, strict=True):
        sizes = form.role_sizes[role]
        if role in pred.STEPS or all(size is None for size in sizes):
            continue
        expected = mlir.DenseI64ArrayAttr.get([-1 if size is None else size for size in sizes])
        create(names.MATCH_DIMS_EQUAL, [handle], expected_values=expected)
