"""The forms of an op for a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.forms.attention import Attention
from tuninglink.forms.contraction import Contraction, padded_contractions
from tuninglink.forms.padded_attention import padded_attentions
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.forms.entries import Form
    from tuninglink.iree import Target


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
