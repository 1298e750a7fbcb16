"""Findings about dead and overlapping entries, and the removal of the dead ones, against the interpreter."""

from __future__ import annotations

import random

import pytest
from generated_specs import GeneratedSpec, payloads, spec_lists
from hypothesis import given, settings
from interpreter import apply_spec, numbered_attributes
from random_matchers import (
    MAPS,
    Matmul,
    contraction,
    decisions,
    dims,
    random_body,
    random_payloads,
    spec_text,
)

from tuninglink.matching import find_overlaps, find_reachability, find_unreachable
from tuninglink.mlir import names
from tuninglink.passes.drop_shadowed import drop_shadowed
from tuninglink.solver import Verdict
from tuninglink.specs import Spec, link_specs, load_spec


def without_unreachable(spec: Spec) -> tuple[Spec, int]:
    """Return a copy of a spec without its dead entries, and the number of these."""
    module = spec.module.clone()
    dropped = len(drop_shadowed(module).entries)
    assert module.verify()
    assert not drop_shadowed(module).sequences
    return Spec(module, "less"), dropped


@settings(max_examples=60)
@given(spec_lists(can_fail=True, reaches=True), payloads())
def test_same_configuration(specs: list[GeneratedSpec], payload: str) -> None:
    """Specs of all shapes, linked with themselves so that there is much to drop."""
    loaded = [load_spec(each.text().encode()) for each in specs]
    linked = link_specs([*loaded, *loaded]).spec
    less, dropped = without_unreachable(linked)
    is_flat = names.DEFAULT_ENTRY_POINT in linked.module.attributes
    assert dropped >= len(linked.entries) // 2 or not is_flat
    assert (names.DEFAULT_ENTRY_POINT in less.module.attributes) == is_flat
    expected = numbered_attributes(apply_spec(linked, payload), names.LOWERING_CONFIG)
    assert numbered_attributes(apply_spec(less, payload), names.LOWERING_CONFIG) == expected


@pytest.mark.parametrize("seed", range(12))
def test_matchers_of_sizes(seed: int) -> None:
    chance = random.Random(seed)
    bodies = [random_body(chance) for _ in range(12)]
    values = [chance.choice("abc") for _ in bodies]
    spec = load_spec(spec_text(bodies).encode())
    program = random_payloads(chance, 150)
    winners = set(decisions(spec, program).values())
    found = find_reachability(spec)
    assert [each.position for each in found] == list(range(len(bodies)))
    for each in found:
        assert not (each.is_unreachable and str(each.position) in winners)
        assert each.reason or each.verdict is not Verdict.NOT_DECIDED
    assert find_unreachable(spec) == [each for each in found if each.is_unreachable]
    less, dropped = without_unreachable(spec)
    assert dropped == sum(each.is_unreachable for each in found)
    assert decisions(less, program) == decisions(spec, program)
    check_overlaps(spec, load_spec(spec_text(bodies, values).encode()), values)


def check_overlaps(spec: Spec, labelled: Spec, values: list[str]) -> None:
    """Check overlaps of a spec whose entries set some `values` with what one that sets numbers does."""
    unreachable = {each.position for each in find_unreachable(labelled)}
    for overlap in find_overlaps(labelled):
        assert overlap.position not in unreachable
        assert overlap.at_most >= len(overlap.winners) > 0
        for winner in overlap.winners:
            assert values[winner.position] != values[overlap.position]
            sizes = {"m": 16, "n": 16, "k": 16} | dict(winner.witness.sizes)
            program = [Matmul(maps, **sizes) for maps in MAPS]
            assert str(winner.position) in decisions(spec, program).values()


def listed(*bodies: str, values: list[str] | None = None) -> Spec:
    return load_spec(spec_text(bodies, values).encode())


WIDE = contraction("f16", "nt", dims("n", 1280))
NARROW = contraction("f16", "nt", dims("m", 2048), dims("n", 1280))
OTHER = contraction("f16", "nt", dims("m", 2048), dims("n", 64))


def test_findings_in_words() -> None:
    spec = listed(NARROW, OTHER, WIDE, NARROW)
    assert [str(each) for each in find_reachability(spec)] == [
        "'@match_0 -> @apply' is reached by a contraction of f16 x f16 x f32 with m = 2048, n = 1280",
        "'@match_1 -> @apply' is reached by a contraction of f16 x f16 x f32 with m = 2048, n = 64",
        "'@match_2 -> @apply' is reached by a contraction of f16 x f16 x f32 with m = ?, n = 1280",
        "'@match_3 -> @apply' is never reached: '@match_0' comes first and matches all ops that it matches",
    ]
    assert [str(each) for each in find_overlaps(spec)] == [
        (
            "'@match_2 -> @apply' overlaps with '@match_0 -> @apply', which decides about a contraction of "
            "f16 x f16 x f32 with m = 2048, n = 1280 as it comes first"
        )
    ]


def test_the_same_configuration_is_no_conflict() -> None:
    assert not find_overlaps(listed(NARROW, WIDE, values=["same", "same"]))
    assert find_overlaps(listed(NARROW, WIDE, values=["one", "other"]))


def test_there_are_no_more_findings_than_entries() -> None:
    """Thousands of entries that all overlap are as many findings, each of a few lines."""
    count = 300
    bodies = [
        contraction("f16", "nt", dims("mnk"[number % 3], 16 + number)) for number in range(count)
    ]
    overlaps = find_overlaps(listed(*bodies))
    assert len(overlaps) == count - 1
    assert all(len(each.winners) <= 3 for each in overlaps)
    assert overlaps[-1].at_most == 2 * count // 3


def test_matchers_that_are_not_understood_are_told_by_what_they_do() -> None:
    def producer(operand: int, name: str) -> str:
        return f"""
      %producer = transform.get_producer_of_operand %op[{operand}] : (!transform.any_op) -> !transform.any_op
      transform.match.operation_name %producer ["{name}"] : !transform.any_op"""

    wanted = [(0, "linalg.fill"), (1, "linalg.fill"), (0, "linalg.copy"), (0, "linalg.fill")]
    spec = listed(*(producer(*each) for each in wanted))
    assert [each.position for each in find_unreachable(spec)] == [3]
    assert [each.verdict for each in find_reachability(spec)[:3]] == [Verdict.NOT_DECIDED] * 3
