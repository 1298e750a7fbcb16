"""Whatever linking gives configures every op as the inputs do one by one, in order of precedence."""

from __future__ import annotations

import pytest
from interpreter import apply_spec
from link_forms import Outcome, nested_by_compiler, run_scenario
from sequential import attributes_of

from tuninglink.specs import link_specs, load_spec

SCENARIOS = 32


@pytest.mark.parametrize("part", range(4))
def test_all_forms_of_random_specs(part: int) -> None:
    """The beginning of `test/campaigns/linking.py`, with its own seed."""
    outcome = Outcome()
    for number in range(part, SCENARIOS, 4):
        run_scenario(0, number, outcome)
    assert not outcome.failures, outcome.failures[0]
    counts = outcome.counts
    assert counts["scenarios in which something is configured"] >= 2
    assert counts["comparisons"] - counts["comparisons that differ, with a warning"] >= 80


@pytest.mark.parametrize("number", [725, 2212, 7501, 8080])
def test_strategies_by_name(number: int) -> None:
    """Equal ones of two names, two of one name, and a configuration inside of a matmul before a pass."""
    outcome = Outcome()
    run_scenario(3906, number, outcome)
    assert not outcome.failures, outcome.failures[0]
    assert outcome.counts["scenarios in which something is configured"] == 1
    assert not outcome.counts["scenarios with a warning"]


@pytest.mark.parametrize(("number", "warnings"), [(500, 0), (870, 1)])
def test_sequences_that_are_included_twice(number: int, warnings: int) -> None:
    """A list that consumes its argument, behind another spec, and one with a pass in the sequence."""
    outcome = Outcome()
    run_scenario(39, number, outcome)
    assert not outcome.failures, outcome.failures[0]
    assert outcome.counts["scenarios in which something is configured"] == 1
    assert outcome.counts["scenarios with a warning"] == warnings
    assert not outcome.counts["scenarios with a warning that differ"]


def test_a_configuration_from_before_decides_nothing_behind_what_the_compiler_nested() -> None:
    sequences = """
    transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
      transform.match.operation_name %op ["{}"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }}
    transform.named_sequence @act(%op: !transform.any_op {{transform.readonly}}) {{
      %parent = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[{}]]> -> !transform.any_param
      transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
      transform.yield
    }}
    transform.named_sequence @walk(%root: !transform.any_op {{transform.consumed}}) -> !transform.any_op {{
      %done = transform.foreach_match in %root @match -> @act : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }}
    transform.named_sequence @main(%root: !transform.any_op {{transform.consumed}}) -> !transform.any_op
        attributes {{iree_codegen.tuning_spec_entrypoint}} {{
      %done = transform.include @walk failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }}"""
    first, last = (
        load_spec(
            f"module @s attributes {{transform.with_named_sequence}} {{{sequences.format(*one)}}}".encode()
        )
        for one in (("linalg.copy", 1), ("linalg.fill", 2))
    )
    nested = nested_by_compiler(first)
    assert nested
    config = "#iree_codegen.lowering_config<tile_sizes = [[{}]]>"
    program = f"""func.func @f(%value: f32, %to: tensor<8xf32>) -> tensor<8xf32> {{
      %filled = linalg.fill {{lowering_config = {config.format(90)}}} ins(%value : f32) outs(%to : tensor<8xf32>) -> tensor<8xf32>
      %copied = linalg.copy ins(%filled : tensor<8xf32>) outs(%to : tensor<8xf32>) -> tensor<8xf32>
      return %copied : tensor<8xf32>
    }}"""
    configured = attributes_of(apply_spec(link_specs([nested, last]).spec, program))
    configs = [str(op["lowering_config"]) for op in configured if "lowering_config" in op]
    assert configs == [config.format(2), config.format(1)]


def test_preparations_of_the_first_spec_lose_no_decision() -> None:
    """It only marks the matmul, which is decided all the same; a configuration from before decides nothing."""
    text = """module attributes {{transform.with_named_sequence}} {{
      transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
        transform.match.operation_name %op [{}] : !transform.any_op
        transform.yield %op : !transform.any_op
      }}
      transform.named_sequence @apply(%op: !transform.any_op {{transform.readonly}}) {{
        %value = transform.param.constant 1 : i64 -> !transform.any_param
        transform.annotate %op "{}" = %value : !transform.any_op, !transform.any_param
        transform.yield
      }}
      transform.named_sequence @main(%root: !transform.any_op {{transform.consumed}}) -> !transform.any_op
          attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        %prepared = transform.{} %root : (!transform.any_op) -> !transform.any_op
        %done = transform.foreach_match in %prepared @match -> @apply : (!transform.any_op) -> !transform.any_op
        transform.yield %done : !transform.any_op
      }}
    }}"""
    preparation = 'apply_registered_pass "iree-codegen-materialize-device-encoding" to'
    first = text.format('"linalg.matmul"', "first", preparation)
    last = text.format('"linalg.matmul", "linalg.copy"', "last", 'select "func.func" in')
    program = """func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
      %1 = linalg.copy {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[777]]>}
        ins(%0 : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %1 : tensor<8x8xf32>
    }"""
    linked = link_specs([load_spec(each.encode()) for each in (first, last)]).spec
    found = attributes_of(apply_spec(linked, program))
    marks = [[name for name in ("first", "last") if name in each] for each in found]
    assert [each for each in marks if each] == [["first"], ["last"]]
