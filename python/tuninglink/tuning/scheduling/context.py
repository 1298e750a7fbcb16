"""The context of a tuning run: what its tasks share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from tuninglink.devices import DeviceSet, Stage, Timeline
from tuninglink.errors import Diagnostic, Severity
from tuninglink.mlir import note
from tuninglink.programs import WRONG_RESULTS, Benchmark, Failure
from tuninglink.tuning.candidates import Candidate, CandidateCompiler, TunableTask
from tuninglink.tuning.database import Journal, RelatedTrials
from tuninglink.tuning.deciding import (
    Budget,
    DefaultJudgements,
    JudgedOutputs,
    Numerics,
    RaceRules,
    TrialResult,
    TuningSettings,
)
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.references import References, Reproducers

_AT_ONCE: Final = 2
"""Candidates whose outputs are compared at once."""


@dataclass(frozen=True)
class TuningContext:
    """What the tasks of a run share.

    Attributes:
        listener: receives progress events.
        journal: records results in the database; None for no record.
        reproducers: stores reproducers of failures; None for none.
        timeline: records the time of the stages.
        references: the references of dispatches; None compares candidates with the compiler's choices only.
        related: the best right candidates of the tasks so far, which similar tasks try first.
        program_us: the time of the whole program, in microseconds; 0 if it was not measured.
    """

    settings: TuningSettings
    compiler: CandidateCompiler
    devices: DeviceSet
    listener: Listener = field(default_factory=Listener)
    journal: Journal | None = None
    reproducers: Reproducers | None = None
    timeline: Timeline = field(default_factory=Timeline)
    references: References | None = None
    related: RelatedTrials = field(default_factory=RelatedTrials)
    program_us: float = 0.0

    @cached_property
    def judgements(self) -> DefaultJudgements | None:
        """The verdicts on the compiler's choices; None without references."""
        if self.references is None:
            return None
        first = self.devices.first
        return DefaultJudgements(first, self.references, in_background=not self.is_local)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """The threads that compare outputs while the devices measure."""
        return ThreadPoolExecutor(_AT_ONCE)

    @property
    def is_local(self) -> bool:
        """Whether the compiling CPU is also the device."""
        return self.devices.first.description.is_local

    def rules(self, budget: Budget, places: int = 1, *, default_is_wrong: bool) -> RaceRules:
        """Return the rules of a race. Against a wrong default, a right candidate need not be faster."""
        settings = self.settings
        rules = RaceRules(settings.min_gain, settings.seed, places, deadline=budget.deadline)
        rules = rules.within(settings.seconds)
        if default_is_wrong:
            return replace(rules, blocks=1, passes=1, least_speedup=0.0)
        return rules

    def compiled(self, prepared: TunableTask, trial: TrialResult) -> TrialResult | None:
        """Return a trial with its benchmark. A trial of an earlier run is compiled again; None if that fails."""
        if trial.benchmark is not None:
            return trial
        job = self.compiler.submit(prepared.template, trial.candidate, self.settings.timeout)
        result = job.result()
        return None if isinstance(result, Failure) else replace(trial, benchmark=result)

    def checks(
        self, prepared: TunableTask, default: Benchmark, *, has_reference: bool = True
    ) -> JudgedOutputs:
        """Return the checks of candidates' outputs: with the reference, once it has judged the default, or the default only.

        Raises:
            DeviceError: the device is lost.
        """
        judgement, first, reduction = None, self.devices.first, prepared.spaces.problem.reduction
        if self.references is None and self.settings.numerics is not Numerics.BITWISE:
            # Without a reference, NaNs around its operands may show that it is wrong.
            fault = first.compare(default, default, reduction)
            if fault is not None and fault.kind in WRONG_RESULTS:
                message = (
                    f"{prepared.task.name}: the compiler's own choice is wrong: {fault.message}"
                )
                remedy = note("candidates are compared with its result without NaNs there")
                self.listener.noticed(Diagnostic(Severity.WARNING, message, notes=(remedy,)))
        if self.judgements and has_reference:
            with self.timeline.stage(Stage.REFERENCE):
                judgement = self.judgements.judge(prepared.task, default)
            self.announce_wrong_defaults()
        references = self.references if has_reference else None
        compared = default, reduction, prepared.task, references, judgement
        return JudgedOutputs(first, *compared, self.settings.numerics)

    def announce_wrong_defaults(self) -> None:
        """Report newly discovered wrong defaults, and store their reproducers."""
        for task, judgement in self.judgements.take_news() if self.judgements else ():
            self.listener.default_is_wrong(task, judgement)
            if self.reproducers:
                self.reproducers.keep_wrong(task, judgement)

    def keep_failure(self, prepared: TunableTask, candidate: Candidate, failure: Failure) -> None:
        """Store a reproducer of a failing candidate if reproducers are enabled."""
        if self.reproducers:
            self.reproducers.keep_candidate(prepared, candidate, failure)
