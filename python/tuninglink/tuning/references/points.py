"""Comparison of some elements of outputs with NumPy's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.devices import Bytes, Expected, elements, patterns, tolerance
from tuninglink.mlir import collect, thread_context
from tuninglink.programs import (
    Access,
    BufferLayout,
    OutputSample,
    TuningTask,
    UnsupportedOperationError,
    element_type,
)
from tuninglink.tuning.references.evaluation import (
    STORE,
    PointEvaluator,
    StoredTensor,
    static_shape,
    static_slice,
    tensor_of,
)

_POINTS: Final = 128
"""The number of elements per output computed with NumPy: half of them where two results differ most."""

_END_POINTS: Final = 4
"""The number of elements at the end of each dimension of an output."""


@dataclass(frozen=True)
class PointComparison:
    """Elements of one output from three computations."""

    binding: int
    positions: tuple[tuple[int, ...], ...]
    actual: np.ndarray
    reference: np.ndarray | None
    exact: np.ndarray
    tolerance: np.ndarray

    def agrees(self, values: np.ndarray | None = None) -> bool:
        """Return whether values, by default the actual ones, equal NumPy's within the tolerance."""
        values = self.actual if values is None else values
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


def compare_points(
    task: TuningTask,
    outputs: Mapping[int, Bytes],
    reference: Mapping[tuple[int, int], Bytes],
    summation: float,
    seed: int,
) -> list[PointComparison] | str:
    """Compute some elements of each output with NumPy; return them, or the reason why that is impossible."""
    comparisons: list[PointComparison] = []
    try:
        # The second evaluation, of perturbed inputs with reversed loops, shows which differences are rounding.
        evaluators = [
            PointEvaluator(
                mlir.Module.parse(task.source, thread_context()).operation,
                task.layout,
                patterns(task.layout, seed, perturbed=perturbed),
                is_reversed=perturbed,
            )
            for perturbed in (False, True)
        ]
        stores = [collect(evaluator.function, STORE) for evaluator in evaluators]
        for pair in zip(*stores, strict=True):
            # The part of an output that is stored, and its elements to compute.
            value, destination = pair[0].operands
            target, shape = tensor_of(destination, task.layout), static_shape(value)
            offsets, sizes, strides = static_slice(pair[0])
            if math.prod(sizes) != math.prod(shape):
                raise UnsupportedOperationError("a store of another size")
            slices = zip(offsets, sizes, strides, strict=True)
            region = tuple(slice(at, at + (size - 1) * step + 1, step) for at, size, step in slices)
            contents = target.content(outputs), reference.get(target.key)
            actual, other = (
                None if content is None else _elements(target, region, content)
                for content in contents
            )
            assert actual is not None
            chosen = _chosen(actual, other, shape, seed)
            index = np.unravel_index(chosen, (1, *shape))[1:]
            exact, moved = (
                np.broadcast_to(evaluator.at(store.operands[0], index), chosen.shape).astype(
                    np.float64
                )
                for evaluator, store in zip(evaluators, pair, strict=True)
            )
            # Their tolerances; values that depend on the order of the loops are inconclusive.
            dtype = element_type(target.part.element_type)
            with np.errstate(over="ignore", invalid="ignore"):
                parts = (values.astype(dtype).view(np.uint8) for values in (exact, moved))
                stored = Expected(*parts)
                allowed = tolerance(target.part, stored, summation).limits(slice(None))
            allowed[np.isnan(moved) & ~np.isnan(exact)] = np.inf
            positions = tuple(zip(*(part.tolist() for part in index), strict=True)) or ((),)
            comparisons.append(
                PointComparison(
                    target.binding,
                    positions,
                    actual[chosen],
                    None if other is None else other[chosen],
                    exact,
                    allowed,
                )
            )
    except UnsupportedOperationError as failure:
        return f"{failure} is not evaluated"
    return comparisons


def _elements(target: StoredTensor, region: tuple[slice, ...], content: Bytes) -> np.ndarray:
    whole = elements(target.part, content)[: math.prod(target.part.shape)]
    return whole.reshape(target.part.shape)[region].astype(np.float64).reshape(-1)


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


def stored_tensors(source: bytes, layout: BufferLayout) -> list[StoredTensor]:
    """Return the tensors that a dispatch, at `executable-sources`, stores; whole bindings where their place is unknown."""
    module = mlir.Module.parse(source, thread_context())
    bindings = {
        number: StoredTensor(number, replace(binding, offset=0))
        for number, binding in enumerate(layout.bindings)
        if binding.access is not Access.READ
    }
    try:
        targets = [store.operands[1] for store in collect(module.operation, STORE)]
        tensors = dict.fromkeys(tensor_of(target, layout) for target in targets)
    except UnsupportedOperationError:
        return list(bindings.values())
    is_complete = {tensor.binding for tensor in tensors} == set(bindings)
    return list(tensors if is_complete else bindings.values())
