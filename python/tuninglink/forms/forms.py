"""The forms of an op for a target."""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from tuninglink.forms.attention_products import attention_products
from tuninglink.forms.depthwise import DEPTHWISE, Depthwise, shifted_sums
from tuninglink.forms.folded_batch import BroadcastMatmul, FoldedBatch
from tuninglink.forms.padded_attention import padded_attentions
from tuninglink.forms.padded_contraction import padded_contractions
from tuninglink.iree import OpKind, StructuredOp
from tuninglink.mlir import collect, names
from tuninglink.payloads import DYNAMIC
from tuninglink.replacing import Attention, Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.iree import Target
    from tuninglink.replacing import Form


FormProblem: TypeAlias = Attention | BroadcastMatmul | Contraction | Depthwise
"""The problems that have forms."""

_CPU: Final = "llvm-cpu"

_SLOWNESS: Final = 20
"""How many times as long as large matmuls attentions and depthwise convolutions take at least by default, on a CPU."""

_LEAST_SHARE: Final = 0.05
"""The least share of the time for the forms of a kind of problem to be measured on a CPU."""


def problem_of(op: mlir.Operation) -> FormProblem:
    """Read an op as it is at the preprocessing stage or in a dispatch.

    Raises:
        NoFormError: the op has no form on any target, with the reason.
    """
    if op.operation.name == names.ATTENTION:
        return Attention.of(op, is_dynamic=True)
    if op.operation.name == DEPTHWISE:
        return Depthwise.of(op)
    with suppress(NoFormError):
        return BroadcastMatmul.of(op)
    return Contraction.of(op)


def problems_in(module: mlir.Operation) -> dict[FormProblem, float]:
    """Return the problems of a program whose forms are worth measuring.

    Each has its share of the time on a CPU, estimated from the numbers of multiplications.
    """
    total, times = 0.0, dict[FormProblem, float]()
    for operation in collect(module):
        op = StructuredOp(operation)
        if op.kind not in (OpKind.ATTENTION, OpKind.CONTRACTION, OpKind.CONVOLUTION):
            continue
        is_slow = op.name in (names.ATTENTION, DEPTHWISE)
        time = prod(size or 1 for size in op.sizes) * float(_SLOWNESS if is_slow else 1)
        total += time
        with suppress(NoFormError):
            problem = problem_of(operation)
            times[problem] = times.get(problem, 0.0) + time
    return {problem: time / total for problem, time in times.items()}


def _is_dynamic(problem: FormProblem) -> bool:
    return isinstance(problem, Attention) and DYNAMIC in problem.sizes


def promising_forms(
    problems: Mapping[FormProblem, float], target: Target
) -> dict[FormProblem, Sequence[Form]]:
    """Return the forms of problems for a target, heaviest first; on a CPU, none of kinds that take little of the time.

    Args:
        problems: the problems with their shares of the time.
        target: a target with its intrinsics.
    """
    forms: dict[FormProblem, Sequence[Form]] = {}
    # Entries for dynamic sizes match static ones, too, and come last.
    for problem in sorted(problems, key=lambda own: (_is_dynamic(own), -problems[own])):
        with suppress(NoFormError):
            forms[problem] = forms_of(problem, target)
    shares = dict.fromkeys(map(type, forms), 0.0)
    for problem in forms:
        shares[type(problem)] += problems[problem]
    least = _LEAST_SHARE if target.backend == _CPU else 0.0
    return {problem: own for problem, own in forms.items() if shares[type(problem)] >= least}


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
        case Depthwise():
            if target.backend != _CPU:
                raise NoFormError(f"depthwise convolutions have a form for {_CPU} only")
            return shifted_sums(problem)
        case Attention() if target.backend == _CPU:
            if _is_dynamic(problem):
                raise NoFormError("it has dynamic sizes")
            return attention_products(problem)
        case Attention():
            return padded_attentions(problem, target)
        case BroadcastMatmul():
            return [FoldedBatch(problem)]
        case Contraction():
            return padded_contractions(problem, target)
