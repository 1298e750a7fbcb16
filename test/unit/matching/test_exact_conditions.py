"""Conditions of matchers, and proofs about them, against the compiler's interpreter."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from iree.compiler import ir as mlir
from random_matchers import (
    MAPS,
    Matmul,
    as_known,
    bounds,
    cast,
    contraction,
    decisions,
    dims,
    graph,
    multiple,
    of_result,
    payload_of,
    random_body,
    random_payloads,
    spec_text,
)

from tuninglink.matching import (
    Condition,
    MatcherReader,
    Opaque,
    OverlapAnswer,
    Overlaps,
    Subsumption,
    SubsumptionAnswer,
    exact_condition,
)
from tuninglink.mlir import parse_module
from tuninglink.solver import Verdict
from tuninglink.specs import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence


def spec_of(body: str, helpers: str = "") -> Spec:
    text = spec_text([body], ["matched"], helpers)
    return Spec(parse_module(text.encode(), "test.mlir", CONTEXT), "test.mlir")


CONTEXT = mlir.Context()


def condition_of(spec: Spec) -> Condition | Opaque:
    return exact_condition(MatcherReader(spec.anatomy.table).read("match_0"))


def subsumed(condition: Condition, earlier: Sequence[Condition | Opaque]) -> SubsumptionAnswer:
    return Subsumption([*earlier, condition]).answer(len(earlier))


def overlap(first: Condition, second: Condition) -> OverlapAnswer:
    return Overlaps([first, second]).overlap(0, 1)


def understood(spec: Spec) -> Condition:
    condition = condition_of(spec)
    assert isinstance(condition, Condition), condition
    return condition


def matched(spec: Spec, payloads: list[Matmul]) -> set[int]:
    """Return the payloads that match by the interpreter."""
    return set(decisions(spec, payloads))


@pytest.mark.parametrize("seed", range(6))
def test_proofs_hold_in_the_interpreter(seed: int) -> None:
    chance = random.Random(seed)
    payloads = random_payloads(chance, 60)
    specs = [spec_of(random_body(chance)) for _ in range(7)]
    conditions = [understood(each) for each in specs]
    hits = [matched(each, payloads) for each in specs]
    for index, condition in enumerate(conditions):
        answer = subsumed(condition, conditions[:index])
        earlier = set().union(*hits[:index])
        if answer.verdict is Verdict.PROVEN:
            assert hits[index] <= earlier
            assert hits[index] <= set().union(*(hits[each] for each in answer.subsuming))
        elif answer.verdict is Verdict.REFUTED:
            candidates = [payload_of(maps, answer.witness, condition) for maps in MAPS]
            found = matched(specs[index], candidates)
            for each in specs[:index]:
                found -= matched(each, candidates)
            assert found
        for other, hit in zip(conditions[:index], hits, strict=False):
            meeting = overlap(condition, other)
            if meeting.verdict is Verdict.REFUTED:
                assert not hits[index] & hit
            elif meeting.verdict is Verdict.PROVEN:
                candidates = [payload_of(maps, meeting.witness, condition) for maps in MAPS]
                position = conditions.index(other)
                assert matched(specs[index], candidates) & matched(specs[position], candidates)


def verdict(later: str, *earlier: str) -> tuple[Verdict, tuple[int, ...]]:
    answer = subsumed(understood(spec_of(later)), [understood(spec_of(each)) for each in earlier])
    return answer.verdict, answer.subsuming


def test_a_narrower_matcher_after_a_wider_one_is_dead() -> None:
    wide = contraction("f16", "nt", multiple("lhs", 0, 16))
    narrow = contraction("f16", "nt", dims("m", 64), dims("n", 32))
    other = contraction("f32", "nt")
    assert verdict(narrow, other, wide) == (Verdict.PROVEN, (1,))
    assert verdict(wide, narrow) == (Verdict.REFUTED, ())


def test_several_together_cover_what_none_does_alone() -> None:
    later = contraction("f16", "nt", dims("n", 64), cast("lhs", "tensor<64x?xf16>"))
    low = contraction("f16", "nt", bounds("lhs", 1, None, 100))
    high = contraction("f16", "nt", bounds("lhs", 1, 101, None))
    answer = subsumed(
        *(understood(spec_of(each)) for each in (later,)),
        [understood(spec_of(each)) for each in (low, high)],
    )
    # A dynamic k is in neither.
    assert answer.verdict is Verdict.REFUTED
    assert answer.witness[("loop", 2, 0)] is None
    assert matched(spec_of(later), [Matmul("nt", 64, 64, None)])
    for each in (low, high):
        assert not matched(spec_of(each), [Matmul("nt", 64, 64, None)])
    fixed = contraction("f16", "nt", dims("k", 100))
    both = [
        contraction("f16", "nt", bounds("lhs", 1, 100, None)),
        contraction("f16", "nt", multiple("lhs", 1, 3)),
    ]
    assert verdict(fixed, *both) == (Verdict.PROVEN, (0,))


def test_a_role_and_an_operand_meet_where_the_maps_are_known() -> None:
    role = contraction("f16", "nt", dims("m", 64))
    operand = contraction("f16", "nt", cast("lhs", "tensor<64x?xf16>"))
    assert verdict(operand, role) == (Verdict.PROVEN, (0,))
    # A contraction of buffers has the size, and is of no type that is compatible with a tensor.
    assert verdict(role, operand)[0] is Verdict.NOT_DECIDED
    multiples = contraction("f16", "nt", multiple("lhs", 0, 64))
    assert verdict(role, multiples) == (Verdict.PROVEN, (0,))
    without_maps = contraction("f16", None, cast("lhs", "tensor<64x?xf16>"))
    assert verdict(contraction("f16", None, dims("m", 64)), without_maps)[0] is Verdict.NOT_DECIDED


def test_graphs_are_covered_by_the_same_and_by_contractions() -> None:
    fixed = graph(Matmul("nt", 64, 32, 128))
    flexible = graph(Matmul("nt", None, 32, 128))
    assert verdict(fixed, flexible) == (Verdict.PROVEN, (0,))
    assert verdict(fixed, fixed) == (Verdict.PROVEN, (0,))
    assert verdict(flexible, fixed)[0] is Verdict.REFUTED
    assert verdict(fixed, contraction("f16", None)) == (Verdict.PROVEN, (0,))
    assert verdict(fixed, contraction("f16", "nn"))[0] is Verdict.REFUTED
    assert verdict(contraction("f16", "nt", dims("m", 64)), fixed)[0] is not Verdict.PROVEN


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "transform.match.operation_empty %op : !transform.any_op",
            "'transform.match.operation_empty' is not understood",
        ),
        (
            """%all = transform.get_operand %op[all] : (!transform.any_op) -> !transform.any_value
            transform.iree.match.dim_is_multiple_of %all[0], 2 : !transform.any_value""",
            "several operands",
        ),
        (
            """%r = transform.get_result %op[0] : (!transform.any_op) -> !transform.any_value
            transform.iree.match.dim_is_multiple_of %r[0], 2 : !transform.any_value""",
            "'transform.get_result' is in the matcher itself, which is an error",
        ),
        (
            contraction("f16", "nt", bounds("lhs", -1, 0, None)),  # It ends the compiler's process.
            "a dimension before the first",
        ),
        (
            contraction("f16", "nt", bounds("lhs", 2, 0, None)),
            "a dimension that its operand does not have",
        ),
        (
            contraction("f16", "nt", dims("m", -(2**63))),
            "dimensions that are dynamic",
        ),
        (
            of_result("").replace("propagate", "suppress"),
            "it includes @library::@result and goes on where that fails",
        ),
    ],
)
def test_what_is_not_understood_is_opaque(body: str, reason: str) -> None:
    condition = condition_of(spec_of(body))
    assert isinstance(condition, Opaque)
    assert reason in condition.reason


def test_names_and_the_lack_of_a_configuration_count() -> None:
    fill = (
        """transform.match.operation_name %op ["linalg.fill", "linalg.copy"] : !transform.any_op"""
    )
    one = """transform.match.operation_name %op ["linalg.fill"] : !transform.any_op"""
    unconfigured = "transform.iree.match.has_no_lowering_config %op : !transform.any_op\n"
    assert verdict(one, fill) == (Verdict.PROVEN, (0,))
    assert verdict(unconfigured + one, fill) == (Verdict.PROVEN, (0,))
    assert verdict(one, unconfigured + fill)[0] is Verdict.NOT_DECIDED
    attention = (
        """transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op"""
    )
    conditions = [understood(spec_of(each)) for each in (attention, contraction("f16", None), one)]
    assert overlap(conditions[0], conditions[1]).verdict is Verdict.REFUTED
    assert overlap(conditions[0], conditions[2]).verdict is Verdict.REFUTED


def test_the_loop_of_a_role_is_where_the_compiler_looks_for_it() -> None:
    """A dimension that is static elsewhere does not make the size of a loop known."""
    by_role = contraction("f16", "nt", dims("m", 64))
    by_result = contraction("f16", "nt", of_result(cast("result", "tensor<64x?xf32>")))
    payloads = [
        Matmul("nt", 64, 32, 16),
        Matmul("nt", 64, 32, 16, forgotten=frozenset({(0, 0)})),
        Matmul("nt", 64, 32, 16, forgotten=frozenset({(2, 0)})),
    ]
    assert matched(spec_of(by_role), payloads) == {0, 2}
    assert matched(spec_of(by_result), payloads) == {0, 1}
    answer = subsumed(understood(spec_of(by_result)), [understood(spec_of(by_role))])
    assert answer.verdict is Verdict.REFUTED
    assert answer.witness == {("loop", 0, 0): None, ("loop", 0, 1): 64}
    one, other = (understood(spec_of(each)) for each in (by_role, by_result))
    assert overlap(one, other).verdict is Verdict.PROVEN
    different = understood(spec_of(contraction("f16", "nt", dims("m", 32))))
    assert overlap(different, other).verdict is Verdict.REFUTED


def test_includes_are_followed() -> None:
    helpers = """
      transform.named_sequence @sizes(%m: !transform.param<i64> {transform.readonly},
                                      %n: !transform.param<i64> {transform.readonly}) {
        transform.iree.match.dims_equal %n, [32] : !transform.param<i64>
        transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
        transform.yield
      }"""
    include = """transform.include @sizes failures(propagate) (%m, %n)
      : (!transform.param<i64>, !transform.param<i64>) -> ()"""
    through = spec_of(contraction("f16", "nt", include), helpers)
    written_out = understood(spec_of(contraction("f16", "nt", dims("m", 64), dims("n", 32))))
    for one, other in ((understood(through), written_out), (written_out, understood(through))):
        assert subsumed(one, [other]).verdict is Verdict.PROVEN
    payloads = [Matmul("nt", 64, 32, 16), Matmul("nt", 32, 64, 16)]
    assert matched(through, payloads) == {0}


@pytest.mark.parametrize(
    ("depth", "reason"), [(20, "longer than 10000 operations"), (40, "nested more than 32 deep")]
)
def test_a_matcher_that_grows_as_it_is_followed_is_opaque(depth: int, reason: str) -> None:
    def include(number: int) -> str:
        return f"transform.include @h{number} failures(propagate) (%op) : (!transform.any_op) -> ()"

    helpers = "".join(
        f"transform.named_sequence @h{number}(%op: !transform.any_op {{transform.readonly}}) {{\n"
        + (f"{include(number - 1)}\n" * 2 if number else "")
        + "transform.yield }\n"
        for number in range(depth)
    )
    condition = condition_of(spec_of(include(depth - 1), helpers))
    assert isinstance(condition, Opaque)
    assert reason in condition.reason


def test_what_asks_only_whether_there_is_something_is_a_condition() -> None:
    """To have a third operand, a second dimension, or a tensor for an operand is more than nothing."""
    anything = """transform.match.operation_name %op ["linalg.generic"] : !transform.any_op"""
    third = anything + (
        "\n%third = transform.get_operand %op[2] : (!transform.any_op) -> !transform.any_value"
    )
    second = third + "\n" + bounds("third", 1, 0, None)
    tensor = third + "\n" + cast("third", "tensor<?xf32>")
    scalar = third + "\n" + cast("third", "f32")
    for narrow, wide in ((third, anything), (second, third), (tensor, third), (scalar, third)):
        assert verdict(narrow, wide) == (Verdict.PROVEN, (0,))
        assert verdict(wide, narrow)[0] is not Verdict.PROVEN
    one, other = (understood(spec_of(each)) for each in (tensor, scalar))
    assert overlap(one, other).verdict is Verdict.REFUTED


@pytest.mark.parametrize("maps", MAPS)
@pytest.mark.parametrize("seed", range(3))
def test_a_condition_holds_where_the_interpreter_matches(maps: str, seed: int) -> None:
    """For static and dynamic dimensions, with any facts that the compiler has about them."""
    chance = random.Random(seed)
    payloads = [each for each in random_payloads(chance, 120) if each.maps == maps]
    for _ in range(10):
        spec = spec_of(random_body(chance, maps))
        condition = understood(spec)
        expected = {number for number, each in enumerate(payloads) if as_known(condition, each)}
        assert matched(spec, payloads) == expected
