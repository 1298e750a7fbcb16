"""Stripping: nothing is left, and the compiler chooses as if nothing had been there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from iree.compiler import ir as mlir
from programs import (
    EXAMPLES,
    FROM_SOURCES,
    MARK_ROOT_OPS,
    PROGRAMS,
    TARGETS,
    Configured,
    configure,
    configured_functions,
    configured_programs,
    run,
    separate,
)

from tuninglink.errors import PipelineError
from tuninglink.mlir import DiagnosticSink, collect, names, visit
from tuninglink.passes.materialize_specs import MaterializeSpecs
from tuninglink.passes.strip_configs import ConfigurationKind, StripConfigs, strip_configurations

EXAMPLE = EXAMPLES / "mmt_2048x1280x5120.mlir"
USER_SPEC = "--iree-codegen-tuning-spec-path={}"


@pytest.fixture(autouse=True)
def context() -> Iterator[mlir.Context]:
    with mlir.Context() as context, mlir.Location.unknown():
        yield context


def parse(text: str) -> mlir.Operation:
    return mlir.Module.parse(text).operation


def fail(diagnostic: object) -> None:
    raise AssertionError(diagnostic)


def strip(module: mlir.Operation, *keep: str) -> None:
    StripConfigs(keep=keep).apply(module, DiagnosticSink(fail))
    assert module.verify()


def check_nothing_is_left(module: mlir.Operation) -> None:
    """Look for configurations in what is written, too: in attributes of attributes, for example."""
    text = str(module)
    for trace in (
        "lowering_config",
        "translation_info",
        "compilation_info",
        "root_op",
        "smt.",
        "qk_attrs",
        "pv_attrs",
        "tuning_spec_mlirbc",
        "tuning_spec_applied",
        "ukernel_descriptor",
    ):
        assert trace not in text


def reconfigure(module: mlir.Operation, *flags: str) -> list[Configured]:
    """Return the compiler's choices for executables at executable-sources."""
    return configured_functions(parse(configure(separate_if_split(module), FROM_SOURCES, *flags)))


def separate_if_split(module: mlir.Operation) -> str:
    parts = module.regions[0].blocks[0].operations
    return separate(module) if parts[0].operation.name == names.MODULE else str(module)


def effective(functions: list[Configured]) -> list[Configured]:
    """Leave out the annotations of specs that the compiler did not follow."""
    ignored = f": {names.COMPILATION_INFO} = "
    return [
        Configured(each.function, tuple(choice for choice in each.choices if ignored not in choice))
        for each in functions
    ]


@pytest.mark.parametrize("target", ["hip", "cuda", "llvm-cpu", "vmvx", "vulkan"])
def test_the_compiler_chooses_the_same_again(target: str) -> None:
    module = parse(configured_programs(target, MARK_ROOT_OPS))
    chosen = configured_functions(module)
    assert len(chosen) >= 69
    assert sum(bool(each.choices) for each in chosen) >= 67
    strip(module)
    check_nothing_is_left(module)
    assert reconfigure(module) == chosen


@pytest.mark.parametrize(("target", "spec"), [("hip", "gfx942"), ("llvm-cpu", "llvm_cpu")])
def test_after_a_spec_the_compiler_chooses_for_itself(target: str, spec: str) -> None:
    source = EXAMPLE.read_text()
    by_itself = configured_functions(parse(configure(source, *TARGETS[target])))
    flag = USER_SPEC.format(EXAMPLES / f"spec_{spec}.mlir")
    module = parse(configure(source, *TARGETS[target], flag))
    assert configured_functions(module) != by_itself
    strip(module)
    check_nothing_is_left(module)
    assert reconfigure(module) == by_itself


@pytest.mark.parametrize("target", ["cuda"])  # elsewhere the configuration is foreign
def test_embedded_specs_do_nothing_any_more(target: str) -> None:
    to_sources = ("--compile-to=executable-sources", "-o=-")
    source = run("iree-compile", *to_sources, *TARGETS[target], source=EXAMPLE.read_text())
    by_itself = reconfigure(parse(source))

    module = parse(source)
    spec = str(EXAMPLES / "spec_sm_80.mlir")
    embedding = MaterializeSpecs(specs=(spec,), default_specs=False)
    embedding.apply(module, DiagnosticSink(fail))
    assert "tuning_spec_mlirbc" in str(module)
    assert reconfigure(module) != by_itself
    strip(module)
    assert str(module) == str(parse(source))
    assert reconfigure(module) == by_itself


ATTENTION_SPEC = """
module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param, !transform.any_param) {
    transform.match.operation_name %op ["iree_linalg_ext.online_attention"] : !transform.any_op
    %config = transform.param.constant #iree_codegen.compilation_info<
        lowering_config = #iree_gpu.lowering_config<{
            workgroup = [1, 32, 0, 0, 0], reduction = [0, 0, 0, 0, 16], promote_operands = [1, 2]}>,
        translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
            workgroup_size = [128] subgroup_size = 64>> -> !transform.any_param
    %matmuls = transform.param.constant {
        qk_attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1]}>},
        pv_attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0]}>}}
        -> !transform.any_param
    transform.yield %op, %config, %matmuls : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @apply(
      %op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly},
      %matmuls: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.annotate %op "decomposition_config" = %matmuls : !transform.any_op, !transform.any_param
    transform.annotate %op "__tuning_spec_applied__" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
"""


def test_the_matmuls_of_attentions_are_configured_anew(tmp_path: Path) -> None:
    source = (PROGRAMS / "attention.mlir").read_text()
    spec = tmp_path / "spec.mlir"
    spec.write_text(ATTENTION_SPEC)
    module = parse(configure(source, *TARGETS["hip"], USER_SPEC.format(spec)))
    attentions = collect(module, "iree_linalg_ext.online_attention")
    assert len(attentions) == 4
    assert all(names.SPEC_APPLIED in each.attributes for each in attentions)
    strip(module)
    check_nothing_is_left(module)
    by_itself = configured_functions(parse(configure(source, *TARGETS["hip"])))
    assert reconfigure(module) == by_itself


def test_constraints_change_nothing_any_more() -> None:
    source = (PROGRAMS / "convolution.mlir").read_text()
    constrained = configure(source, *TARGETS["hip"], "--iree-codegen-emit-pipeline-constraints")
    module = parse(constrained)
    assert len(collect(module, names.CONSTRAINTS)) > 6
    strip(module)
    check_nothing_is_left(module)
    assert reconfigure(module) == configured_functions(parse(configure(source, *TARGETS["hip"])))


ARGMAX = """
func.func @argmax(%input: tensor<4x1024xf32>) -> tensor<4xi64> {
  %low = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %empty_values = tensor.empty() : tensor<4xf32>
  %empty_indices = tensor.empty() : tensor<4xi64>
  %values = linalg.fill ins(%low : f32) outs(%empty_values : tensor<4xf32>) -> tensor<4xf32>
  %indices = linalg.fill ins(%first : i64) outs(%empty_indices : tensor<4xi64>) -> tensor<4xi64>
  %result:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<4x1024xf32>) outs(%values, %indices : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%x: f32, %value: f32, %index: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %maximum = arith.maximumf %x, %value : f32
    %larger = arith.cmpf ogt, %x, %value : f32
    %place = arith.select %larger, %here, %index : i64
    linalg.yield %maximum, %place : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %result#1 : tensor<4xi64>
}
"""


def test_ukernels_are_chosen_anew() -> None:
    module = parse(configure(ARGMAX, *TARGETS["hip"], "--iree-rocm-enable-ukernels=argmax"))
    chosen = configured_functions(module)
    assert any(names.UKERNEL in choice for each in chosen for choice in each.choices)
    strip(module)
    check_nothing_is_left(module)
    assert "hal.executable.objects" not in str(module)
    assert reconfigure(module) == chosen


def test_ukernels_that_are_functions_are_chosen_anew() -> None:
    ukernels = "--iree-rocm-enable-tensor-ukernels"
    source = EXAMPLE.read_text()
    for size, other in (("2048x", "4096x"), ("1280x", "2048x"), ("5120x", "1024x")):
        source = source.replace(size, other)
    module = parse(configure(source, *TARGETS["hip"], ukernels))
    chosen = configured_functions(module)
    assert any(names.UKERNEL in choice for each in chosen for choice in each.choices)
    (variant,) = collect(module, names.EXECUTABLE_VARIANT)
    assert len(collect(variant, names.UTIL_FUNCTION)) == 1
    strip(module)
    check_nothing_is_left(module)
    assert not collect(variant, names.UTIL_FUNCTION)
    assert reconfigure(module, ukernels) == chosen


def test_a_spec_takes_effect_on_a_stripped_benchmark(tmp_path: Path) -> None:
    """The compiler's dispatch benchmarks are configured, which wins over a spec in silence.

    The spec annotates the operation, and then the compiler ignores the annotation.
    """
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path}"
    configure(EXAMPLE.read_text(), *TARGETS["hip"], dump)
    (benchmark,) = (path.read_text() for path in tmp_path.iterdir())
    spec = USER_SPEC.format(EXAMPLES / "spec_gfx942.mlir")
    by_itself = configured_functions(parse(benchmark))
    assert effective(reconfigure(parse(benchmark), spec)) == effective(by_itself)

    module = parse(benchmark)
    strip(module)
    assert reconfigure(module) == by_itself
    tuned = reconfigure(module, spec)
    assert tuned != by_itself
    tuned_program = configure(EXAMPLE.read_text(), *TARGETS["hip"], spec)
    assert tuned == configured_functions(parse(tuned_program))


EVERYTHING = """
#config = #iree_codegen.lowering_config<tile_sizes = [[4]]>
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
func.func @f(%x: i32, %n: index) attributes {
    translation_info = #translation, iree_codegen.tuning_spec_mlirbc = dense<1> : vector<1xi8>} {
  %0 = arith.addi %x, %x {
    lowering_config = #config, compilation_info = #compilation, root_op = #iree_codegen.root_op<set = 0>,
    decomposition_config = {qk_attrs = {a = 1}}, __tuning_spec_applied__,
    iree_codegen.ukernel = #iree_codegen.ukernel_descriptor<"u", bitcode>} : i32
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
      knobs = {} dims(%n) {
  ^bb0(%dim: !smt.int):
  }
  return
}
"""
TRACES = {
    ConfigurationKind.TRANSLATION_INFO: "translation_info =",
    ConfigurationKind.LOWERING_CONFIG: "lowering_config =",
    ConfigurationKind.COMPILATION_INFO: "compilation_info =",
    ConfigurationKind.DECOMPOSITION_CONFIG: "decomposition_config =",
    ConfigurationKind.UKERNEL: "iree_codegen.ukernel =",
    ConfigurationKind.CONSTRAINTS: "iree_codegen.smt.constraints",
    ConfigurationKind.ROOT_OP: "root_op =",
    ConfigurationKind.EMBEDDED_SPEC: "iree_codegen.tuning_spec_mlirbc =",
    ConfigurationKind.MARKER: "__tuning_spec_applied__",
}


@pytest.mark.parametrize("kept", ConfigurationKind)
def test_keeps_what_it_is_told_to(kept: ConfigurationKind) -> None:
    module = parse(EVERYTHING)
    written: list[str] = []
    visit(module, lambda each: written.append(_head(each)))
    before = {kind for kind, trace in TRACES.items() if any(trace in line for line in written)}
    assert before == set(ConfigurationKind)

    strip(module, kept.value)
    written.clear()
    visit(module, lambda each: written.append(_head(each)))
    after = {kind for kind, trace in TRACES.items() if any(trace in line for line in written)}
    assert after == {kept}


def _head(operation: mlir.Operation) -> str:
    """Return an operation's name and attributes, without what is inside and without aliases."""
    attributes = (f"{name} = {value}" for name, value in operation.attributes.items())
    listed = [each.partition("<")[0] for each in attributes]
    return f"{operation.name} {', '.join(listed)}"


def test_counts_what_it_removes() -> None:
    module = parse(EVERYTHING)
    assert strip_configurations(module) == 9
    assert strip_configurations(module) == 0


def test_a_wrong_kind_is_refused_before_anything_is_removed() -> None:
    module = parse(EVERYTHING)
    with pytest.raises(PipelineError, match="did you mean 'marker'"):
        StripConfigs(keep=("root-op", "markers")).apply(module, DiagnosticSink(fail))
    assert str(module) == str(parse(EVERYTHING))


def test_markers_are_found_by_their_names() -> None:
    module = parse('func.func @f() attributes {who = "me", __tuning_spec_applied__} { return }')
    StripConfigs(markers=("who",)).apply(module, DiagnosticSink(fail))
    assert "who" not in str(module)
    assert "__tuning_spec_applied__" in str(module)


def test_runs_on_a_single_function() -> None:
    module = parse(EVERYTHING + EVERYTHING[EVERYTHING.index("func.func") :].replace("@f", "@g"))
    first, second = module.regions[0].blocks[0].operations
    strip(first.operation)
    check_nothing_is_left(first.operation)
    assert "compilation_info" in str(second)
