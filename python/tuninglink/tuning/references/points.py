"""Comparison of some elements of outputs with what NumPy computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.mlir.contexts import thread_context
from tuninglink.tuning.devices.inputs import make_inputs
from tuninglink.tuning.programs.element_types import element_type
from tuninglink.tuning.references.point_values import PointEvaluator
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError
from tuninglink.tuning.references.tolerance import (
    Expected,
    perturbed_inputs,
    tolerance,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.programs.benchmark import BufferLayout

_POINTS: Final = 128
"""Elements that are computed with NumPy, for each output: half of them where two results differ most."""


@dataclass(frozen=True)
class PointQuestion:
    """A question for NumPy.

    Attributes:
        source: the benchmark of a dispatch at `executable-sources`.
        layout: the buffer that it runs on.
        actual: what a kernel wrote to each binding.
        reference: what a reference stored, by `StoredTensor.key`; empty if there is none.
        summation: how far sums may be off; see `summation_error`.
        seed: the seed of the inputs, and of the choice of elements.
    """

    source: bytes
    layout: BufferLayout
    actual: Mapping[int, Bytes]
    reference: Mapping[tuple[int, int], Bytes]
    summation: float
    seed: int


@dataclass(frozen=True)
class PointComparison:
    """Elements of one output as three computations have them.

    Attributes:
        binding: the binding that it is stored to.
        positions: the positions of the elements.
        actual: the result that is judged.
        reference: the reference; None if there is none.
        exact: from NumPy.
        tolerance: how far from it an element may be off.
    """

    binding: int
    positions: tuple[tuple[int, ...], ...]
    actual: np.ndarray
    reference: np.ndarray | None
    exact: np.ndarray
    tolerance: np.ndarray

    def agrees(self, values: np.ndarray) -> bool:
        """Tells whether values are those of NumPy, within the tolerance."""
        with np.errstate(invalid="ignore"):
            near = np.abs(values - self.exact) <= self.tolerance
        return bool(
            np.all(near | (values == self.exact) | (np.isnan(values) & np.isnan(self.exact)))
        )

    def samples(self) -> tuple[tuple[int, tuple[int, ...], float, float], ...]:
        """Returns the elements that are the farthest off."""
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(self.actual - self.exact), nan=np.inf)
        worst = np.argsort(-off, kind="stable")[:10]
        return tuple(
            (self.binding, self.positions[n], float(self.actual[n]), float(self.exact[n]))
            for n in worst
        )


def compare_points(question: PointQuestion) -> list[PointComparison] | str:
    """Computes some elements of each output with NumPy; returns them, or why that is not possible."""
    layout, evaluators = question.layout, []
    try:
        for buffer in (
            make_inputs(layout, seed=question.seed),
            perturbed_inputs(layout, question.seed),
        ):
            inputs = {
                position: buffer[part.offset : part.offset + part.byte_length]
                for position, part in enumerate(layout.bindings)
            }
            module = mlir.Module.parse(question.source, thread_context())
            evaluators.append(PointEvaluator(module.operation, layout, inputs))
        count = len(evaluators[0].outputs)
        return [_compare_output(question, evaluators, number) for number in range(count)]
    except UnsupportedOperationError as failure:
        return f"{failure} is not evaluated"


def _compare_output(
    question: PointQuestion, evaluators: list[PointEvaluator], number: int
) -> PointComparison:
    output = evaluators[0].outputs[number]
    part = output.target.part
    dtype = element_type(part.element_type)
    assert dtype is not None
    actual = output.elements(output.target.content(question.actual))
    reference = question.reference.get(output.target.key)
    other = None if reference is None else output.elements(reference)
    chosen = _chosen(actual, other, question.seed)
    index = np.unravel_index(chosen, output.shape) if output.shape else ()
    exact, moved = (
        np.broadcast_to(
            evaluator.at(evaluator.outputs[number].value, index).astype(np.float64), chosen.shape
        )
        for evaluator in evaluators
    )
    expected = Expected(_stored(exact, dtype), _stored(moved, dtype))
    return PointComparison(
        output.target.binding,
        tuple(zip(*(part.tolist() for part in index), strict=True)) if index else ((),),
        actual[chosen],
        None if other is None else other[chosen],
        exact,
        tolerance(part, expected, question.summation),
    )


def _chosen(found: np.ndarray, other: np.ndarray | None, seed: int) -> np.ndarray:
    """Returns the positions of some elements: where two results differ most, at the ends, and at random."""
    random = np.random.default_rng(seed).integers(0, len(found), _POINTS // 2)
    worst: Any = []
    if other is not None:
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(found - other), nan=np.inf)
        worst = np.argpartition(-off, min(_POINTS // 2, len(off) - 1))[: _POINTS // 2]
    return np.unique(np.concatenate([random, worst, [0, len(found) - 1]]).astype(np.int64))


def _stored(values: np.ndarray, dtype: np.dtype) -> Bytes:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)
