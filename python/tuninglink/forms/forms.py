"""The forms of an op for a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.forms.padded_attention import padded_attentions
from tuninglink.forms.padded_contraction import padded_contractions
from tuninglink.mlir import names
from tuninglink.replacing import Attention, Contraction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.iree import Target
    from tuninglink.replacing import Form


def forms_of(op: mlir.Operation | Attention | Contraction, target: Target) -> Sequence[Form]:
    """Return the forms of an op or a problem for a target, at least one, the most promising first.

    Args:
        op: an op as it is at the preprocessing stage or in a dispatch, or a problem.
        target: a target with its intrinsics, as `Target.from_attribute` reads it.

    Raises:
        NoFormError: the op has no form, with the reason.
    """
    if not isinstance(op, Attention | Contraction):
        is_attention = op.operation.name == names.ATTENTION
        op = Attention.of(op) if is_attention else Contraction.of(op)
    if isinstance(op, Attention):
        return padded_attentions(op, target)
    return padded_contractions(op, target)
