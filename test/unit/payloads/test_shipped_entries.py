"""Every shipped entry applies to the program that is made for it, and leaves alone what differs in one size or type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from shipped_specs import NAMES, shipped_spec

import tuninglink
from tuninglink.dag_to_named.perturbations import perturbations
from tuninglink.payloads import winners
from tuninglink.payloads.interpretation import configuration, matches
from tuninglink.specs.provenance import provenance_of

if TYPE_CHECKING:
    from tuninglink.payloads import Payload

ATTENTION = "match_attention_"
"""Entries for another operation than a generic one: `test/specs/*_attention.mlir` show what they leave alone."""


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_entry_applies_to_its_payload_only(name: str) -> None:
    content, target = shipped_spec(name)
    spec = tuninglink.load_spec(content, name=name)
    payloads = [tuninglink.payload_for(each, target) for each in spec.entries]
    for payload, winner in zip(payloads, winners(spec.anatomy, payloads), strict=True):
        # Ranges of sizes may overlap.
        is_ranged = "ranges" in provenance_of(spec.anatomy.table, payload.entry.matcher)
        assert winner == payload.entry or (is_ranged and matches(payload.entry, payload))
    assert all(configuration(each.entry, each) for each in payloads)

    others = [
        other
        for each in payloads
        if not each.entry.matcher.startswith(ATTENTION)
        for other in changed(each)
    ]
    matched = winners(spec.anatomy, others)
    wrong = [each for each, by in zip(others, matched, strict=True) if by == each.entry]
    assert wrong == []


def changed(payload: Payload) -> list[Payload]:
    """Returns a payload with one size changed that its entry demands, and with one element type changed."""
    context = payload.entry.anatomy.module.context
    sizes = tuple(
        f"loop {each.loop} is {digit}"
        for each in payload.sizes
        if each.is_demanded
        for digit in "123456789"
    )
    return [
        replace(payload, body=next(perturbations(payload.body, context, wanted)).text)
        for wanted in (
            lambda what: what.startswith(sizes),
            lambda what: what.startswith("operand 0 has "),
        )
    ]
