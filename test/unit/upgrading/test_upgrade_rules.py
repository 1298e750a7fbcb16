"""Every rule upgrades its example as documented, to a form that today's compiler accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from releases import since_3_13
from rule_examples import EXAMPLES

from tuninglink.mlir import parse_module, thread_context
from tuninglink.upgrading import (
    RULES,
    AttributeRewriter,
    Edits,
    Generalization,
    IterationSpaces,
    OperationSite,
    Rewrites,
    SpecText,
    upgrade,
)

if TYPE_CHECKING:
    from tuninglink.upgrading import UpgradeRule


def apply(rule: UpgradeRule, example: str) -> str:
    """Apply one rule to an example, and return the result."""
    if rule.is_for_attributes:
        spec = SpecText(f"#example = {example}\n")
        rewrites = Rewrites(spec)
        spaces = IterationSpaces(spec, Generalization(spec, Edits()))
        AttributeRewriter(spec, [rule], spaces).rewrite(rewrites)
        text = rewrites.edits.apply(spec.text).text
        return text.removeprefix("#example = ").rstrip("\n")
    spec, edits = SpecText(example), Edits()
    for mark in spec.marks():
        if mark.text in rule.targets:
            sequence, generalization = spec.sequence_at(mark.start), Generalization(spec, Edits())
            rule.rewrite(OperationSite(mark, sequence, spec, edits, generalization))
    return edits.apply(example).text


# Denormals are only rewritten beside something else that is old.
ALONE = [rule for rule in RULES.values() if rule.name != "denormals"]


SPELLED_BY_RELEASE = ("attention-properties", "elementwise-operations")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=rule.name, marks=[since_3_13] * (rule.name in SPELLED_BY_RELEASE))
        for rule in ALONE
    ],
)
def test_the_example_before_becomes_the_example_after(rule: UpgradeRule) -> None:
    assert apply(rule, EXAMPLES[rule.name][0]) == EXAMPLES[rule.name][1]


@pytest.mark.parametrize("rule", ALONE, ids=lambda rule: rule.name)
def test_the_example_after_stays(rule: UpgradeRule) -> None:
    assert apply(rule, EXAMPLES[rule.name][1]) == EXAMPLES[rule.name][1]


def test_every_rule_has_evidence_and_an_example() -> None:
    assert list(RULES) == list(EXAMPLES), "the examples are in the order of application"
    assert all(rule.evidence and rule.summary for rule in RULES.values())


def attribute(text: str) -> str:
    """Upgrade one attribute in a spec, and return it."""
    spec = f"#example = {text}\nmodule attributes {{transform.with_named_sequence}} {{}}\n"
    upgraded = upgrade(spec)
    parse_module(upgraded.text.encode(), "upgraded", thread_context())
    return upgraded.text.splitlines()[0].removeprefix("#example = ")


@pytest.mark.parametrize(
    "rule",
    [
        rule
        for rule in RULES.values()
        if rule.is_for_attributes and EXAMPLES[rule.name][0].startswith("#")
    ],
    ids=lambda rule: rule.name,
)
def test_all_rules_together_make_what_the_compiler_reads(rule: UpgradeRule) -> None:
    before, _ = EXAMPLES[rule.name]
    once = attribute(before)
    assert once != before
    assert attribute(once) == once


def test_a_rule_applies_to_its_targets_in_their_order() -> None:
    # A set of names has another order in each process, and with it the report.
    targets = RULES["elementwise-operations"].targets
    assert list(targets[:3]) == ["linalg.exp", "linalg.log", "linalg.abs"]


def test_counts_of_an_attention_beside_another_op_get_assumed_loops() -> None:
    """The space of an op with two maps is not that of an attention."""
    spec = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%a: tensor<8x16xf16>, %c: tensor<8xf16>):
      %r = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%a : tensor<8x16xf16>) outs(%c : tensor<8xf16>) {
      ^bb0(%x: f16, %y: f16):
        %s = arith.addf %x, %y : f16
        linalg.yield %s : f16
      } -> tensor<8xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant {qk_attrs = {lowering_config =
        #iree_gpu.lowering_config<{subgroup_m_count = 4, subgroup_n_count = 1}>}} -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
}
"""
    assert "[[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]" in upgrade(spec).text
