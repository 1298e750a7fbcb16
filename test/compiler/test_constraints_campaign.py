"""Verdicts that once contradicted the compiler, one for each rule that mended them (test/campaigns/verdicts.py)."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from cpu_dispatches import DOUBLE_TILING
from gpu_programs import attention, matmul
from mlir_function import Function
from model_programs import rms_norm
from verdict_trials import TARGETS, Trials

from tuninglink.solver.answers import Verdict
from tuninglink.spaces.cpu.provider import CpuProvider
from tuninglink.spaces.gpu.provider import TILE_AND_FUSE, VECTOR_DISTRIBUTE, GpuProvider
from tuninglink.spaces.registry import ProviderRegistry

CONVOLUTION_EXPERT = "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>"
_FUNCTION = Function("normalized")
NORMALIZED = _FUNCTION.text(rms_norm(_FUNCTION, 64, 4096, "f16"))
INTRINSIC, PADDED, THREADS = 0, 1, -1
"""Which of the spaces of TileAndFuse."""


@dataclass(frozen=True)
class Case:
    """A configuration.

    Attributes:
        source: the program.
        target: what it is compiled for.
        pipeline: the pipeline.
        knobs: the values of knobs that matter; others have those of a valid configuration.
        verdict: what is to be said of it.
        compiles: what the compiler says.
        space: which space of the pipeline.
    """

    source: str
    target: str
    pipeline: str
    knobs: dict[str, int] = field(hash=False)
    verdict: Verdict
    compiles: bool
    space: int = INTRINSIC


def of_dimensions(prefix: str, *tiles: int) -> dict[str, int]:
    return {f"{prefix}_{loop}": tile for loop, tile in enumerate(tiles)}


CASES = {
    "more of an outer dimension than there is": Case(
        matmul(48, 48, 16, batch=4),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 1, 48, 16) | of_dimensions("sg", 2, 3, 1) | {"red_3": 1},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "an outer tile larger than its dimension": Case(
        matmul(48, 48, 32, batch=4),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 8, 16, 16) | of_dimensions("sg", 0, 1, 1) | {"red_3": 1},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "a tile of more rows than there are": Case(
        matmul(300, 192, 64, "f32"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 608, 32)
        | of_dimensions("sg", 19, 1)
        | {"red_2": 1, "mma_idx": 0, "promoted": 2, "wg_size_x": 128},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "steps that do not divide the reduction": Case(
        matmul(512, 1024, 100, "i8", result="i32"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 128, 512)
        | of_dimensions("sg", 4, 8)
        | {"red_2": 1, "mma_idx": 1, "promoted": 1, "wg_size_x": 128},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "two steps ahead of threads that copy nothing": Case(
        matmul(512, 384, 128),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 64, 2)
        | of_dimensions("thread", 2, 2)
        | {"red_2": 8, "promoted": 0, "wg_size_x": 32, "prefetch_num_stages": 3},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=THREADS,
    ),
    "two steps ahead of threads that copy unequal parts": Case(
        matmul(320, 197, 512, transposed=True),
        "gfx1100",
        TILE_AND_FUSE,
        of_dimensions("wg", 288, 416)
        | of_dimensions("pad", 288, 416, 16)
        | {"sg_0": 9, "sg_1": 2, "red_2": 1, "mma_idx": 0, "promoted": 0}
        | {"wg_size_x": 832, "prefetch_num_stages": 3},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED,
    ),
    "a tile beyond a dimension that intrinsics divide": Case(
        matmul(96, 128, 192, batch=3),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("wg", 3, 96, 129)
        | of_dimensions("sg", 0, 6, 1)
        | {"red_3": 3, "mma_idx": 0, "promoted": 3, "wg_size_x": 512},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "a tile of keys that is rounded up": Case(
        attention(2, 1024, 128, 128, 320),
        "gfx1100",
        VECTOR_DISTRIBUTE,
        of_dimensions("wg", 1, 64, 64)
        | {"red_4": 40, "sg_m_cnt": 4, "sg_n_cnt": 1, "wg_size_x": 128}
        | {"qk_mma_idx": 1, "pv_mma_idx": 1},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "what another op wants of a single step": Case(
        NORMALIZED,
        "gfx942",
        VECTOR_DISTRIBUTE,
        {"wg_0": 16, "sg_0_cnt": 4, "lane_0_cnt": 1, "thread_0": 1, "wg_size_x": 512}
        | {"red_1": 4096, "sg_1_cnt": 2, "lane_1_cnt": 64, "thread_1": 8},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "a single iteration of an unknown number": Case(
        matmul(128, 128, 320, "bf16", batch=3),
        "aarch64",
        DOUBLE_TILING,
        of_dimensions("distribution", 2, 4, 32)
        | of_dimensions("vector_common_parallel", 1, 2, 32)
        | {"vector_reduction_3": 64},
        Verdict.REFUTED,
        compiles=False,
    ),
    "a reduction level that tiles a parallel loop": Case(
        matmul(64, 256, 16),
        "aarch64",
        CONVOLUTION_EXPERT,
        of_dimensions("distribution", 64, 128)
        | of_dimensions("vector_common_parallel", 8, 128)
        | {"vector_reduction_0": 1, "vector_reduction_2": 2},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
}


def registry() -> ProviderRegistry:
    return ProviderRegistry(pytest.fail, own=[GpuProvider(), CpuProvider()], entry_points=list)


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_agrees_with_the_compiler(name: str) -> None:
    case = CASES[name]
    trials = Trials.of(case.source, TARGETS[case.target])
    space = registry().spaces(trials.workload, case.pipeline)[case.space]
    valid, *_ = space.constraints.sample(1, seed=1)
    rest = {knob: 0 for knob in valid if knob.startswith(("distribution", "cache", "vector"))}
    trials.configure(space, {**valid, **rest, **case.knobs})
    answer = trials.judge(registry())
    assert answer is not None
    assert (answer.verdict, trials.compile().compiles) == (case.verdict, case.compiles), answer


def test_the_compilers_choice_for_many_columns_is_valid() -> None:
    trials = Trials.of(matmul(1, 256, 4096, transposed=True), TARGETS["gfx942"])
    answer = trials.judge(registry())
    assert answer is not None
    assert answer.verdict is Verdict.PROVEN


def test_copies_under_masks_are_limited() -> None:
    """Each thread reads them by rows, element by element, which takes minutes to compile."""
    trials = Trials.of(matmul(50, 48, 1024), TARGETS["gfx942"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[INTRINSIC]
    tiles = of_dimensions("wg", 64, 64) | of_dimensions("sg", 2, 2)
    assignment = {**tiles, "mma_idx": 0, "wg_size_x": 256, "sg_size": 64, "prefetch_num_stages": 0}
    for promoted, steps, is_limited in ((0, 2, False), (0, 16, True), (3, 16, False)):
        answer = space.constraints.check({**assignment, "promoted": promoted, "red_2": steps})
        found = [str(each) for each in answer.violations if "masked elements" in str(each)]
        assert bool(found) is is_limited


def test_copies_of_bytes_under_masks_are_limited_further() -> None:
    source = matmul(2048, 192, 40, "i8", result="i32", transposed=True)
    trials = Trials.of(source, TARGETS["gfx942"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[INTRINSIC]
    tiles = of_dimensions("wg", 32, 64) | of_dimensions("sg", 1, 2) | {"red_2": 1, "mma_idx": 1}
    assignment = {**tiles, "promoted": 2, "wg_size_x": 64, "sg_size": 64, "prefetch_num_stages": 2}
    answer = space.constraints.check(assignment)
    assert any("at most 512 masked elements" in str(each) for each in answer.violations)


def test_intrinsics_for_few_rows_are_not_for_attention() -> None:
    trials = Trials.of(attention(4, 64, 64, 96, 320), TARGETS["gfx942"])
    space = registry().spaces(trials.workload, VECTOR_DISTRIBUTE)[0]
    options = [
        option for knob in space.constraints.knobs for option in getattr(knob, "options", ())
    ]
    assert any("VMFMA" in each for each in options)
    assert not any("VDMFMA" in each for each in options)
