"""Every shipped entry matches its payload, and does not match a variant with another size or type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from configured_payloads import configuration
from shipped_specs import NAMES, shipped_spec

import tuninglink
from tuninglink.dag_to_named import perturbations
from tuninglink.payloads import matches, winners
from tuninglink.specs import provenance_of

if TYPE_CHECKING:
    from tuninglink.payloads import Payload

ATTENTION = "match_attention_"
"""Entries for operations other than generic ones. `test/specs/*_attention.mlir` has the variants for these."""


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_entry_applies_to_its_payload_only(name: str) -> None:
    content, target = shipped_spec(name)
    spec = tuninglink.load_spec(content, name=name)
    payloads = [tuninglink.payload_for(entry, target) for entry in spec.entries]
    for payload, winner in zip(payloads, winners(spec.anatomy, payloads), strict=True):
        # Ranges of sizes may overlap.
        is_ranged = "ranges" in provenance_of(spec.anatomy.table, payload.entry.matcher)
        assert winner == payload.entry or (is_ranged and matches(payload.entry, payload))
    assert all(configuration(payload.entry, payload) for payload in payloads)

    others = [
        other
        for payload in payloads
        if not payload.entry.matcher.startswith(ATTENTION)
        for other in changed(payload)
    ]
    matched = winners(spec.anatomy, others)
    wrong = [payload for payload, by in zip(others, matched, strict=True) if by == payload.entry]
    assert wrong == []


def changed(payload: Payload) -> list[Payload]:
    """Return a payload with another size that its entry demands, and with another element type."""
    context = payload.entry.anatomy.module.context
    sizes = tuple(
        f"loop {size.loop} is {digit}"
        for size in payload.sizes
        if size.is_demanded
        for digit in "123456789"
    )
    return [
        replace(payload, body=next(perturbations(payload.body, context, selects)).text)
        for selects in (
            lambda what: what.startswith(sizes),
            lambda what: what.startswith("operand 0 has "),
        )
    ]
