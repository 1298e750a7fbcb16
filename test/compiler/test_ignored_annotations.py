"""Annotations that code generation does not read: `compile`, `explain` and `check` name them, whatever they look like.

The oracle is the configured program: a configuration took effect if the compiler did not choose its own.
"""

from __future__ import annotations

import pytest
from programs import TARGETS

import tuninglink
from tuninglink.checking import Checker, CompileLimits
from tuninglink.explaining import Status, explain
from tuninglink.iree import Target
from tuninglink.rules import Rule
from tuninglink.solver import Verdict

PROGRAM = """
func.func @matmul(%a: tensor<512x128xf16>, %b: tensor<256x128xf16>) -> tensor<512x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x256xf32>) -> tensor<512x256xf32>
  %product = linalg.matmul indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<512x128xf16>, tensor<256x128xf16>) outs(%start : tensor<512x256xf32>)
    -> tensor<512x256xf32>
  return %product : tensor<512x256xf32>
}
"""
CONFIGURED = "--compile-to=executable-configurations"
FROM_SOURCES = "--compile-from=executable-sources"
HIP = TARGETS["hip"]
CPU = TARGETS["llvm-cpu"]

LOWERING = """#iree_gpu.lowering_config<{workgroup = [64, 64, 0], reduction = [0, 0, 4],
    subgroup = [2, 2, 0], mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1]}>"""
TRANSLATION = """#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
    workgroup_size = [256, 1, 1] subgroup_size = 64>"""
BOTH = f"#iree_codegen.compilation_info<lowering_config = {LOWERING}, translation_info = {TRANSLATION}>"
COMPILERS = LOWERING.replace("[64, 64, 0]", "[64, 128, 0]").replace("4]", "8]", 1)
"""What the compiler itself chooses for the program on gfx942, together with `subgroup = [2, 4, 0]`."""
CPU_TRANSLATION = (
    "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>"
)
"""What the compiler itself chooses for the program on a CPU."""

ON_OP = "the compiler reads 'translation_info' from the function, and it is set on the op"
ALONE = "'lowering_config' is set without 'translation_info', so the compiler chooses both"


def spec(*annotations: tuple[str, str, str]) -> str:
    """Return a spec for the matmul whose action sets attributes: the name of each, its value, and `op` or `function`."""
    count = range(len(annotations))
    types = "".join(", !transform.any_param" for _ in count)
    parameters = "".join(f", %p{i}: !transform.any_param {{transform.readonly}}" for i in count)
    values = "\n".join(
        f"    %p{i} = transform.param.constant {value} -> !transform.any_param"
        for i, (_, value, _) in enumerate(annotations)
    )
    lines = "\n".join(
        f'    transform.annotate %{where} "{name}" = %p{i} : !transform.any_op, !transform.any_param'
        for i, (name, _, where) in enumerate(annotations)
    )
    function = (
        '    %function = transform.get_parent_op %op {op_name = "func.func"} '
        ": (!transform.any_op) -> !transform.any_op"
        if any(where == "function" for *_, where in annotations)
        else ""
    )
    return f"""
module @mine attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}}{parameters}) {{
{function}
{lines}
    transform.yield
  }}
  transform.named_sequence @pick(%op: !transform.any_op {{transform.readonly}}) -> (!transform.any_op{types}) {{
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
{values}
    transform.yield %op{"".join(f", %p{i}" for i in count)} : !transform.any_op{types}
  }}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all @pick -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
"""


ONE = spec(("compilation_info", BOTH, "op"))
ALONE_SPEC = spec(("lowering_config", LOWERING, "op"))
SPLIT = spec(("lowering_config", LOWERING, "op"), ("translation_info", TRANSLATION, "function"))
CASES = {
    "one attribute": (ONE, HIP, ""),
    "the pipeline on the function": (SPLIT, HIP, ""),
    "with a second pipeline on the op": (
        spec(("compilation_info", BOTH, "op"), ("translation_info", TRANSLATION, "op")),
        HIP,
        "",
    ),
    "the pipeline on the op": (spec(("translation_info", TRANSLATION, "op")), HIP, ON_OP),
    "the compiler's pipeline on the op": (
        spec(("translation_info", CPU_TRANSLATION, "op")),
        CPU,
        ON_OP,
    ),
    "both on the op": (
        spec(("lowering_config", LOWERING, "op"), ("translation_info", TRANSLATION, "op")),
        HIP,
        ON_OP,
    ),
    "a lowering config alone": (ALONE_SPEC, HIP, ALONE),
    "the compiler's lowering config alone": (
        spec(("lowering_config", COMPILERS.replace("[2, 2, 0]", "[2, 4, 0]"), "op")),
        HIP,
        ALONE,
    ),
    "one attribute on the function": (
        spec(("compilation_info", BOTH, "function")),
        HIP,
        "the compiler reads 'compilation_info' from the op, and it is set on the function",
    ),
}


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize(("text", "flags", "reason"), CASES.values(), ids=CASES)
def test_an_entry_took_effect_only_if_code_generation_reads_what_it_set(
    text: str, flags: tuple[str, ...], reason: str, *, trace: bool
) -> None:
    compiled = tuninglink.compile(
        PROGRAM.encode(),
        specs=[text.encode()],
        default_specs=False,
        flags=[*flags, CONFIGURED],
        trace=trace,
    )
    assert [item.ignored for item in compiled.applied] == [reason]
    assert [item.is_own is False for item in compiled.applied] == [bool(reason)]
    warnings = [warning for warning in compiled.diagnostics if "mine" in str(warning)]
    own = [warning for warning in compiled.diagnostics if "without effect" in warning.message]
    assert bool(own) == bool(reason)
    assert not any("strip-configs" in str(note) for warning in warnings for note in warning.notes)
    for warning in own:
        assert warning.message.endswith(f"without effect: {reason}")
        assert "#iree_codegen.compilation_info<" in warning.notes[0].message


@pytest.mark.parametrize(("text", "flags", "reason"), CASES.values(), ids=CASES)
def test_an_explanation_counts_only_what_took_effect_as_tuned(
    text: str, flags: tuple[str, ...], reason: str
) -> None:
    explanation = explain(
        PROGRAM.encode(), specs=[text.encode()], default_specs=False, flags=[*flags, CONFIGURED]
    )
    (dispatch,) = explanation.dispatches
    assert dispatch.status is (Status.NO_EFFECT if reason else Status.TUNED)
    (operation,) = dispatch.operations
    assert operation.match
    assert operation.match.ignored == reason
    (summary,) = explanation.specs
    assert (summary.used, summary.covered) == ((0, 0) if reason else (1, 1))


def test_a_dispatch_with_a_pipeline_takes_a_lowering_config_alone() -> None:
    """The compiler chooses nothing there, so code generation reads the annotation; the other form is dropped."""
    configured = tuninglink.compile(
        PROGRAM.encode(), default_specs=False, flags=[*HIP, CONFIGURED]
    ).output
    flags = [*HIP, FROM_SOURCES, CONFIGURED]
    alone = tuninglink.compile(
        configured, specs=[ALONE_SPEC.encode()], default_specs=False, flags=flags
    )
    assert [item.ignored for item in alone.applied] == [""]
    assert "subgroup = [2, 2, 0]" in alone.output.decode()
    one = tuninglink.compile(configured, specs=[ONE.encode()], default_specs=False, flags=flags)
    assert [item.is_kept for item in one.applied] == [True]
    assert "strip-configs" in one.diagnostics[0].notes[0].message


def test_a_failure_names_the_form_that_works() -> None:
    """On a CPU the compiler refuses a lowering config that it did not choose the pipeline for."""
    lowering = (
        "#iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [8, 8, 0]>"
    )
    text = spec(("lowering_config", lowering, "op"))
    with pytest.raises(tuninglink.TuninglinkError) as failure:
        tuninglink.compile(
            PROGRAM.encode(), specs=[text.encode()], flags=[*CPU, CONFIGURED], trace=False
        )
    notes = [note.message for note in failure.value.diagnostics[0].notes]
    assert any(note.startswith(ALONE) and "compilation_info" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("one attribute", Verdict.PROVEN),
        ("the pipeline on the op", Verdict.NOT_DECIDED),
        ("the compiler's lowering config alone", Verdict.NOT_DECIDED),
        ("one attribute on the function", Verdict.NOT_DECIDED),
    ],
)
def test_check_does_not_call_that_compiled(name: str, verdict: Verdict) -> None:
    text, _, reason = CASES[name]
    checker = Checker(
        target=Target.parse("gfx942"), compile_limits=CompileLimits(seconds=300, processes=1)
    )
    report = checker.check(text.encode())
    (entry,) = report.entries
    assert entry.compiles
    assert entry.compiles.verdict is verdict
    assert entry.compiles.reason.endswith(reason)
    findings = [item for item in report.findings() if item.rule is Rule.NO_EFFECT]
    assert all(finding.message.endswith(reason) for finding in findings)
    # Without a compilation it is found where the action alone shows it.
    is_plain = reason and "on the function" not in reason
    assert bool(findings) == bool(is_plain)


EMPTY = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%all: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %all : !transform.any_op
  }
}
"""
MARKING = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @any(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @twice(%all: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %once = transform.foreach_match in %all @any -> @mark : (!transform.any_op) -> !transform.any_op
    %again = transform.foreach_match in %once @any -> @mark : (!transform.any_op) -> !transform.any_op
    transform.yield %again : !transform.any_op
  }
}
"""
PASS = EMPTY.replace(
    "transform.yield %all",
    'transform.apply_registered_pass "canonicalize" to %all : (!transform.any_op) -> !transform.any_op\n'
    "    transform.yield %done",
).replace("    transform.apply", "    %done = transform.apply")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (EMPTY, "its entry points set no configuration"),
        (MARKING, "its actions set no configuration"),
        (PASS, None),  # passes leave no tags
    ],
    ids=["empty", "marking", "pass"],
)
def test_a_spec_that_configures_nothing_is_named(text: str, reason: str | None) -> None:
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[text.encode()], default_specs=False, flags=[*HIP, CONFIGURED]
    )
    own = [item.message for item in compiled.diagnostics if "configured nothing" in item.message]
    assert own == ([f"spec '<memory>' configured nothing: {reason}"] if reason else [])
