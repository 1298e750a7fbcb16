"""The spaces for Vulkan: the compiler's choices are in them, their configurations compile, and refuted ones do not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import pytest
from gpu_programs import matmul
from iree.compiler import ir as mlir
from mlir_function import Function
from tuning_programs import CONVOLUTION
from verdict_programs import FORMS
from verdict_trials import TARGETS, Trials

from tuninglink.iree import SPIRV_LEVELS, read_tile_levels
from tuninglink.solver import Grade, UndecidedError, Verdict
from tuninglink.spaces import AllowedValues, ProviderRegistry, knob_values, pipeline_name
from tuninglink.spaces.model import read_configuration

if TYPE_CHECKING:
    from tuninglink.spaces import ConfigurationAnswer
    from tuninglink.spaces.model import Space

WIDE: Final = matmul(128, 128, 256)
NARROW: Final = matmul(64, 96, 128, "f32")
ODD: Final = matmul(197, 320, 16)
ROWS: Final = """
func.func @sums(%rows: tensor<256x2048xf32>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256xf32>) -> tensor<256xf32>
  %sums = linalg.reduce { arith.addf } ins(%rows : tensor<256x2048xf32>)
    outs(%start : tensor<256xf32>) dimensions = [1]
  return %sums : tensor<256xf32>
}
"""
BATCHED: Final = """
func.func @batched(%lhs: tensor<32x48x256xf16>, %rhs: tensor<32x256x64xf16>) -> tensor<32x48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48x64xf32>) -> tensor<32x48x64xf32>
  %sums = linalg.batch_matmul ins(%lhs, %rhs : tensor<32x48x256xf16>, tensor<32x256x64xf16>)
    outs(%start : tensor<32x48x64xf32>) -> tensor<32x48x64xf32>
  return %sums : tensor<32x48x64xf32>
}
"""
ADDED: Final = "%r = add %0, %1 : T"
DEQUANTIZED: Final = """
func.func @dequantized(%rows: tensor<96x4x32xf16>, %nibbles: tensor<64x4x32xi4>, %scales: tensor<64x4xf16>) -> tensor<96x64xf32> {
  %wide = tensor.empty() : tensor<64x4x32xf16>
  %weights = linalg.generic {
      indexing_maps = [affine_map<(n, g, k) -> (n, g, k)>, affine_map<(n, g, k) -> (n, g)>, affine_map<(n, g, k) -> (n, g, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%nibbles, %scales : tensor<64x4x32xi4>, tensor<64x4xf16>) outs(%wide : tensor<64x4x32xf16>) {
  ^bb0(%nibble: i4, %scale: f16, %out: f16):
    %value = arith.sitofp %nibble : i4 to f16
    %weight = arith.mulf %value, %scale : f16
    linalg.yield %weight : f16
  } -> tensor<64x4x32xf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %sums = linalg.generic {
      indexing_maps = [affine_map<(m, n, g, k) -> (m, g, k)>, affine_map<(m, n, g, k) -> (n, g, k)>, affine_map<(m, n, g, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%rows, %weights : tensor<96x4x32xf16>, tensor<64x4x32xf16>) outs(%start : tensor<96x64xf32>) {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %a = arith.extf %x : f16 to f32
    %b = arith.extf %y : f16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<96x64xf32>
  return %sums : tensor<96x64xf32>
}
"""


def trials(source: str, gpu: str) -> Trials:
    return Trials.of(source, TARGETS[f"vulkan-{gpu}"])


def registry() -> ProviderRegistry:
    return ProviderRegistry(lambda _: None, entry_points=tuple)


def spaces(subject: Trials) -> dict[str, Space]:
    """Return the space in each pipeline that has one."""
    result = {}
    for pipeline in SPIRV_LEVELS:
        try:
            found = registry().spaces(subject.workload, pipeline)
        except UndecidedError:
            continue
        result |= {pipeline_name(pipeline): space for space in found}
    return result


def configured(
    subject: Trials, pipeline: str, levels: str, translation: str
) -> ConfigurationAnswer:
    """Configure a root op, and return the verdict."""
    context = subject.workload.root.context
    levels = f"#iree_codegen.lowering_config<tile_sizes = {levels}>"
    translation = f"pipeline = #iree_gpu.spirv_pipeline<{pipeline}> {translation}"
    subject.workload.root.attributes["lowering_config"] = mlir.Attribute.parse(levels, context)
    subject.workload.function.attributes["translation_info"] = mlir.Attribute.parse(
        f"#iree_codegen.translation_info<{translation}>", context
    )
    answer = subject.judge(registry())
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("source", "gpu", "pipeline"),
    [
        (WIDE, "rdna3", "CooperativeMatrixVectorize"),
        (WIDE, "rtx4090", "CooperativeMatrixVectorize"),
        (WIDE, "valhall", "BaseVectorize"),
        (NARROW, "pascal", "MatmulPromoteVectorize"),
        (ODD, "rdna3", "BaseVectorize"),
        (CONVOLUTION, "adreno", "BaseDistribute"),
        (ROWS, "adreno", "SubgroupReduce"),
        (ROWS, "valhall", "BaseVectorize"),
    ],
)
def test_the_compilers_choice_is_valid_in_a_space(source: str, gpu: str, pipeline: str) -> None:
    subject = trials(source, gpu)
    configuration = read_configuration(subject.workload.root, subject.workload.function)
    assert configuration is not None
    assert pipeline_name(str(configuration.pipeline)) == pipeline
    answer = subject.judge(registry())
    assert answer is not None
    assert (answer.verdict, answer.severity) == (Verdict.PROVEN, None)
    space = spaces(subject)[pipeline]
    values = space.assignment(configuration)
    written = space.compilation_info(values)
    assert written.translation_info == configuration.translation_info
    written_levels = read_tile_levels(written.lowering_config)
    levels = read_tile_levels(configuration.lowering_config)
    assert written_levels is not None
    assert levels is not None
    for position, level in enumerate(levels):
        for loop, size in enumerate(level):
            shown = written_levels[position][loop : loop + 1] or (0,)
            assert size in (0, *shown)  # 0 is the whole loop


@pytest.mark.parametrize(
    ("source", "gpu"),
    [(WIDE, "rdna3"), (NARROW, "adreno"), (CONVOLUTION, "valhall"), (ROWS, "rtx4090")],
)
def test_sampled_configurations_compile(source: str, gpu: str) -> None:
    subject = trials(source, gpu)
    tried = 0
    for space in spaces(subject).values():
        for assignment in space.constraints.sample(1, seed=3):
            subject.configure(space, assignment)
            assert subject.compile().error == ""
            tried += 1
    assert tried >= 2


REFUTED: Final = [
    # The pipelines of products read the stages of the software pipeline.
    ("MatmulPromoteVectorize", "[[64, 32, 16]]", "workgroup_size = [8, 8, 1]"),
    # Threads along y alone are taken for x.
    ("MatmulPromoteVectorize", "[[64, 64, 16]]", "workgroup_size = [1, 16, 1], STAGES"),
    # Shared memory.
    ("MatmulPromoteVectorize", "[[128, 128, 128]]", "workgroup_size = [16, 16, 1], STAGES"),
    (
        "CooperativeMatrixVectorize",
        "[[128, 128], [64, 64], [0, 0, 128], [16, 16, 16]]",
        "workgroup_size = [64, 2, 1] subgroup_size = 32, STAGES",
    ),
    # Tiles that divide nothing.
    (
        "CooperativeMatrixVectorize",
        "[[64, 64], [32, 32], [0, 0, 48], [16, 16, 16]]",
        "workgroup_size = [64, 2, 1] subgroup_size = 32, STAGES",
    ),
    # Parts of a matrix.
    (
        "CooperativeMatrixVectorize",
        "[[64, 64], [32, 32], [0, 0, 8], [16, 16, 16]]",
        "workgroup_size = [64, 2, 1] subgroup_size = 32, STAGES",
    ),
]


@pytest.mark.parametrize(("pipeline", "levels", "translation"), REFUTED)
def test_refuted_configurations_do_not_compile(
    pipeline: str, levels: str, translation: str
) -> None:
    subject = trials(WIDE, "rdna3")
    stages = "{pipeline_depth = 1 : i64, store_stage = 0 : i64}"
    answer = configured(subject, pipeline, levels, translation.replace("STAGES", stages))
    is_unread = "STAGES" not in translation
    assert answer.verdict is (Verdict.NOT_DECIDED if is_unread else Verdict.REFUTED)
    assert subject.compile().error


def test_a_tile_is_not_copied_beyond_its_dimension() -> None:
    subject = trials(matmul(48, 64, 256), "rdna3")
    levels = "[[48, 128], [48, 16], [0, 0, 64], [16, 16, 16]]"
    stages = "{pipeline_depth = 2 : i64, store_stage = 0 : i64}"
    threads = f"workgroup_size = [256, 1, 1] subgroup_size = 64, {stages}"
    answer = configured(subject, "CooperativeMatrixVectorize", levels, threads)
    assert answer.verdict is Verdict.NOT_DECIDED
    assert subject.compile().compiles


def test_a_step_beyond_the_reduction_is_all_of_it() -> None:
    subject = trials(matmul(48, 64, 64), "rdna3")
    levels = "[[48, 64], [48, 16], [0, 0, 65], [16, 16, 16]]"
    threads = "workgroup_size = [128, 1, 1] subgroup_size = 32, {pipeline_depth = 0 : i64, store_stage = 0 : i64}"
    answer = configured(subject, "CooperativeMatrixVectorize", levels, threads)
    assert answer.verdict is Verdict.NOT_DECIDED
    assert subject.compile().compiles


@pytest.mark.parametrize(("threads", "compiles"), [("2, 16, 1", True), ("2, 16, 2", False)])
def test_results_that_threads_do_not_share_evenly_are_exchanged(
    threads: str, *, compiles: bool
) -> None:
    """The elementwise op after the product reads them from shared memory."""
    function = Function("fused")
    lhs, rhs = (
        function.argument(128, 256, element="f16"),
        function.argument(128, 256, element="f16"),
    )
    sums = function.contraction("mk,nk->mn", lhs, rhs, "f32")
    bias = function.argument(128, element="f32")
    subject = trials(function.text(function.generic("mn,n->mn", sums, bias, body=ADDED)), "valhall")
    stages = "{pipeline_depth = 4 : i64, store_stage = 1 : i64}"
    translation = f"workgroup_size = [{threads}], {stages}"
    answer = configured(subject, "MatmulPromoteVectorize", "[[128, 64, 16]]", translation)
    assert answer.verdict is (Verdict.PROVEN if compiles else Verdict.NOT_DECIDED)
    assert subject.compile().compiles is compiles


@pytest.mark.parametrize(("groups", "compiles"), [(1, False), (2, True)])
def test_vectors_of_four_bits_are_valid_only_in_steps_of_several_groups(
    groups: int, *, compiles: bool
) -> None:
    subject = trials(DEQUANTIZED, "rdna3")
    levels = f"[[8, 2], [1, 1], [0, 0, {groups}, 4]]"
    answer = configured(subject, "BaseVectorize", levels, "workgroup_size = [2, 8, 1]")
    assert answer.verdict is (Verdict.PROVEN if compiles else Verdict.NOT_DECIDED)
    assert subject.compile().compiles is compiles


@pytest.mark.parametrize(("threads", "compiles"), [(64, True), (128, False)])
def test_threads_reduce_vectors_of_several_elements_of_four_bits(
    threads: int, *, compiles: bool
) -> None:
    subject = trials(DEQUANTIZED, "adreno")
    translation = f"workgroup_size = [{threads}, 1, 1]"
    answer = configured(subject, "SubgroupReduce", "[[1, 1], [0, 0, 4, 32]]", translation)
    assert answer.verdict is (Verdict.PROVEN if compiles else Verdict.NOT_DECIDED)
    assert subject.compile().compiles is compiles


@pytest.mark.parametrize(("step", "compiles"), [(4, False), (8, True)])
def test_vectors_of_f8_need_accesses_to_bytes(step: int, *, compiles: bool) -> None:
    subject = trials(FORMS["mixed"](random.Random("91101/mixed/0")), "adreno")
    levels = f"[[60, 32], [15, 4], [0, 0, {step}]]"
    answer = configured(subject, "BaseVectorize", levels, "workgroup_size = [8, 4, 1]")
    assert (answer.verdict is Verdict.PROVEN) is compiles
    assert subject.compile().compiles is compiles


@pytest.mark.parametrize(("groups", "compiles"), [(4, False), (2, True)])
def test_steps_of_groups_that_are_dequantized_need_accesses_to_bytes(
    groups: int, *, compiles: bool
) -> None:
    subject = trials(FORMS["dequantized"](random.Random("91103/dequantized/0")), "adreno")
    levels = f"[[64, 96], [32, 1], [0, 0, {groups}, 4]]"
    answer = configured(subject, "BaseVectorize", levels, "workgroup_size = [32, 2, 1]")
    assert (answer.verdict is Verdict.PROVEN) is compiles
    assert subject.compile().compiles is compiles


def test_operands_that_are_loaded_with_strides_are_not_decided() -> None:
    """Copies of them to shared memory are not legalized, also where the compiler chooses them."""
    subject = trials(FORMS["convolution"](random.Random("91104/convolution/0")), "rdna3")
    assert "CooperativeMatrixVectorize" not in spaces(subject)
    answer = subject.judge(registry())
    assert answer is not None
    assert answer.verdict is Verdict.NOT_DECIDED
    assert subject.compile().error


@pytest.mark.parametrize(("piece", "is_slow"), [("32, 24", True), ("8, 24", False)])
def test_many_vectors_of_results_may_take_minutes(piece: str, *, is_slow: bool) -> None:
    subject = trials(BATCHED, "valhall")
    levels = f"[[32, 48, 64], [{piece}, 1], [0, 0, 0, 2]]"
    threads = f"workgroup_size = [64, {2 if is_slow else 8}, 1]"
    answer = configured(subject, "BaseVectorize", levels, threads)
    slow = [str(rule) for rule in answer.violations if rule.grade is Grade.SLOW]
    assert any("vectors of results" in rule for rule in slow) is is_slow


def test_copies_of_an_unknown_stage_are_not_counted() -> None:
    subject = trials(matmul(320, 8192, 192), "adreno")
    stages = "{pipeline_depth = 3 : i64, store_stage = 2 : i64}"
    threads = f"workgroup_size = [2, 80, 1], {stages}"
    answer = configured(subject, "MatmulPromoteVectorize", "[[80, 64, 32]]", threads)
    assert answer.verdict is Verdict.NOT_DECIDED
    assert subject.compile().compiles


@pytest.mark.parametrize(
    ("element", "result", "gpu"), [("bf16", "f32", "valhall"), ("i8", "i32", "adreno")]
)
def test_choices_of_the_compiler_that_do_not_compile_are_refuted(
    element: str, result: str, gpu: str
) -> None:
    subject = trials(matmul(48, 48, 96, element, result=result), gpu)
    answer = subject.judge(registry())
    assert answer is not None
    assert answer.verdict is Verdict.REFUTED
    assert subject.compile().error
    assert "MatmulPromoteVectorize" not in spaces(subject)
    space = spaces(subject)["BaseVectorize"]
    subject.configure(space, space.constraints.sample(1, seed=1)[0])
    assert subject.compile().error == ""


def test_what_does_not_run_is_discouraged() -> None:
    subject = trials(ROWS, "rdna3")
    whole = configured(subject, "SubgroupReduce", "[[1], [0, 64]]", "workgroup_size = [16, 1, 1]")
    assert "whole subgroups" in str(whole)
    large = configured(
        subject, "BaseVectorize", "[[64], [1], [0, 4]]", "workgroup_size = [64, 32, 1]"
    )
    assert "at most 1024 threads" in str(large)


def test_intrinsics_of_other_types_and_shapes_are_no_cooperative_matrices() -> None:
    assert "CooperativeMatrixVectorize" not in spaces(trials(NARROW, "rdna3"))
    brain = trials(matmul(128, 128, 256, "bf16"), "rdna3")
    assert "CooperativeMatrixVectorize" not in spaces(brain)
    ada = spaces(trials(WIDE, "rtx4090"))["CooperativeMatrixVectorize"]
    (matrix,) = (knob for knob in ada.constraints.knobs if knob.name == "matrix")
    assert getattr(matrix, "options", ()) == ("[16, 16, 16]",)


def test_other_backends_have_no_space_in_these_pipelines() -> None:
    workload = Trials.of(WIDE, TARGETS["sm_80"]).workload
    for pipeline in SPIRV_LEVELS:
        with pytest.raises(UndecidedError, match="the target does not build"):
            registry().spaces(workload, pipeline)


def test_knobs_have_the_names_of_levels() -> None:
    subject = trials(NARROW, "pascal")
    workload = subject.workload
    configuration = read_configuration(workload.root, workload.function)
    assert configuration is not None
    values = knob_values(configuration)
    assert {"workgroup[0]", "workgroup[1]", "reduction[2]", "pipeline_depth"} <= values.keys()
    allowed = AllowedValues(workload, configuration, registry())
    assert allowed.reason == ""
    assert allowed.by_place["reduction[2]"][0] == values["reduction[2]"]
