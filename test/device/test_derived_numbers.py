"""What derived entries configure computes the right numbers."""

from __future__ import annotations

import numpy as np
import pytest
from iree import runtime
from problem_forms import (
    BATCH_KN,
    BATCH_NK,
    HEADS,
    KN,
    NK,
    SCALE_F32,
    TARGETS,
    K,
    M,
    N,
    attention,
    attention_entry,
    linear,
    linear_entry,
    reordered_linear,
    spec,
)

import tuninglink

TARGET = TARGETS["llvm-cpu"]


@pytest.fixture(scope="module")
def module() -> runtime.BoundModule:
    source = "".join(
        (
            linear("batch_nk", BATCH_NK, "f32"),
            linear("batch_kn", BATCH_KN, "f32"),
            reordered_linear("reordered", "f32"),
            attention("attention", SCALE_F32, "f32"),
        )
    )
    content = spec(
        linear_entry("nk", NK, TARGET),
        linear_entry("kn", KN, TARGET),
        attention_entry("attention", TARGET),
    )
    result = tuninglink.compile(
        source.encode(), specs=[content], default_specs=False, flags=TARGET.flags
    )
    assert [bool(each.derivation) for each in result.applied] == [True] * 4
    return runtime.load_vm_flatbuffer(result.output, driver="local-sync")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


def test_a_unit_batch_and_other_loops_give_the_same_product(module: runtime.BoundModule) -> None:
    lhs, rhs = numbers(M, K), numbers(N, K)
    expected = lhs @ rhs.T
    batched = module.batch_nk(lhs[None], rhs[None]).to_host()
    np.testing.assert_allclose(batched[0], expected, rtol=1e-4, atol=1e-4)
    batched = module.batch_kn(lhs[None], rhs.T.copy()[None]).to_host()
    np.testing.assert_allclose(batched[0], expected, rtol=1e-4, atol=1e-4)
    reordered = module.reordered(lhs, rhs).to_host()
    np.testing.assert_allclose(reordered, expected, rtol=1e-4, atol=1e-4)


def test_attention_with_other_loops_is_right(module: runtime.BoundModule) -> None:
    query, key, value = (numbers(HEADS, M, K) + shift for shift in (0.0, 0.1, 0.2))
    scores = 0.125 * query @ key.transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = (weights / weights.sum(axis=-1, keepdims=True)) @ value
    result = module.attention(query, key, value).to_host()
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)
