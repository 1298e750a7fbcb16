"""The forms of an op for a target."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from tuninglink.forms.folded_batch import BroadcastMatmul, FoldedBatch
from tuninglink.forms.padded_attention import padded_attentions
from tuninglink.forms.padded_contraction import padded_contractions
from tuninglink.mlir import collect, names
from tuninglink.replacing import BATCH_MATMUL, Attention, Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.iree import Target
    from tuninglink.replacing import Form


FormProblem: TypeAlias = Attention | BroadcastMatmul | Contraction
"""The problems that have forms."""


def problem_of(op: mlir.Operation) -> FormProblem:
    """Read an op as it is at the preprocessing stage or in a dispatch.

    Raises:
        NoFormError: the op has no form on any target, with the reason.
    """
    if op.operation.name == names.ATTENTION:
        return Attention.of(op)
    with suppress(NoFormError):
        return BroadcastMatmul.of(op)
    return Contraction.of(op)


def problems_in(module: mlir.Operation) -> list[FormProblem]:
    """Return the distinct problems of a program whose forms are worth measuring, which those of padded contractions are not."""
    problems: dict[FormProblem, None] = {}
    for operation in collect(module, names.ATTENTION):
        with suppress(NoFormError):
            problems[Attention.of(operation)] = None
    for operation in collect(module, BATCH_MATMUL):
        with suppress(NoFormError):
            problems[BroadcastMatmul.of(operation)] = None
    return [*problems]


def forms_of(op: mlir.Operation | FormProblem, target: Target) -> Sequence[Form]:
    """Return the forms of an op or a problem for a target, at least one, the most promising first.

    Args:
        op: an op, see `problem_of`, or a problem.
        target: a target with its intrinsics, as `Target.from_attribute` reads it.

    Raises:
        NoFormError: the op has no form, with the reason.
    """
    problem = op if isinstance(op, FormProblem) else problem_of(op)
    match problem:
        case Attention():
            return padded_attentions(problem, target)
        case BroadcastMatmul():
            return [FoldedBatch(problem)]
        case Contraction():
            return padded_contractions(problem, target)
