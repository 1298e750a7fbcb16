"""The candidates of a problem."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from iree.compiler import ir as mlir
from processes import eventually
from programs import TARGETS
from tuning_programs import (
    ATTENTION,
    CONVOLUTION,
    MASKED_ATTENTION,
    ONE_IMAGE,
    REDUCTION,
    matmul,
    prepared,
    whole_samples,
)

from tuninglink.solver import DEFAULT_LIMITS, Grade, Verdict
from tuninglink.spaces import EVERYTHING, SelectionError, SpaceSelection, broken_rules
from tuninglink.spaces.model import Configuration, FixedKnob
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateOrigin,
    DrawingProcesses,
    draw_evenly,
)
from tuninglink.tuning.search import FIRST_CANDIDATES, search_named

CASES = [
    (matmul(8, 256, 512), "llvm-cpu"),
    (REDUCTION, "llvm-cpu"),
    (CONVOLUTION, "llvm-cpu"),
    (matmul(128, 256, 512, "f16"), "cuda"),
    (matmul(128, 256, 512, "f16"), "hip"),
]


@pytest.mark.parametrize(("source", "target"), CASES)
def test_the_default_is_a_candidate(source: str, target: str) -> None:
    default = prepared(source, target).spaces.default
    assert default.origin is CandidateOrigin.DEFAULT
    assert default.pipeline in default.configuration


def test_the_default_of_a_matmul_is_in_the_space() -> None:
    spaces = prepared(matmul(8, 256, 512), "llvm-cpu").spaces
    assert spaces.default.knobs["vector_common_parallel[0]"] > 1
    assert spaces.candidate(spaces.default.pipeline, spaces.default.knobs) is not None


@pytest.mark.parametrize(("source", "target"), CASES)
def test_a_sample_is_spread_over_the_spaces(source: str, target: str) -> None:
    spaces = prepared(source, target).spaces
    found = spaces.sample(12, seed=1)
    assert 1 <= len(found) <= 12
    assert len({each.key for each in found}) == len(found)
    assert {each.origin for each in found} == {CandidateOrigin.SPACE}
    assert found == spaces.sample(12, seed=1)


def test_what_is_proven_invalid_is_no_candidate() -> None:
    # The compiler's own constraints accept tiles that threads cannot share evenly.
    task = prepared(matmul(96, 160, 480, "f16"), "cuda")
    spaces, context = task.spaces, task.dispatch.root.context
    compilers = [each for each in spaces.spaces if not each.is_sufficient]
    own = [each for each in spaces.spaces if each.is_sufficient]

    def is_refuted(info: mlir.Attribute) -> bool:
        configuration = Configuration(info.lowering_config, info.translation_info)
        judges = [each for each in own if each.constraints.pipeline == str(configuration.pipeline)]
        return bool(broken_rules(judges, configuration, Grade.NECESSARY))

    accepted = [
        space.compilation_info(each)
        for space in compilers
        for each in space.constraints.sample(12, 0)
    ]
    assert any(map(is_refuted, accepted))
    texts = [each.configuration for each in spaces.sample(24, 0)]
    assert not any(is_refuted(mlir.Attribute.parse(each, context)) for each in texts)


def test_what_other_spaces_do_not_try_is_no_candidate() -> None:
    # The compiler's own constraints promote operands that tiles do not divide, which takes 20 s to compile.
    spaces = prepared(matmul(49, 888, 888, "f16"), "cuda").spaces
    own = [each for each in spaces.spaces if each.is_sufficient]
    compilers = [each for each in spaces.spaces if not each.is_sufficient]

    def is_slow(info: mlir.Attribute) -> bool:
        configuration = Configuration(info.lowering_config, info.translation_info)
        judges = [each for each in own if each.constraints.pipeline == str(configuration.pipeline)]
        return bool(broken_rules(judges, configuration, Grade.SLOW, Grade.HEURISTIC))

    accepted = [
        space.compilation_info(each)
        for space in compilers
        for each in space.constraints.sample(12, 0)
    ]
    assert any(map(is_slow, accepted))
    sample = spaces.sample(24, 0)
    context = prepared(matmul(49, 888, 888, "f16"), "cuda").dispatch.root.context
    assert sample
    assert not any(is_slow(mlir.Attribute.parse(one.configuration, context)) for one in sample)


@pytest.mark.parametrize(("source", "target"), CASES[:1] + CASES[3:])
def test_neighbors_differ_in_one_or_two_knobs(source: str, target: str) -> None:
    spaces = prepared(source, target).spaces
    neighbors = spaces.neighbors(spaces.default)
    assert neighbors
    changes = []
    for each in neighbors:
        known = spaces.spaces[each.space].constraints
        assert known.check(each.knobs).violations == ()
        old = spaces.default.knobs
        changes.append(sum(old[name] != value for name, value in each.knobs.items()))
    assert set(changes) <= {1, 2}
    assert changes == sorted(changes)


def test_all_steps_of_one_knob_are_neighbors() -> None:
    spaces = prepared(matmul(8, 256, 512), "llvm-cpu").spaces
    start = spaces.sample(4, seed=0)[0]
    constraints = spaces.spaces[start.space].constraints
    neighbors = [neighbor.knobs for neighbor in spaces.neighbors(start)]
    for knob in constraints.knobs:
        for step in {start.knobs[knob.name] * 2, start.knobs[knob.name] // 2}:
            changed = {**start.knobs, knob.name: step}
            if changed != start.knobs and not constraints.check(changed).violations:
                assert changed in neighbors


def test_neighbors_break_the_heuristics_that_the_default_breaks() -> None:
    # The compiler's vector tile of 7 for 28 is not a power of two.
    source = ONE_IMAGE.replace("18x18", "30x30").replace("16x16x32", "28x28x32")
    spaces = prepared(source, "llvm-cpu").spaces
    tile = spaces.default.knobs["vector_common_parallel[2]"]
    constraints = spaces.spaces[spaces.default.space].constraints
    assert constraints.broken_heuristics(spaces.default.knobs)
    neighbors = spaces.neighbors(spaces.default)
    assert any(each.knobs["vector_common_parallel[2]"] == tile for each in neighbors)
    assert all(constraints.check(each.knobs).verdict is Verdict.PROVEN for each in neighbors)


def test_what_no_space_speaks_of_has_no_neighbors() -> None:
    spaces = prepared(matmul(8, 256, 512), "llvm-cpu").spaces
    assert spaces.candidate("#iree_cpu.pipeline<DoubleTilingExpert>", {"strange": 1}) is None


def test_problems_say_what_is_added_up() -> None:
    assert prepared(matmul(8, 256, 512), "llvm-cpu").spaces.problem.reduction == 512
    assert prepared(CONVOLUTION, "llvm-cpu").spaces.problem.reduction == 3 * 3 * 16


RAGGED = matmul(333, 640, 320, "f16").replace("xf32>", "xf16>").replace("f32", "f16")
"""A matmul in half precision of whose assignments code generation refuses many."""

UNDECIDED = CONVOLUTION.replace("f32", "f16")
"""A convolution for which one of the spaces for GPUs does not determine valid configurations."""


@pytest.mark.parametrize("source", [RAGGED, UNDECIDED])
@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_a_bad_draw_or_an_undecided_space_loses_no_other(source: str, target: str) -> None:
    with whole_samples():
        spaces = prepared(source, target).spaces
        assert len(spaces.sample(20, seed=0)) > 8


NCHW_POINTWISE = """
func.func @main(%image: tensor<8x64x16x32xf16>, %filter: tensor<128x64xf16>) -> tensor<8x128x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x128x16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x128x16x32xf32>) -> tensor<8x128x16x32xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(b, f, h, w, c) -> (b, c, h, w)>, affine_map<(b, f, h, w, c) -> (f, c)>,
                       affine_map<(b, f, h, w, c) -> (b, f, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<8x64x16x32xf16>, tensor<128x64xf16>) outs(%start : tensor<8x128x16x32xf32>) {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %wide = arith.extf %x : f16 to f32
    %high = arith.extf %y : f16 to f32
    %product = arith.mulf %wide, %high : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<8x128x16x32xf32>
  return %result : tensor<8x128x16x32xf32>
}
"""


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_candidates_that_are_known_to_be_miscompiled_are_left_out(target: str) -> None:
    task = prepared(NCHW_POINTWISE, target)
    assert "mma_kind" in task.spaces.default.configuration  # the compiler's choice is wrong on cuda
    assert bool(task.spaces.default_fault) == (target == "cuda")
    sample = task.spaces.sample(24, seed=1)
    assert sample
    has_intrinsics = any("mma_kind" in candidate.configuration for candidate in sample)
    assert has_intrinsics == (target == "hip")


@pytest.mark.parametrize("source", [matmul(64, 64, 64), REDUCTION])
def test_candidates_for_vulkan_are_in_its_own_pipelines(source: str) -> None:
    sample = prepared(source, "vulkan").spaces.sample(12, seed=1)
    assert len(sample) > 4
    assert all("spirv_pipeline" in candidate.pipeline for candidate in sample)


@pytest.mark.parametrize("source", [ATTENTION, MASKED_ATTENTION])
def test_all_candidates_for_an_attention_have_intrinsics_or_lanes(source: str) -> None:
    sample = prepared(source, "hip").spaces.sample(12, seed=1)
    assert sample
    assert all(candidate.decomposition for candidate in sample)


def test_a_draw_in_another_process_is_the_same() -> None:
    task = prepared(REDUCTION, "cuda")
    with DrawingProcesses(TARGETS["cuda"], [(draw_evenly, 6, 1)]) as process:
        fresh = prepared.__wrapped__(REDUCTION, "cuda")
        fresh.spaces.make = lambda *_: pytest.fail("drawn here")
        spaces = process.prepare(task.task, {}, EVERYTHING, lambda: fresh).spaces
        assert eventually(lambda: spaces.is_drawn(6, 1))
        assert spaces.sample(6, seed=1) == task.spaces.sample(6, seed=1)


def test_what_a_model_expects_is_found_in_the_other_process() -> None:
    source = matmul(384, 768, 3072, "f16")
    task = prepared(source, "cuda")
    first = [(draw, FIRST_CANDIDATES, 1) for draw in search_named("model").first_draws]
    with DrawingProcesses(TARGETS["cuda"], first) as process:
        fresh = prepared.__wrapped__(source, "cuda")
        fresh.spaces.make = lambda *_: pytest.fail("made here")
        spaces = process.prepare(task.task, {}, EVERYTHING, lambda: fresh).spaces
        assert eventually(lambda: spaces.is_drawn(FIRST_CANDIDATES, 1))
        found = [spaces.made(*each) for each in first]
    assert found == [task.spaces.made(*each) for each in first]
    assert all(found)


def begun_elsewhere(outcome: list[Candidate] | Exception | None) -> list[Candidate]:
    """Return a sample whose draw in another process had an outcome; None if it waits for other draws."""
    spaces = prepared.__wrapped__(REDUCTION, "cuda").spaces
    job: Future = Future()
    if isinstance(outcome, Exception):
        job.set_exception(outcome)
    elif outcome is not None:
        job.set_result(outcome)
    spaces.draw_elsewhere(lambda _draw, _n, _seed: job, {})
    spaces.begin_sample(4, seed=0)
    return spaces.sample(4, seed=0)


def test_a_draw_that_was_begun_elsewhere_is_taken() -> None:
    drawn = [prepared(REDUCTION, "cuda").spaces.default]
    assert begun_elsewhere(drawn) == drawn


def test_a_draw_that_fails_elsewhere_is_made_here() -> None:
    assert len(begun_elsewhere(RuntimeError("the process is gone"))) == 4


def test_a_draw_that_waits_for_others_elsewhere_is_made_here() -> None:
    assert len(begun_elsewhere(None)) == 4


def test_a_knob_can_be_fixed_to_a_divisor_that_only_heuristics_exclude() -> None:
    # The compiler's choice may violate heuristics, and its neighbors then do, too.
    (space,) = prepared(matmul(60, 128, 64), "llvm-cpu").spaces.spaces
    assert all(sample["distribution[0]"] != 30 for sample in space.constraints.sample(50, 0))
    (fixed,) = SpaceSelection(fixed=(FixedKnob("distribution[0]", "30"),)).of([space])
    samples = list(fixed.constraints.sample(8, 0))
    assert {sample["distribution[0]"] for sample in samples} == {30}
    for sample in samples:
        answer = space.check(sample, DEFAULT_LIMITS)
        assert {violation.grade for violation in answer.violations} == {Grade.HEURISTIC}
    with pytest.raises(SelectionError, match="cannot be 33"):
        SpaceSelection(fixed=(FixedKnob("distribution[0]", "33"),)).of([space])
    # Python converts no number of so many digits.
    for name in ("distribution[0]", "enable_loop_peeling"):
        with pytest.raises(SelectionError, match="cannot be 999"):
            SpaceSelection(fixed=(FixedKnob(name, "9" * 5000),)).of([space])
