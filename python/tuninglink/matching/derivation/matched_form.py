"""The properties that the matcher of a derived entry compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree.op_kinds import OpKind, Role
    from tuninglink.iree.structured_op import Sizes
    from tuninglink.matching.derivation.problem_form import ProblemForm
    from tuninglink.matching.op_info import OpInfo


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
