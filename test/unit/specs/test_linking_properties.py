"""Whatever linking gives configures every op as the inputs do one by one, in order of precedence."""

from __future__ import annotations

import pytest
from link_forms import Outcome, run_scenario

SCENARIOS = 24


@pytest.mark.parametrize("part", range(4))
def test_all_forms_of_random_specs(part: int) -> None:
    """The beginning of `test/campaigns/linking.py`, with its own seed."""
    outcome = Outcome()
    for number in range(part, SCENARIOS, 4):
        run_scenario(0, number, outcome)
    assert not outcome.failures, outcome.failures[0]
    assert outcome.counts["scenarios in which something is configured"] >= 3
    assert outcome.counts["comparisons"] >= 100
