"""Judging entries one by one: a program for each, and whether its configuration is valid for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.checking.configuration_checks import ConfigurationChecks, Judged
from tuninglink.checking.entry_answers import Answer, Details
from tuninglink.mlir.contexts import thread_context
from tuninglink.payloads import PayloadError, Synthesizer
from tuninglink.solver.answers import Verdict
from tuninglink.spaces.provider_registry import ProviderRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.iree.targets import Target
    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.solver.answers import Limits
    from tuninglink.specs.structure import Entry

NO_PROGRAM: Final = "no program could be made for it"


@dataclass(frozen=True)
class JudgingOptions:
    """What entries are judged for.

    Attributes:
        target: what programs are made for, None for nothing in particular.
        attribute: the target as a `#hal.executable.target`, in MLIR; empty without one.
        limits: time limit of a query to the solver.
        wants_programs: whether programs for `iree-compile` are written.
    """

    target: Target | None
    attribute: str
    limits: Limits
    wants_programs: bool


@dataclass(frozen=True)
class Judgement:
    """What is found about an entry by itself; it may be handed to another process.

    Attributes:
        matches: whether it matches the program that is made for it.
        payload: the operand types of the op of that program, in words; empty if none could be made.
        program: the program, for `iree-compile`; empty if nobody wants it, and if none could be made.
        judged: what is found about its configuration; None if that was not asked.
    """

    matches: Answer
    payload: str = ""
    program: str = ""
    judged: Judged | None = None


class Judge:
    """Judges entries.

    Args:
        options: what for.
        warn: is told about plug-ins that cannot be used.
    """

    def __init__(self, options: JudgingOptions, warn: Callable[[Diagnostic], None]) -> None:
        self._synthesizer = Synthesizer(options.target)
        self._checks = ConfigurationChecks(ProviderRegistry(warn), options.limits)
        self._options = options

    @cached_property
    def _target(self) -> mlir.Attribute:
        return mlir.Attribute.parse(self._options.attribute, thread_context())

    def judge(self, entry: Entry, *, is_asked: bool) -> Judgement:
        """Judges an entry.

        Args:
            entry: the entry.
            is_asked: whether its configuration is to be judged, too.
        """
        try:
            if not is_asked:
                payload = self._synthesizer.payload(entry)
                return Judgement(Answer(Verdict.PROVEN), payload.shapes)
            configured = self._synthesizer.configured(entry, self._target)
        except PayloadError as failure:
            nothing = Judged(Answer(Verdict.NOT_DECIDED, NO_PROGRAM)) if is_asked else None
            return Judgement(Answer(failure.verdict, failure.reason), judged=nothing)
        if configured.dispatch is None:
            judged = self._checks.judge_payload(configured.write(), self._target)
        else:
            judged = self._checks.judge(configured.dispatch)
        program = configured.write().text if self._options.wants_programs else ""
        # The interpreter has matched it when it was made.
        return Judgement(Answer(Verdict.PROVEN), configured.shapes, program, judged)

    def details(self, entry: Entry) -> Details:
        """Returns all details about the configuration of an entry, the nearest valid one among them."""
        dispatch = self._synthesizer.configured(entry, self._target).dispatch
        assert dispatch is not None
        return self._checks.details(dispatch)
