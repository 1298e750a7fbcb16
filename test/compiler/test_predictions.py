"""Predicted configurations in compilations, explanations and initial specs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from places import ROOT

import tuninglink
from tuninglink.cli.page_output import render
from tuninglink.compiler import (
    ExplanationFormat,
    SpecChoice,
    compilation as compilations,
    executable_target,
)
from tuninglink.compiler.application import Application
from tuninglink.compiler.compilation import configured_executables
from tuninglink.compiler.targets import compile_flags
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, thread_context
from tuninglink.plain_data import plain
from tuninglink.predicting import GainModel, model_for, predictions
from tuninglink.programs import read_program
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import CACHE_VARIABLE, load_spec, provenance_of
from tuninglink.tuning.candidates import prepare
from tuninglink.tuning.problems import program_of, read_words
from tuninglink.tuning.search import model_search, search_named

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import Compilation
    from tuninglink.compiler.session import Session

MATMUL = ROOT / "examples" / "matmul_128x768x768.mlir"
LIBRARY = "library:predicted"
TO_TARGETS = "--compile-to=executable-targets"
CONVOLUTION = b"""
#image = affine_map<(b, n, h, w, k) -> (b, k, h, w)>
#filter = affine_map<(b, n, h, w, k) -> (n, k)>
#result = affine_map<(b, n, h, w, k) -> (b, n, h, w)>
func.func @one(%image: tensor<8x64x56x56xf16>, %filter: tensor<256x64xf16>) -> tensor<8x256x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x256x56x56xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x256x56x56xf32>) -> tensor<8x256x56x56xf32>
  %result = linalg.generic {indexing_maps = [#image, #filter, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<8x64x56x56xf16>, tensor<256x64xf16>) outs(%init : tensor<8x256x56x56xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %left = arith.extf %a : f16 to f32
    %right = arith.extf %b : f16 to f32
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<8x256x56x56xf32>
  return %result : tensor<8x256x56x56xf32>
}
"""
"""A 1x1 convolution that the compiler miscompiles for sm_80, see `docs/background/wrong-defaults.md`."""


def model(feature: str, gain: float, margin: float) -> GainModel:
    """Return a model that expects a gain of candidates with a larger feature, and as much loss of the others."""
    document = {
        "format": "tuninglink.prediction",
        "version": 1,
        "provenance": {"cores": 3},
        "margin": margin,
        "forms": {f"contraction, k, m, n, {element}": 0.0 for element in ("f16", "f32")},
        "names": [feature],
        "columns": [0, -1, -1],
        "values": [50, round(-100 * gain), round(100 * gain)],
    }
    return GainModel.load(json.dumps(document).encode())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path / "predictions"


@pytest.fixture
def certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a model that expects configurations with more accumulators to be twice as fast, at least 1.74 times."""
    use(monkeypatch, model("change accumulators", gain=1.0, margin=0.2))


def use(monkeypatch: pytest.MonkeyPatch, chosen: GainModel) -> None:
    def model_for(target: Target) -> GainModel | None:
        return chosen if target.name in ("znver4", "sm_80") else None

    monkeypatch.setattr(predictions, "model_for", model_for)


def compiled(
    program: object = MATMUL, target: str = "znver4", specs: object = LIBRARY
) -> tuple[Compilation, list[str]]:
    said: list[str] = []
    compilation = tuninglink.compile(
        program,  # type: ignore[arg-type]
        specs=specs,  # type: ignore[arg-type]
        target=target,
        flags=TO_TARGETS,
        diagnostics=DiagnosticSink(lambda each: said.append(str(each))),
    )
    return compilation, said


@pytest.mark.usefixtures("certain")
def test_a_prediction_takes_effect() -> None:
    compilation, said = compiled()
    assert said == []
    (applied,) = compilation.applied
    assert (applied.spec, applied.is_own) == (LIBRARY, True)
    assert applied.entry
    provenance = provenance_of(applied.entry.anatomy.table, applied.entry.matcher)
    assert provenance["source"] == "predicted"
    assert (provenance["expected_speedup"], provenance["least_speedup"]) == (2.0, 1.741)
    assert compilation.output != compiled(specs=())[0].output


def test_an_uncertain_gain_is_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, model("change accumulators", gain=1.0, margin=1.2))
    compilation, said = compiled()
    assert compilation.applied == ()
    (remark,) = said
    assert remark == f"remark: '{LIBRARY}' configured nothing: no configuration certainly gains"
    assert compilation.output == compiled(specs=())[0].output
    written = tuninglink.init_spec(MATMUL, target="znver4", predict=True)
    (left,) = written.left_out
    assert left.reason == "no gain is certain; the best: 2.00 times as fast, at least 0.87"


def test_other_targets_are_left_alone() -> None:
    compilation, said = compiled(target="gfx942")
    (remark,) = (each for each in said if "predicted" in each)
    assert remark.startswith(
        "remark: nothing is predicted for gfx942: there is no model for it; known: "
    )
    assert "x86_64-avx512" in remark
    assert compilation.output == compiled(target="gfx942", specs=())[0].output


@pytest.mark.usefixtures("certain")
def test_predictions_are_cached(cache: Path) -> None:
    compiled()
    (file,) = cache.iterdir()
    answer = json.loads(file.read_bytes())
    file.write_text(json.dumps({**answer, "expected": 9.0}))
    explained = tuninglink.explain(MATMUL, specs=LIBRARY, target="znver4")
    (operation,) = explained.dispatches[0].operations
    assert operation.match
    gain = "9.00 times as fast as the compiler's choice, at least 1.74, on 3 threads"
    assert operation.match.expected_gain == gain
    assert f"predicted          {gain}" in render(explained, ExplanationFormat.TABLE, None)
    assert plain(explained)["dispatches"][0]["operations"][0]["match"]["expected_gain"] == gain
    # A damaged file is replaced.
    file.write_text("{")
    compiled()
    assert json.loads(file.read_bytes()) == answer


HEADS = b"""
func.func @heads(%x: tensor<384x12x64xf16>, %bias: tensor<12x64xf16>) -> tensor<12x384x64xf16> {
  %empty = tensor.empty() : tensor<12x384x64xf16>
  %result = linalg.generic {indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (h, d)>,
      affine_map<(t, h, d) -> (h, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<384x12x64xf16>, tensor<12x64xf16>) outs(%empty : tensor<12x384x64xf16>) {
  ^bb0(%element: f16, %one: f16, %out: f16):
    %sum = arith.addf %element, %one : f16
    linalg.yield %sum : f16
  } -> tensor<12x384x64xf16>
  return %result : tensor<12x384x64xf16>
}
"""


def test_what_computes_element_by_element_is_predicted_on_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = model("change thread results", gain=1.0, margin=0.2)
    use(monkeypatch, replace(chosen, forms={"elementwise, parallel, parallel, parallel, f16": 0.0}))
    compilation, _ = compiled(HEADS, target="sm_80")
    assert [applied.is_own for applied in compilation.applied] == [True]
    assert compiled(HEADS)[0].applied == ()
    # The entry is written, too.
    written = tuninglink.init_spec(HEADS, target="sm_80", predict=True)
    assert len(load_spec(written.text.encode()).entries) == 1
    assert written.left_out == ()


def test_lanes_of_predictions_can_add_up_the_sums_of_subgroups() -> None:
    flags = tuple(compile_flags(Target.parse("sm_80")))
    words = ("attention 64x257x257x64 f16", "matmul 1x4096x4096 f16 transpose_b")
    shipped = model_for(Target.parse("sm_80"))
    assert shipped is not None
    program = read_program(program_of(map(read_words, words)).encode(), flags)
    for task in program.tasks:
        spaces = prepare(task, flags, (), ProviderRegistry(lambda _: None), {}).spaces
        ranked = predictions.climb(spaces, shipped)
        assert len(ranked) > 50
        found = {(one.candidate.space, *one.candidate.knobs.items()) for one in ranked}
        assert len(found) == len(ranked)
        for knobs in (scored.candidate.knobs for scored in ranked):
            for loop in re.findall(r"partial_reduction\[(\d+)\]", " ".join(knobs)):
                subgroups = knobs.get(f"subgroup_basis[{loop}]", 1)
                assert subgroups <= knobs.get(f"lane_basis[{loop}]", 1)


STRIDED = """
func.func @strided(%image: tensor<8x{inputs}x28x28xf16>, %filters: tensor<1024x{inputs}xf16>)
    -> tensor<8x1024x14x14xf32> attributes {{hal.executable.target = {target}}} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x1024x14x14xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1024x14x14xf32>) -> tensor<8x1024x14x14xf32>
  %sum = linalg.generic {{indexing_maps = [affine_map<(n, f, h, w, c) -> (n, c, h * 2, w * 2)>,
      affine_map<(n, f, h, w, c) -> (f, c)>, affine_map<(n, f, h, w, c) -> (n, f, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}}
      ins(%image, %filters : tensor<8x{inputs}x28x28xf16>, tensor<1024x{inputs}xf16>)
      outs(%init : tensor<8x1024x14x14xf32>) {{
  ^bb0(%pixel: f16, %weight: f16, %out: f32):
    %lhs = arith.extf %pixel : f16 to f32
    %rhs = arith.extf %weight : f16 to f32
    %product = arith.mulf %lhs, %rhs : f32
    %next = arith.addf %out, %product : f32
    linalg.yield %next : f32
  }} -> tensor<8x1024x14x14xf32>
  return %sum : tensor<8x1024x14x14xf32>
}}"""
"""A 1x1 convolution with strides in a dispatch of ResNet-50, which IREE 3.13 computes wrongly with 512 input channels."""


@pytest.mark.parametrize(("inputs", "is_wrong"), [(256, False), (512, True)])
def test_a_strided_convolution_of_resnet_is_replaced(inputs: int, *, is_wrong: bool) -> None:
    target = executable_target(compile_flags(Target.parse("sm_80")), thread_context())
    function = STRIDED.format(target=target, inputs=inputs)
    prediction = predictions.decide(
        predictions.Question(function, (("compilation_info", WITH_LANES),))
    )
    assert bool(prediction.fault) == is_wrong
    # One thread for each result is right, and 600 times as fast, also where the default is right.
    chosen = prediction.attributes["compilation_info"]
    assert "TileAndFuse" in chosen
    tiles = re.search(r"workgroup = \[([\d, ]+)\]", chosen)
    assert tiles
    sizes = zip(tiles[1].split(", "), (8, 1024, 14, 14, inputs), strict=True)
    assert all(int(tile) <= size for tile, size in sizes)


WITH_LANES = (
    "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 1, 32], "
    "[0, 1, 2, 3, 4]], partial_reduction = [0, 0, 0, 0, 256], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 2, 3, 4]], "
    "thread = [0, 0, 0, 0, 8], workgroup = [1, 1, 1, 1, 0]}>, translation_info = <pipeline = "
    "#iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = "
    "#iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>>"
)
"""A warp for each element, the compiler's choice."""


SUMS = """
func.func @{name}(%lhs: tensor<128x768xf32>, %rhs: tensor<768x768xf32>, %bias: tensor<128x768xf32>) -> tensor<128x768xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x768xf32>) -> tensor<128x768xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<128x768xf32>, tensor<768x768xf32>)
    outs(%init : tensor<128x768xf32>) -> tensor<128x768xf32>
  %result = linalg.elementwise <{after}> ins(%product, %bias : tensor<128x768xf32>, tensor<128x768xf32>)
    outs(%empty : tensor<128x768xf32>) -> tensor<128x768xf32>
  return %result : tensor<128x768xf32>
}}"""
"""A product, and an op that is fused with it."""


@pytest.mark.usefixtures("certain")
def test_dispatches_with_one_root_op_share_a_prediction_or_have_none(cache: Path) -> None:
    program = "".join(SUMS.format(name=after, after=after) for after in ("add", "sub")).encode()
    compilation, _ = compiled(program)
    assert len({applied.dispatch for applied in compilation.applied}) == 2
    file, _ = cache.iterdir()
    kept = {"attributes": {}, "reason": "no gain is certain"}
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **kept}))
    compilation, _ = compiled(program)
    assert compilation.applied == ()
    assert compilation.output == compiled(program, specs=())[0].output
    written = tuninglink.init_spec(program, target="znver4", predict=True)
    (left,) = written.left_out
    assert left.reason == "other dispatches with the same op keep the compiler's choice"
    assert len(left.dispatches) == 2


BESIDE = """
func.func @alone(%lhs: tensor<128x768xf32>, %rhs: tensor<768x768xf32>, %sum: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %product = linalg.matmul ins(%lhs, %rhs : tensor<128x768xf32>, tensor<768x768xf32>)
    outs(%sum : tensor<128x768xf32>) -> tensor<128x768xf32>
  return %product : tensor<128x768xf32>
}
func.func @beside(%lhs: tensor<128x768xf32>, %rhs: tensor<768x768xf32>, %sum: tensor<128x768xf32>)
    -> (tensor<128x768xf32>, tensor<64x64xf32>) {
  %result:2 = flow.dispatch.region -> (tensor<128x768xf32>, tensor<64x64xf32>) {
    %product = linalg.matmul ins(%lhs, %rhs : tensor<128x768xf32>, tensor<768x768xf32>)
      outs(%sum : tensor<128x768xf32>) -> tensor<128x768xf32>
    %rows = tensor.extract_slice %lhs[0, 0] [64, 96] [1, 1] : tensor<128x768xf32> to tensor<64x96xf32>
    %columns = tensor.extract_slice %rhs[0, 0] [96, 64] [1, 1] : tensor<768x768xf32> to tensor<96x64xf32>
    %zeros = tensor.extract_slice %sum[0, 0] [64, 64] [1, 1] : tensor<128x768xf32> to tensor<64x64xf32>
    %root = linalg.matmul ins(%rows, %columns : tensor<64x96xf32>, tensor<96x64xf32>)
      outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
    flow.return %product, %root : tensor<128x768xf32>, tensor<64x64xf32>
  }
  return %result#0, %result#1 : tensor<128x768xf32>, tensor<64x64xf32>
}"""
"""A product that is a root op, and stands beside one."""


@pytest.mark.usefixtures("certain")
def test_an_entry_does_not_reach_an_op_beside_a_root_op() -> None:
    compilation = tuninglink.compile(
        BESIDE.encode(),
        specs=LIBRARY,
        target="znver4",
        flags="--compile-to=executable-configurations",
    )
    assert all("alone" not in applied.dispatch for applied in compilation.applied)
    written = tuninglink.init_spec(BESIDE.encode(), target="znver4", predict=True)
    reasons = {left.dispatches[0].partition("_")[0]: left.reason for left in written.left_out}
    assert reasons["@alone"] == "other dispatches with the same op keep the compiler's choice"
    # Nothing else keeps it from having an entry.
    alone = BESIDE[: BESIDE.index("func.func @beside")]
    assert tuninglink.init_spec(alone.encode(), target="znver4", predict=True).left_out == ()


TURNED = """
#lhs = affine_map<(n, m, k) -> (m, k)>
#rhs = affine_map<(n, m, k) -> (k, n)>
#result = affine_map<(n, m, k) -> (m, n)>
func.func @turned(%lhs: tensor<128x768xf32>, %rhs: tensor<768x768xf32>, %sum: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %product = linalg.generic {indexing_maps = [#lhs, #rhs, #result], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%lhs, %rhs : tensor<128x768xf32>, tensor<768x768xf32>) outs(%sum : tensor<128x768xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %one = arith.mulf %a, %b : f32
    %next = arith.addf %c, %one : f32
    linalg.yield %next : f32
  } -> tensor<128x768xf32>
  return %product : tensor<128x768xf32>
}"""
"""The product of `BESIDE` with its loops in another order."""


@pytest.mark.usefixtures("certain")
def test_no_entries_are_derived_from_predictions(cache: Path) -> None:
    alone = BESIDE[: BESIDE.index("func.func @beside")]
    compiled(alone.encode())
    known = set(cache.iterdir())
    program = (alone + TURNED).encode()
    compilation, _ = compiled(program)
    assert len(compilation.applied) == 2
    (new,) = set(cache.iterdir()) - known
    kept = {"attributes": {}, "reason": "no gain is certain"}
    new.write_text(json.dumps({**json.loads(new.read_bytes()), **kept}))
    (applied,) = compiled(program)[0].applied
    assert "alone" in applied.dispatch
    # An entry without the mark of a prediction is also for the other spelling.
    written = tuninglink.init_spec(alone.encode(), target="znver4", predict=True).text
    own = written.replace('source = "predicted"', 'source = "by hand"')
    assert [len(compiled(program, specs=text.encode())[0].applied) for text in (written, own)] == [
        1,
        2,
    ]


def test_failures_are_reasons_and_not_cached(cache: Path) -> None:
    for count in (1, 3):
        broken = {predictions.Question(f"no function {number}", ()): "" for number in range(count)}
        for answer in predictions.predictions(broken).values():
            assert answer.reason.startswith("it cannot be predicted: ")
    assert not cache.exists()


def spoil(cache: Path) -> None:
    """Let the prediction for a product be a configuration that the compiler accepts, and has no code for."""
    (file,) = cache.iterdir()
    answer = json.loads(file.read_bytes())
    (text,) = answer["attributes"].values()
    tiles = "vector_common_parallel = [128, 768, 0], vector_reduction = [0, 0, 16]"
    spoiled = re.sub(r"vector_common_parallel = .*?, vector_reduction = \[.*?\]", tiles, text)
    spoiled = re.sub(r"distribution = \[.*?\]", "distribution = [128, 768, 0]", spoiled)
    assert spoiled != text
    file.write_text(json.dumps({**answer, "attributes": {"compilation_info": spoiled}}))


@pytest.mark.usefixtures("certain")
def test_a_failing_prediction_is_left_out_and_not_made_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    spoil(cache)
    calls: list[bytes] = []

    def counted(session: Session, program: bytes) -> bytes:
        calls.append(program)
        return configured_executables(session, program)

    monkeypatch.setattr(compilations, "configured_executables", counted)
    compilation, said = compiled()
    (warning,) = said
    assert "is skipped in @matmul_dispatch_0" in warning
    assert compilation.applied == ()
    assert compilation.output == compiled(specs=())[0].output
    assert len(calls) == 1


@pytest.mark.usefixtures("certain")
def test_a_failing_prediction_is_left_out_of_a_written_spec(cache: Path) -> None:
    compiled()
    spoil(cache)
    program = MATMUL.read_bytes() + TURNED.encode()
    written = tuninglink.init_spec(program, target="znver4", predict=True)
    (left,) = written.left_out
    assert left.dispatches == ("@matmul_dispatch_0::@embedded_elf_x86_64",)
    assert left.reason.startswith("it does not compile with its prediction: ")
    (applied,) = compiled(program, specs=written.text.encode())[0].applied
    assert "turned" in applied.dispatch


@pytest.mark.usefixtures("certain")
def test_variants_of_an_executable_fail_together() -> None:
    (applied,) = compiled()[0].applied
    written = tuninglink.init_spec(MATMUL, target="znver4").text.encode()
    made = replace(load_spec(written), maker="predicted")
    application = Application(SpecChoice([made]), print)
    application.applied.append(applied)
    executable = applied.dispatch.partition("::")[0]
    assert application.only_made([applied.dispatch, f"{executable}::@other"])
    assert not application.only_made([applied.dispatch, "@other::@variant"])


@pytest.mark.usefixtures("certain")
def test_an_earlier_spec_decides() -> None:
    written = tuninglink.init_spec(MATMUL, target="znver4").text.encode()
    compilation, _ = compiled(specs=[written, LIBRARY])
    assert [applied.position for applied in compilation.applied] == [0]
    assert compilation.output == compiled(specs=())[0].output


@pytest.mark.usefixtures("certain")
def test_a_written_prediction_is_a_spec() -> None:
    written = tuninglink.init_spec(MATMUL, target="znver4", predict=True)
    assert written.left_out == ()
    assert (
        "// Expected: 2.00 times as fast as the compiler's choice, at least 1.74, on 3 threads."
        in written.text
    )
    (spec,) = tuninglink.check(written.text.encode(), target="znver4").specs
    assert not [each for each in spec.diagnostics() if each.severity.value == "error"]
    assert compiled(specs=written.text.encode())[0].output == compiled()[0].output


def test_a_wrong_default_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler's choice is replaced, although all others are expected to be slower."""
    use(monkeypatch, model("no feature", gain=1.0, margin=0.0))
    compilation, _ = compiled(CONVOLUTION, "sm_80")
    (applied,) = compilation.applied
    assert applied.is_own
    assert applied.entry
    provenance = provenance_of(applied.entry.anatomy.table, applied.entry.matcher)
    assert provenance["expected_speedup"] == 0.5
    assert provenance["wrong_default"]


def test_a_wrong_default_is_replaced_by_one_without_copies_of_its_second_operand() -> None:
    # No intrinsic divides 49. Padded copies of operand 1 read beyond its end; masked ones take 20 to 200 times as long.
    words = read_words("batch_matmul 1536x49x32x49 f16")
    spec = tuninglink.init_spec(program_of([words]).encode(), target="sm_80", predict=True)
    (configuration,) = re.findall(r"#iree_gpu.lowering_config<{[^}]*}>", spec.text)
    assert "NV_MMA" in configuration
    assert re.search(r"promote_operands = \[0?\]", configuration)


def test_many_problems_are_predicted_by_workers(cache: Path) -> None:
    """The shipped model, as a user has it."""
    sizes = ((64, 96, 128), (32, 64, 96), (128, 64, 32))
    functions = "".join(
        f"""
func.func @product{m}(%lhs: tensor<{m}x{k}xf32>, %rhs: tensor<{k}x{n}xf32>,
                      %sum: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %product = linalg.matmul ins(%lhs, %rhs : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
    outs(%sum : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %product : tensor<{m}x{n}xf32>
}}"""
        for m, n, k in sizes
    )
    compiled(functions.encode())
    answers = [json.loads(file.read_bytes()) for file in cache.iterdir()]
    assert len(answers) == 3
    for answer in answers:
        assert bool(answer["attributes"]) == (answer["reason"] == "")
        assert "cannot be predicted" not in answer["reason"]


def test_a_search_climbs_from_other_pipelines_on_a_gpu(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another pipeline than the compiler's choice has, which is expected to be faster, gets starts of its own."""
    flags = tuple(compile_flags(Target.parse("sm_80")))
    program = cache / "half.mlir"
    program.parent.mkdir()
    program.write_text(MATMUL.read_text().replace("f32", "f16"))
    (task,) = read_program(str(program), flags).tasks
    spaces = prepare(task, flags, [], ProviderRegistry(lambda _: None), {}).spaces
    drawn = {one.key: one for one in spaces.sample(400, 0)}
    others = {one.pipeline for one in drawn.values()} - {spaces.default.pipeline}
    other = model(f"pipeline {min(others)}", gain=1.0, margin=0.0)
    monkeypatch.setattr(model_search, "model_for", lambda _: other)
    search = search_named("model")(spaces, 0, None)
    # The draw has some left: no further one begins.
    asked = search.ask(len(drawn) - 8)
    assert asked[0].pipeline in others
    # Those that were not drawn are neighbors of the compiler's choice, or were reached.
    new = [one for one in asked if one.key not in drawn]
    assert {one.pipeline for one in new} - {spaces.default.pipeline}


def test_a_search_begins_with_what_a_climb_by_the_model_reaches() -> None:
    """The shipped model, on the space of a real dispatch: drawn candidates are expected to gain less."""
    flags = tuple(compile_flags(Target.parse("znver4")))
    (task,) = read_program(str(MATMUL), flags).tasks
    spaces = prepare(task, flags, [], ProviderRegistry(lambda _: None), {}).spaces
    model = model_for(Target.parse("znver4"))
    assert model
    first, drawn = search_named("model")(spaces, 0, None).ask(8)[:4], spaces.sample(400, 0)
    assert all(one.space == spaces.default.space for one in first)
    assert not {one.key for one in first} <= {one.key for one in drawn}
    reached, evenly = (
        model.gains(spaces.problem, spaces.default, some).expected for some in (first, drawn)
    )
    assert reached.max() > evenly.max()
