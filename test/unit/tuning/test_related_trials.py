"""Candidates of repaired tasks, with which similar tasks begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.tuning.candidates import Candidate, SearchProblem
from tuninglink.tuning.database import MOST_RELATED, RelatedTrials

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = ("m", "n", "k")


def problem(*sizes: int, roles: tuple[str, ...] = ROLES) -> SearchProblem:
    return SearchProblem("contraction", sizes, roles, ("f16", "f16", "f32"), {})


def candidate(*tiles: int) -> Candidate:
    knobs = {f"workgroup[{loop}]": tile for loop, tile in enumerate(tiles)}
    return Candidate("pipeline", knobs, str(knobs))


class AtMost:
    """Candidates whose first tile is at most a number."""

    def __init__(self, most: int) -> None:
        self._most = most

    def candidate(self, pipeline: str, knobs: Mapping[str, int]) -> Candidate | None:
        return (
            Candidate(pipeline, knobs, str(knobs)) if knobs["workgroup[0]"] <= self._most else None
        )


def test_candidates_of_the_nearest_problems_come_first() -> None:
    related = RelatedTrials()
    assert not related.candidates(problem(64, 64, 64), AtMost(64))
    related.add(problem(64, 64, 64), [candidate(8), candidate(4)])
    related.add(problem(1024, 64, 64), [candidate(64), candidate(32)])
    tiles = [
        one.knobs["workgroup[0]"] for one in related.candidates(problem(512, 64, 64), AtMost(64))
    ]
    assert tiles == [64, 8, 32, 4]
    tiles = [
        one.knobs["workgroup[0]"] for one in related.candidates(problem(16, 64, 64), AtMost(16))
    ]
    assert tiles == [8, 4]


def test_problems_of_another_form_have_no_related_candidates() -> None:
    related = RelatedTrials()
    related.add(problem(64, 64, 64), [candidate(8)])
    assert not related.candidates(problem(64, 64, 64, roles=("n", "m", "k")), AtMost(64))
    assert not related.candidates(problem(4, 64, 64, 64, roles=("m", *ROLES)), AtMost(64))


def test_few_candidates_are_taken() -> None:
    related = RelatedTrials()
    related.add(problem(64, 64, 64), [candidate(tile) for tile in range(1, 20)])
    assert len(related.candidates(problem(64, 64, 64), AtMost(64))) == MOST_RELATED
