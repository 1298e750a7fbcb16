"""Gains over the compiler's choice, from the trials of a recorded table."""

from __future__ import annotations

import math
from dataclasses import replace

from places import ROOT

from tuninglink.programs import Failure, FailureKind
from tuninglink.tuning.database import gains_among, read_trials, recorded_candidate

TABLE = ROOT / "benchmarks" / "tables" / "h200_contraction_16x14336x4096_f16.json"


def test_gains_are_ratios_to_the_default() -> None:
    default, *rest = read_trials(TABLE)
    (measured,) = gains_among([default, *rest], "llama")
    assert measured.group == "llama"
    assert measured.problem.kind == "contraction"
    fast = min((trial for trial in rest if trial.samples), key=lambda trial: trial.samples[0])
    place = measured.gains.index(max(measured.gains))
    configuration = fast.configuration
    expected = recorded_candidate(configuration.pipeline, configuration.knobs)
    assert measured.candidates[place].key == expected.key
    assert math.isclose(measured.gains[place], math.log2(default.samples[0] / fast.samples[0]))
    # What ever failed is left out, and a race counts more than the first measurement.
    failed = replace(fast, samples=(), failure=Failure(FailureKind.WRONG, "it is"), stage="race")
    (without,) = gains_among([default, *rest, failed], "llama")
    assert expected.key not in {candidate.key for candidate in without.candidates}
    raced = [
        replace(one, stage="race", samples=us) for one, us in ((default, (8.0,)), (fast, (2.0,)))
    ]
    (with_race,) = gains_among([default, *rest, *raced], "llama")
    assert with_race.gains[place] == 2


def test_near_problems_form_a_group() -> None:
    (alone,) = gains_among(read_trials(TABLE))
    assert alone.group == "group 0"
