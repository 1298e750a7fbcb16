"""Which entries other entries can be derived from: those that ask for a problem and for nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, affine_maps
from tuninglink.matching import predicates as pred
from tuninglink.matching.derivation.problem_key import problem_form
from tuninglink.matching.forms import kind_of
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.iree.structured_op import Sizes
    from tuninglink.matching.derivation.problem_key import ProblemForm
    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.structure import Anatomy


@dataclass(frozen=True)
class Derivable:
    """An entry that others can be derived from.

    Attributes:
        form: the form of the problem that it is for.
        settings: the attributes that it sets, by name.
    """

    form: ProblemForm
    settings: Mapping[str, mlir.Attribute]


def derivable(anatomy: Anatomy, position: int, matcher: Matcher) -> Derivable | None:
    """Returns what can be derived from an entry of a matcher list; None if nothing can.

    Args:
        anatomy: the structure of the list.
        position: the position of the entry.
        matcher: its matcher, as it was read.
    """
    form = _form(matcher, anatomy.module.context)
    settings = _settings(anatomy, *anatomy.pairs[position]) if form is not None else None
    return None if form is None or settings is None else Derivable(form, settings)


def _form(matcher: Matcher, context: mlir.Context) -> ProblemForm | None:
    """Returns the form of the problem that a matcher asks for; None if it asks for more or less."""
    kind = kind_of(matcher.predicates)
    maps = next((each.maps for each in matcher.predicates if isinstance(each, pred.HasMaps)), None)
    if matcher.stop or kind is None or maps is None:
        return None
    types: dict[int, str] = {}
    operands: dict[int, Sizes] = {}
    sizes: list[int | None] = [None] * maps.loop_count
    roles = dict(maps.roles)
    count = len(maps.operands)
    for each in matcher.predicates:
        match each:
            case pred.HasElementType(of_kind, operand, _, element) if of_kind is kind:
                types[operand % count] = element
            case pred.HasRoleSizes(of_kind, role, asked) if of_kind is kind:
                loops = roles.get(pred.role_name(kind, role), ())
                if role not in pred.STEPS and len(loops) != len(asked):
                    return None
                for loop, size in zip(loops, asked, strict=False):
                    sizes[loop] = sizes[loop] if size is None else size
            case pred.IsCastCompatible(value, type_) if (
                value.group == pred.OPERAND and type_.is_tensor and not type_.encoding
            ):
                operands[value.number] = type_.sizes or ()
            case pred.NameIn() | pred.IsKind() | pred.IsUnconfigured() | pred.IsUnmasked():
                pass
            case pred.HasMaps(other) if other == maps:
                pass
            case pred.HasValue(value) if value.group == pred.OPERAND and value.number < count:
                pass
            case _:
                return None
    for operand, known in operands.items():
        for loop, size in zip(maps.loops[operand], known, strict=False):
            if loop is not None and size is not None:
                sizes[loop] = size
    if types.keys() < set(range(count)):
        return None
    parsed = affine_maps(mlir.Attribute.parse(maps.text, context))
    elements = [types[operand] for operand in range(count)]
    return problem_form(kind, parsed, tuple(sizes), operands, elements)


def _settings(
    anatomy: Anatomy, matcher: str, action: str
) -> Mapping[str, mlir.Attribute] | None:
    """Returns the attributes that an entry sets on its root op; None if it sets others or computes them."""
    settings: dict[str, mlir.Attribute] = {}
    for each in anatomy.annotations(action):
        value: mlir.Attribute | int | None = each.value
        if isinstance(value, int):
            value = anatomy.table.yielded(matcher, value)
        # The first argument of a matcher is the op that it is asked about.
        if anatomy.table.yielded(matcher, each.operand) != 0 or not isinstance(
            value, mlir.Attribute
        ):
            return None
        settings[each.name] = value
    return settings if _CONFIGURING & settings.keys() else None


_CONFIGURING = frozenset({names.COMPILATION_INFO, names.LOWERING_CONFIG})
