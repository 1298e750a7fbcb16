"""Derivable entries: those whose matchers require exactly a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, affine_maps
from tuninglink.matching import predicates as pred
from tuninglink.matching.derivation.problem_forms import ProblemForm, problem_form
from tuninglink.matching.pruning_keys import kind_of
from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.iree.structured_op import Sizes
    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.structure import Anatomy


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
    """Fold the predicates of a matcher; return None if they do not describe exactly a problem."""
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
        """Add a predicate, unless it requires more than a problem."""
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
