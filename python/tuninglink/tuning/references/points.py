"""Comparison of some elements of outputs with NumPy's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.tuning.devices.inputs import patterns, perturbed_patterns
from tuninglink.tuning.devices.numerics import Expected, tolerance
from tuninglink.tuning.programs.compiled_program import element_type
from tuninglink.tuning.references.point_values import PointEvaluator
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError
from tuninglink.tuning.references.stored_tensors import DrawnInputs
from tuninglink.tuning.results import OutputSample

if TYPE_CHECKING:
    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.programs.benchmark import BufferLayout

_POINTS: Final = 128
"""The number of elements per output computed with NumPy: half of them where two results differ most."""

_END_POINTS: Final = 4
"""The number of elements at the end of each dimension of an output."""


@dataclass(frozen=True)
class PointQuestion:
    """A request to evaluate some elements with NumPy.

    Attributes:
        source: the benchmark of a dispatch at `executable-sources`.
        layout: the layout of its buffer.
        actual: the contents of bindings written by a kernel.
        reference: the outputs of a reference, by `StoredTensor.key`; empty without one.
        summation: the tolerance of sums; see `summation_error`.
        seed: the seed of the inputs and of the choice of elements.
    """

    source: bytes
    layout: BufferLayout
    actual: Mapping[int, Bytes]
    reference: Mapping[tuple[int, int], Bytes]
    summation: float
    seed: int


@dataclass(frozen=True)
class PointComparison:
    """Elements of one output from three computations.

    Attributes:
        binding: the binding of the output.
        positions: the positions of the elements.
        actual: the judged result.
        reference: the reference; None if there is none.
        exact: the values from NumPy.
        tolerance: the tolerance of each element.
    """

    binding: int
    positions: tuple[tuple[int, ...], ...]
    actual: np.ndarray
    reference: np.ndarray | None
    exact: np.ndarray
    tolerance: np.ndarray

    def agrees(self, values: np.ndarray) -> bool:
        """Return whether values equal NumPy's within the tolerance."""
        with np.errstate(invalid="ignore"):
            near = np.abs(values - self.exact) <= self.tolerance
        return bool(
            np.all(near | (values == self.exact) | (np.isnan(values) & np.isnan(self.exact)))
        )

    def samples(self) -> tuple[OutputSample, ...]:
        """Return the elements with the largest errors."""
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(self.actual - self.exact), nan=np.inf)
        worst = np.argsort(-off, kind="stable")[:10]
        return tuple(
            OutputSample(
                self.binding, self.positions[n], float(self.actual[n]), float(self.exact[n])
            )
            for n in worst
        )


def compare_points(question: PointQuestion) -> list[PointComparison] | str:
    """Compute some elements of each output with NumPy; return them, or the reason why that is impossible."""
    layout, evaluators = question.layout, []
    try:
        for is_reversed, contents in enumerate(
            (patterns(layout, question.seed), perturbed_patterns(layout, question.seed))
        ):
            module = mlir.Module.parse(question.source, thread_context())
            inputs = DrawnInputs(contents)
            evaluators.append(
                PointEvaluator(module.operation, layout, inputs, is_reversed=bool(is_reversed))
            )
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
    chosen = _chosen(actual, other, output.shape, question.seed)
    index = np.unravel_index(chosen, output.shape) if output.shape else ()
    exact, moved = (
        np.broadcast_to(
            evaluator.at(evaluator.outputs[number].value, index).astype(np.float64), chosen.shape
        )
        for evaluator in evaluators
    )
    expected = Expected(_stored(exact, dtype), _stored(moved, dtype))
    allowed = tolerance(part, expected, question.summation)
    # Values that depend on the order of the loops are inconclusive.
    allowed[np.isnan(moved) & ~np.isnan(exact)] = np.inf
    return PointComparison(
        output.target.binding,
        tuple(zip(*(part.tolist() for part in index), strict=True)) if index else ((),),
        actual[chosen],
        None if other is None else other[chosen],
        exact,
        allowed,
    )


def _chosen(
    actual: np.ndarray, other: np.ndarray | None, shape: tuple[int, ...], seed: int
) -> np.ndarray:
    """Return positions of elements: where two results differ most, at the ends of all dimensions, and at random."""
    random = np.random.default_rng(seed)
    anywhere = random.integers(0, len(actual), _POINTS // 2)
    worst: Any = []
    if other is not None:
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(actual - other), nan=np.inf)
        worst = np.argpartition(-off, min(_POINTS // 2, len(off) - 1))[: _POINTS // 2]
    ends = [np.array([0, len(actual) - 1])]
    for dimension, size in enumerate(shape):  # code for partial tiles is the most error-prone
        index = [random.integers(0, limit, _END_POINTS) for limit in shape]
        index[dimension] = np.full(_END_POINTS, size - 1)
        ends.append(np.ravel_multi_index(index, shape))
    return np.unique(np.concatenate([anywhere, worst, *ends]).astype(np.int64))


def _stored(values: np.ndarray, dtype: np.dtype) -> Bytes:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)
