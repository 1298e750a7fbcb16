"""Findings about the configurations of an entry on the ops of a model."""

from __future__ import annotations

import pytest

from tuninglink.checking import Answer, EntryReport, ModelMatch, SpecReport
from tuninglink.errors import Place, Severity
from tuninglink.rules import Rule
from tuninglink.solver import Verdict
from tuninglink.specs import load_spec

SPEC = """
module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @set(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @pick(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>,
      translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1]>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%op: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %r = transform.foreach_match in %op @pick -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield %r : !transform.any_op
  }
}
"""


@pytest.mark.parametrize(
    ("answer", "rule", "severity"),
    [
        (Answer(Verdict.REFUTED, "r"), Rule.INVALID_IN_MODEL, Severity.ERROR),
        (Answer(Verdict.NOT_DECIDED, "r"), Rule.UNDECIDED, Severity.REMARK),
        (Answer(Verdict.PROVEN, warning="w"), Rule.DISCOURAGED, Severity.REMARK),
        (Answer(Verdict.PROVEN, crash="c"), Rule.STACK_OVERFLOW, Severity.WARNING),
        (Answer(Verdict.PROVEN, slow="s"), Rule.SLOW, Severity.WARNING),
        (Answer(Verdict.PROVEN, miscompilation="m"), Rule.WRONG_RESULT, Severity.WARNING),
    ],
)
def test_each_fault_on_an_op_of_a_model_is_found_once_and_names_the_op(
    answer: Answer, rule: Rule, severity: Severity
) -> None:
    (entry,) = load_spec(SPEC.encode()).entries
    match = ModelMatch("dispatch_0", "matmul", Place("model.mlir", 3, 7), answer)
    reached = Answer(Verdict.PROVEN)
    report = EntryReport(0, entry, "", reached, None, is_reachable=reached, in_model=(match,))
    (finding,) = SpecReport("spec", "list", entries=(report,)).findings()
    assert (finding.rule, finding.severity) == (rule, severity)
    assert "for matmul in dispatch_0 of the model: " in finding.message
    assert [note.message for note in finding.notes] == ["the op is at model.mlir:3:7"]
