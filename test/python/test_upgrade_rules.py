"""Every rule turns its example into what it says, and that is what today's compiler reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.upgrading import upgrade
from tuninglink.upgrading.attributes import AttributeUpgrade
from tuninglink.upgrading.edits import Edits
from tuninglink.upgrading.generalization import generalize
from tuninglink.upgrading.outline import Outline
from tuninglink.upgrading.rule import AttributeRule, OperationContext, OperationRule
from tuninglink.upgrading.rules import RULES, generalized_operations
from tuninglink.upgrading.source import Source

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import Rule

NAMES = [rule.name for rule in RULES]


def matcher(body: str) -> str:
    """Returns a matcher for a GPU with `body` as its dag."""
    return (
        "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
        "%ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
        "^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
        f"{body}\n"
        "} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
        "%config = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
        "transform.yield\n}"
    )


def apply(rule: Rule, example: str) -> str:
    """Applies one rule to an example and returns what becomes of it."""
    if rule is generalized_operations.RULE:
        text = matcher(example)
        edited = generalize(Outline(Source(text)), lambda _offset, _message: None).apply(text).text
        start = edited.index("%r = ")
        return edited[start : edited.index("\n} : (!transform.any_op)")]
    if isinstance(rule, AttributeRule):
        text = f"#example = {example}\n"
        upgrade_ = AttributeUpgrade(Outline(Source(text)), [rule], lambda *_: None, _unexpected)
        return upgrade_.edits().apply(text).text.removeprefix("#example = ").rstrip("\n")
    assert isinstance(rule, OperationRule)
    outline = Outline(Source(example))
    edits = Edits()
    for mark in outline.source.marks:
        if mark.text in rule.operations:
            sequence = outline.sequence_at(mark.start)
            rule.rewrite(mark, OperationContext(outline, sequence, edits, lambda *_: None))
    return edits.apply(example).text


def _unexpected(*refusal: object) -> None:
    pytest.fail(f"refused: {refusal}")


# Denormals are only rewritten beside something else that is old.
ALONE = [rule for rule in RULES if rule.name != "denormals"]


@pytest.mark.parametrize("rule", ALONE, ids=lambda rule: rule.name)
def test_the_example_before_becomes_the_example_after(rule: Rule) -> None:
    assert apply(rule, rule.before) == rule.after


@pytest.mark.parametrize("rule", ALONE, ids=lambda rule: rule.name)
def test_the_example_after_stays(rule: Rule) -> None:
    assert apply(rule, rule.after) == rule.after


def test_names_are_unique_and_each_rule_has_evidence() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(rule.evidence and rule.summary for rule in RULES)


def attribute(text: str) -> str:
    """Upgrades one attribute in a spec and returns it."""
    spec = f"#example = {text}\nmodule attributes {{transform.with_named_sequence}} {{}}\n"
    upgraded = upgrade(spec)
    parse_module(upgraded.text.encode(), "upgraded", thread_context())
    return upgraded.text.splitlines()[0].removeprefix("#example = ")


@pytest.mark.parametrize(
    "rule",
    [rule for rule in RULES if isinstance(rule, AttributeRule) and rule.before.startswith("#")],
    ids=lambda rule: rule.name,
)
def test_all_rules_together_make_what_the_compiler_reads(rule: Rule) -> None:
    once = attribute(rule.before)
    assert once != rule.before
    assert attribute(once) == once
