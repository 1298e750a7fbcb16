"""Completing the findings about entries: with the answers that depend on other entries, places and fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tuninglink.checking.check_report import EntryReport
from tuninglink.checking.configuration_checks import Proposals
from tuninglink.checking.entry_answers import Answer, Reachability
from tuninglink.checking.findings import fix, knob_place
from tuninglink.solver.answers import Verdict
from tuninglink.specs.verification.faults import KnobPlaces

if TYPE_CHECKING:
    from tuninglink.checking.judging import Judge, Judgement
    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.checking.parallel import Asked


class Completion:
    """Completes the findings about entries, except for the compilation of their programs.

    Args:
        reachability: the answers that depend on other entries.
        in_model: the ops of the model that each entry configures, None without a model.
        judge: computes the nearest valid configurations.
    """

    def __init__(
        self,
        reachability: Reachability,
        in_model: Mapping[tuple[str, str], Sequence[ModelMatch]] | None,
        judge: Judge,
    ) -> None:
        self._reachability = reachability
        self._in_model = in_model
        self._judge = judge
        self._proposals = Proposals()
        self._places = KnobPlaces()

    def report(self, asked: Asked, judgement: Judgement) -> EntryReport:
        """Return the complete findings about an entry."""
        entry, answer = asked.entry, None
        if judgement.judged is not None:
            answer = self._proposals.answer(judgement.judged, partial(self._judge.details, entry))
        matches = None
        if self._in_model is not None:
            matches = tuple(self._in_model.get((entry.matcher, entry.action), ()))
        return replace(
            unfinished(asked, judgement),
            is_valid=answer,
            knob_place=knob_place(answer, entry.place, self._places),
            fix=fix(answer, entry.place, self._places),
            is_reachable=self._reachability.answer(asked.position),
            overlap=self._reachability.overlap(asked.position),
            in_model=matches,
        )


def unfinished(asked: Asked, judgement: Judgement) -> EntryReport:
    """Return the findings about an entry before the spec is checked as a whole."""
    return EntryReport(
        position=asked.position,
        entry=asked.entry,
        payload=judgement.payload,
        matches=judgement.matches,
        is_valid=None if judgement.judged is None else judgement.judged.answer,
        compiles=None,
        is_reachable=Answer(Verdict.NOT_DECIDED, "the check was interrupted before"),
        overlap=None,
    )
