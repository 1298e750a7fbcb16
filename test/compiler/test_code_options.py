"""Options of code generation: each changes the code, and is read back from what it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from places import ROOT
from programs import TARGETS
from tuning_programs import compiler_for, matmul, prepared

from tuninglink.programs import Benchmark
from tuninglink.spaces import SelectionError, SpaceSelection
from tuninglink.spaces.model import FixedKnob

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate, PreparedTask

MATMUL = (ROOT / "examples" / "mmt_2048x1280x5120.mlir").read_text()
ATTENTION = (ROOT / "examples" / "attention_8x512x64.mlir").read_text()
WAVES = "amdgpu-waves-per-eu"
DENORMALS = "iree_codegen.denormal_fp_math_f32"
BANKS = "no_reduce_shared_memory_bank_conflicts"


@pytest.fixture(scope="module")
def product() -> PreparedTask:
    return prepared(MATMUL, "hip")


@pytest.fixture(scope="module")
def attention() -> PreparedTask:
    return prepared(ATTENTION, "hip")


def read_knobs(text: str) -> dict[str, int]:
    """Return knobs from words such as `workgroup[0]=64`."""
    pairs = (word.split("=") for word in text.split())
    return {name: int(value) for name, value in pairs}


VECTOR_DISTRIBUTE = read_knobs(
    "mma_kind=0 workgroup[0]=64 subgroup_basis[0]=1 workgroup[1]=320 subgroup_basis[1]=5 reduction[2]=160 workgroup_size=320 "
    "subgroup_size=64 prefetch_num_stages=2 promote_operands=1"
)
TILE_AND_FUSE = read_knobs(
    "mma_kind=0 workgroup[0]=128 workgroup[1]=160 subgroup[0]=2 subgroup[1]=5 reduction[2]=5 "
    "subgroup_size=64 workgroup_size[0]=512 workgroup_size[1]=1 workgroup_size[2]=1 prefetch_num_stages=2"
)
ATTENTION_KNOBS = read_knobs(
    "workgroup[0]=1 workgroup[1]=64 workgroup[2]=32 reduction[4]=128 subgroup_basis[1]=4 subgroup_basis[2]=2 qk_attrs.mma_kind=2 pv_attrs.mma_kind=0 "
    "workgroup_size=512 subgroup_size=64 prefetch_num_stages=3"
)


def candidate_of(task: PreparedTask, pipeline: str, knobs: dict[str, int]) -> Candidate:
    """Return the candidate with some knobs."""
    candidate = task.spaces.candidate(f"#iree_gpu.pipeline<{pipeline}>", knobs)
    assert candidate is not None
    return candidate


def changed(candidate: Candidate, variant: Candidate) -> dict[str, int]:
    """Return the options in which a variant differs."""
    return {
        name: value for name, value in variant.knobs.items() if candidate.knobs.get(name) != value
    }


@pytest.mark.parametrize(
    ("name", "pipeline", "knobs", "options"),
    [
        (
            "product",
            "VectorDistribute",
            VECTOR_DISTRIBUTE,
            [WAVES, BANKS, "reorder_workgroups_strategy"],
        ),
        ("product", "TileAndFuse", TILE_AND_FUSE, [BANKS, "workgroup_reordering_strategy"]),
        (
            "attention",
            "VectorDistribute",
            ATTENTION_KNOBS,
            [DENORMALS, BANKS, "reorder_workgroups_strategy"],
        ),
    ],
)
def test_each_option_changes_the_code(
    name: str,
    pipeline: str,
    knobs: dict[str, int],
    options: list[str],
    request: pytest.FixtureRequest,
) -> None:
    task: PreparedTask = request.getfixturevalue(name)
    candidate = candidate_of(task, pipeline, knobs)
    variants = task.spaces.variants(candidate)
    compiler = compiler_for(TARGETS["hip"])
    outcomes = {
        option.key: compiler.submit(task.template, option, 120.0).result()
        for option in (candidate, *variants)
    }
    images = {
        key: outcome.image for key, outcome in outcomes.items() if isinstance(outcome, Benchmark)
    }
    assert len(images) == len(outcomes), outcomes
    offered, changing = set(), set()
    for variant in variants:
        offered |= changed(candidate, variant).keys()
        if images[variant.key] != images[candidate.key]:
            changing |= changed(candidate, variant).keys()
    assert offered == {WAVES, *options}
    # The product in TileAndFuse and the attention leave so many registers free that the code is the same.
    assert changing == {*options}


def test_variants_are_found_by_their_knobs_and_have_neighbors(product: PreparedTask) -> None:
    candidate = candidate_of(product, "VectorDistribute", VECTOR_DISTRIBUTE)
    waves = next(each for each in product.spaces.variants(candidate) if each.knobs.get(WAVES) == 2)
    assert 'llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}' in waves.configuration
    again = product.spaces.candidate(waves.pipeline, waves.knobs)
    assert again is not None
    assert again.key == waves.key
    neighbors = product.spaces.neighbors(waves)
    assert neighbors
    assert all(neighbor.knobs[WAVES] == 2 for neighbor in neighbors)
    assert candidate.key in {each.key for each in product.spaces.variants(waves)}


def test_a_fixed_option_is_in_all_candidates() -> None:
    selection = SpaceSelection(fixed=(FixedKnob(WAVES, "4"), FixedKnob("workgroup[0]", "64")))
    task = prepared(MATMUL, "hip", selection=selection)
    sampled = task.spaces.sample(20, 0)
    assert sampled
    assert all(each.knobs[WAVES] == 4 and each.knobs["workgroup[0]"] == 64 for each in sampled)
    assert all('"amdgpu-waves-per-eu" = "4"' in each.configuration for each in sampled)


def test_a_value_that_an_option_does_not_have_is_refused() -> None:
    with pytest.raises(SelectionError, match="cannot be 3") as caught:
        prepared(MATMUL, "hip", selection=SpaceSelection(fixed=(FixedKnob(WAVES, "3"),)))
    assert "possible values: 1, 2, 4" in str(caught.value.diagnostics[0].notes[0])


def test_processors_have_no_such_options() -> None:
    task = prepared(matmul(64, 64, 64), "llvm-cpu")
    assert not task.spaces.variants(task.spaces.default)
