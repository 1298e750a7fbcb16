"""Actions that configure other ops than the matched one, also the function, through included sequences."""

from __future__ import annotations

from collections import Counter

import pytest
from link_forms import Outcome, compare
from linked_specs import GeneratedSpec, Shape, entry_points
from sequential import ANY_OP, Pair, Walks

PROGRAM = """func.func @payload(%zero: f32, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>) {
  %fill = linalg.fill ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %copy = linalg.copy ins(%fill : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %matmul = linalg.matmul ins(%copy, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%fill : tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}"""

ONE_OP = f"(%op: {ANY_OP} {{transform.readonly}})"
PARENT = f"%other = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}"
PRODUCER = f"%other = transform.get_producer_of_operand %op[0] : ({ANY_OP}) -> {ANY_OP}"
FAILS = f'transform.match.operation_name %op ["no.op"] : {ANY_OP}'


def sequence(name: str, *lines: str, yields: str = "") -> str:
    kind, results = (f" : {ANY_OP}", f" -> {ANY_OP}") if yields else ("", "")
    inner = "\n  ".join([*lines, f"transform.yield {yields}{kind}"])
    return f"transform.named_sequence @{name}{ONE_OP}{results} {{\n  {inner}\n}}"


def include(name: str, failures: str = "propagate") -> str:
    return f"transform.include @{name} failures({failures}) (%op) : ({ANY_OP}) -> ()"


def configure(handle: str, value: int) -> str:
    return (
        f"%c{value} = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[{value}]]>"
        f' -> !transform.any_param\n  transform.annotate {handle} "lowering_config" = %c{value}'
        f" : {ANY_OP}, !transform.any_param"
    )


def matcher(name: str, operation: str, *lines: str, yields: str = "%op") -> str:
    check = f'transform.match.operation_name %op ["{operation}"] : {ANY_OP}'
    return sequence(name, check, *lines, yields=yields)


def spec(shape: Shape, sequences: list[str], *lists: list[str]) -> GeneratedSpec:
    """Return a spec with some lists of pairs of a matcher and an action."""
    walked = [[Pair(*pair.split(" -> "), results=(ANY_OP,)) for pair in pairs] for pairs in lists]
    inner = "\n".join(sequences)
    lines = [
        "module attributes {transform.with_named_sequence} {",
        inner,
        entry_points(shape, walked, None),
        "}",
    ]
    return GeneratedSpec("\n".join(lines), Walks(inner, tuple(map(tuple, walked))), shape)


ACTIONS = {
    "the function": [
        sequence("a", include("set")),
        sequence("set", PARENT, configure("%other", 1)),
    ],
    "a producer": [
        sequence("a", include("set")),
        sequence("set", PRODUCER, configure("%other", 1)),
    ],
    "nested includes": [
        sequence("a", include("outer"), include("outer")),
        sequence("outer", include("set")),
        sequence("set", PARENT, include("both"), configure("%other", 1)),
        sequence("both", PRODUCER, configure("%other", 2)),
    ],
    "an include that yields": [
        sequence(
            "a",
            f"%up = transform.include @parent failures(propagate) (%op) : ({ANY_OP}) -> {ANY_OP}",
            configure("%up", 1),
        ),
        sequence("parent", PARENT, include("set"), yields="%other"),
        sequence("set", PRODUCER, configure("%other", 2)),
    ],
    "a suppressed failure": [
        sequence("a", include("outer", "suppress")),
        sequence("outer", include("set")),
        sequence("set", PARENT, configure("%other", 1), FAILS, configure("%op", 2)),
    ],
    "a suppressed failure of its own": [
        sequence("a", include("set", "suppress")),
        sequence("set", PARENT, configure("%other", 1), FAILS, configure("%op", 2)),
    ],
    "another module": [
        sequence("a", include("library::@set")),
        "module @library attributes {transform.with_named_sequence} {",
        sequence("set", include("inner")),
        sequence("inner", PARENT, configure("%other", 1)),
        "}",
        sequence("set", configure("%op", 9)),
    ],
    "a region": [
        sequence(
            "a",
            f"transform.foreach %op : {ANY_OP} {{\n  ^bb0(%each: {ANY_OP}):",
            f"transform.include @set failures(propagate) (%each) : ({ANY_OP}) -> ()\n  }}",
        ),
        sequence("set", PARENT, configure("%other", 1)),
    ],
}

OTHER = spec(
    Shape.UNMARKED,
    [
        matcher("m", "linalg.matmul", PARENT, yields="%other"),
        sequence("a", configure("%op", 11)),
        sequence("b", configure("%op", 12)),
        matcher("f", "linalg.fill"),
    ],
    ["@m -> @a", "@f -> @b"],
)


def compared(*specs: GeneratedSpec) -> None:
    outcome = Outcome(Counter())
    compare(specs, PROGRAM, outcome)
    assert outcome.counts["scenarios in which something is configured"] == 1
    assert not outcome.failures, outcome.failures[0]


MATCHERS = [matcher("m", "linalg.copy"), matcher("n", "linalg.matmul")]


@pytest.mark.parametrize("sequences", ACTIONS.values(), ids=ACTIONS)
def test_in_one_list(sequences: list[str]) -> None:
    one = spec(Shape.UNMARKED, [*sequences, *MATCHERS], ["@m -> @a"])
    compared(one, OTHER)
    compared(OTHER, one)


@pytest.mark.parametrize("action", ["the function", "nested includes"])
def test_shared_by_two_entry_points(action: str) -> None:
    sequences = [*ACTIONS[action], *MATCHERS]
    compared(spec(Shape.TWO_ENTRY_POINTS, sequences, ["@n -> @a"], ["@m -> @a"]), OTHER)
