"""Configured dispatches compute the right numbers in every form, whether it is derived or listed in a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from arriving_forms import CASES, Case, configured_by_stock, finished
from iree import runtime
from problem_forms import HEADS, K, M

import tuninglink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def derived(case: Case, _directory: Path) -> bytes:
    return tuninglink.compile(
        case.program, specs=[case.spec], default_specs=False, flags=case.target.flags
    ).output


def listed(case: Case, directory: Path) -> bytes:
    return finished(case, configured_by_stock(case, directory))


@pytest.mark.parametrize("name", ["llvm-cpu-f32", "llvm-cpu-f16"])
@pytest.mark.parametrize("compiled", [derived, listed])
def test_every_form_computes_the_right_numbers(
    name: str, compiled: Callable[[Case, Path], bytes], tmp_path: Path
) -> None:
    case = CASES[name]
    element = np.dtype({"f32": np.float32, "f16": np.float16}[case.element])
    module = runtime.load_vm_flatbuffer(compiled(case, tmp_path), driver="local-sync")
    random = np.random.default_rng(0)
    for form, arrival in case.arrivals.items():
        if arrival.product is not None:
            # Sums of small integers are exact in all types.
            *shapes, _ = arrival.product.shapes
            operands = [random.integers(-2, 3, shape).astype(element) for shape in shapes]
            result = module[form](*operands).to_host()
            np.testing.assert_array_equal(
                result, np.einsum(arrival.product.operands, *operands), form
            )
        else:
            factors = [random.standard_normal((HEADS, M, K)).astype(element) for _ in range(3)]
            result = module[form](*factors).to_host()
            expected = attention(*(factor.astype(np.float64) for factor in factors))
            np.testing.assert_allclose(result, expected, atol=2 * np.finfo(element).resolution)


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    scores = 0.125 * query @ key.transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ value
