"""The verification of a workload's configuration against all applicable constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tuninglink.solver import Grade
from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    CheckAnswer,
    Limits,
    UndecidedError,
    Verdict,
    Violation,
)
from tuninglink.spaces.compiler_provider import CompilerProvider, CompilerSpace
from tuninglink.spaces.configuration import (
    Configuration,
    InvalidFormError,
    MismatchError,
    MissingEntryError,
    NearFormError,
    with_defaults,
)
from tuninglink.spaces.configuration_answers import ConfigurationAnswer
from tuninglink.spaces.proposals import Proposal, as_intended, nearest_valid, of_zero

if TYPE_CHECKING:
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload


def verify_configuration(
    workload: Workload,
    configuration: Configuration,
    registry: ProviderRegistry,
    limits: Limits = DEFAULT_LIMITS,
) -> ConfigurationAnswer:
    """Return whether a configuration is valid.

    It is refuted if it breaks a necessary rule of a provider. It is proven if the sufficient constraints of a provider
    accept it and no provider refutes it. The compiler's own constraints neither prove nor refute: they accept
    configurations that do not compile, and reject others that do.

    Args:
        workload: the workload.
        configuration: its configuration. Entries with a default in code generation may be missing.
        registry: the providers.
        limits: the limits of each query.
    """
    if configuration.pipeline is None:
        reason = "the function has no translation_info, so there is no pipeline"
        return ConfigurationAnswer(Verdict.NOT_DECIDED, "", reason=reason)
    pipeline = str(configuration.pipeline)
    try:
        spaces = registry.spaces(workload, pipeline)
    except UndecidedError as failure:
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=failure.reason)
    intended = as_intended(configuration)
    configuration = with_defaults(configuration)
    findings = [
        replace(_Finding.of(space, configuration, pipeline, limits), intended=intended)
        for space in spaces
        if not (isinstance(space, CompilerSpace) and space.overlooks(configuration))
    ]
    for finding in findings:
        if finding.necessary:
            return finding.refute(pipeline, limits)
    return _weigh(findings, pipeline, limits)


def broken_necessary_rules(
    spaces: Iterable[Space], configuration: Configuration, limits: Limits = DEFAULT_LIMITS
) -> tuple[Violation, ...]:
    """Return the necessary rules that a configuration breaks in the first space that refutes it.

    Args:
        spaces: spaces of the pipeline.
        configuration: the configuration. Entries with a default in code generation may be missing.
        limits: the limits of each query.
    """
    configuration, pipeline = with_defaults(configuration), str(configuration.pipeline)
    result = (_Finding.of(space, configuration, pipeline, limits).necessary for space in spaces)
    return next(filter(None, result), ())


def verify_like_compiler(
    workload: Workload, configuration: Configuration, limits: Limits = DEFAULT_LIMITS
) -> ConfigurationAnswer:
    """Return whether the compiler's own verifier accepts a configuration.

    Args:
        workload: the workload.
        configuration: its configuration.
        limits: the limits of each query.
    """
    pipeline = str(configuration.pipeline)
    provider = CompilerProvider()
    nothing = f"the compiler has no constraints for {workload.problem} in {pipeline}"
    try:
        kind = workload.problem.kind
        is_known = configuration.pipeline is not None and provider.knows(pipeline, kind)
        spaces = provider.spaces(workload, pipeline) if is_known else []
    except UndecidedError as failure:
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=failure.reason)
    intended = as_intended(configuration)
    findings = [
        replace(_Finding.of(space, configuration, pipeline, limits), intended=intended)
        for space in spaces
    ]
    for finding in findings:
        if finding.compilers or finding.lacks:
            return finding.refute(pipeline, limits)
    if any(finding.is_read for finding in findings):
        return ConfigurationAnswer(Verdict.PROVEN, pipeline)
    reason = _join(finding.doubt for finding in findings) or nothing
    return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=reason)


@dataclass(frozen=True)
class _Finding:
    """The verdict of one space on a configuration.

    Attributes:
        space: the space.
        assignment: the values of the knobs, None if the configuration has another form.
        necessary: the necessary rules that it breaks.
        compilers: the rules of the compiler's own constraints that it breaks.
        unsafe: the broken rules that keep the code from crashing.
        slow: the broken rules that keep compilation from taking minutes.
        lacks: the missing entry that the compiler's verifier requires.
        untiled: the knobs that are 0 in the configuration, which means the whole loop.
        doubt: why it is not proven valid; empty if it is.
        intended: the configuration with the correct names of misspelt entries.
    """

    space: Space
    assignment: Mapping[str, int] | None = None
    necessary: tuple[Violation, ...] = ()
    compilers: tuple[Violation, ...] = ()
    unsafe: tuple[Violation, ...] = ()
    slow: tuple[Violation, ...] = ()
    lacks: tuple[Violation, ...] = ()
    doubt: str = ""
    untiled: frozenset[str] = frozenset()
    intended: Configuration | None = None

    @property
    def is_read(self) -> bool:
        return self.assignment is not None

    @classmethod
    def of(
        cls, space: Space, configuration: Configuration, pipeline: str, limits: Limits
    ) -> _Finding:
        provider = space.provider
        origin = f"{provider}'s constraints of {pipeline}"
        try:
            assignment = space.assignment(configuration)
        except InvalidFormError as failure:
            return cls(space, necessary=(Violation(str(failure), origin, knobs=failure.knobs),))
        except NearFormError as failure:
            untiled = space.untiled(configuration)
            graded = _graded(space.check(failure.assignment, limits), untiled)
            necessary = graded[Grade.NECESSARY]
            read = failure.assignment if necessary else None
            doubt = _of_other_form(provider, failure)
            return cls(
                space, read, necessary, slow=graded[Grade.SLOW], doubt=doubt, untiled=untiled
            )
        except MismatchError as failure:
            lacks = isinstance(failure, MissingEntryError)
            return cls(
                space,
                lacks=(Violation(str(failure), origin),) if lacks else (),
                doubt=_of_other_form(provider, failure),
            )
        # Grade the violated rules; doubts remain only if no necessary rule is violated.
        answer = space.check(assignment, limits)
        untiled = space.untiled(configuration)
        graded = _graded(answer, untiled)
        doubt = answer.reason
        if graded[Grade.SUFFICIENT]:
            doubt = f"the compiler may refuse it: {_join(map(str, graded[Grade.SUFFICIENT]))}"
        elif graded[Grade.SLOW]:
            doubt = f"it may take minutes to compile: {_join(map(str, graded[Grade.SLOW]))}"
        elif not space.is_sufficient:
            doubt = (
                f"only {provider}'s own constraints cover it, which accept what does not compile"
            )
        broken = graded[Grade.NECESSARY], graded[Grade.COMPILER], graded[Grade.UNSAFE]
        return cls(space, assignment, *broken, graded[Grade.SLOW], doubt=doubt, untiled=untiled)

    def refute(self, pipeline: str, limits: Limits) -> ConfigurationAnswer:
        """Return the answer for a configuration that this space refutes."""
        violations = self.necessary or self.compilers or self.lacks
        propose = partial(self.propose, limits)
        return ConfigurationAnswer(Verdict.REFUTED, pipeline, violations, propose=propose)

    def propose(self, limits: Limits) -> tuple[Proposal | None, str]:
        """Return the nearest valid configuration, or why there is none."""
        if self.assignment is None:
            return None, ""
        assert self.intended is not None
        return nearest_valid(self.space, self.assignment, self.intended, self.untiled, limits)


def _weigh(findings: Sequence[_Finding], pipeline: str, limits: Limits) -> ConfigurationAnswer:
    """Return the answer about a configuration that no space refutes."""
    # Tuninglink's copies of the compiler's rules count only where the compiler has no constraints.
    compilers = [
        finding
        for finding in findings
        if isinstance(finding.space, CompilerSpace) and finding.is_read
    ]
    judges = compilers or [finding for finding in findings if finding.is_read]
    accepted = any(not judge.compilers for judge in judges)
    rejecting = None if accepted else next((judge for judge in judges if judge.compilers), None)
    is_proven = any(
        finding.is_read
        and finding.space.is_sufficient
        and not finding.doubt
        and not finding.compilers
        for finding in findings
    )
    verdict = Verdict.PROVEN if is_proven else Verdict.NOT_DECIDED
    doubts = [_doubt(finding) for finding in findings if finding is not rejecting]
    rejected = "the compiler's own constraints reject it, and may accept less than compiles"
    reason = "" if is_proven else _join(doubts) or rejected
    if not findings:
        reason = "no constraints cover its padding"
    # What may not compile is not decided yet; a crash is for code that compiles.
    unsafe = next((finding for finding in findings if finding.unsafe), None) if is_proven else None
    slow = None if is_proven else next((finding for finding in findings if finding.slow), None)
    objecting = rejecting or unsafe or slow
    if objecting is None:
        return ConfigurationAnswer(verdict, pipeline, reason=reason)
    return ConfigurationAnswer(
        verdict,
        pipeline,
        discouraged=() if rejecting is None else rejecting.compilers,
        unsafe=() if unsafe is None else unsafe.unsafe,
        slow=() if slow is None else slow.slow,
        reason=reason,
        propose=partial(objecting.propose, limits),
    )


def _of_other_form(provider: str, failure: MismatchError) -> str:
    return f"{provider}'s constraints cover configurations of another form: {failure}"


def _graded(answer: CheckAnswer, untiled: frozenset[str]) -> dict[Grade, tuple[Violation, ...]]:
    """Return the violations by their grade."""
    violations = [_with_zeros(violation, untiled) for violation in answer.violations]
    return {
        grade: tuple(violation for violation in violations if violation.grade is grade)
        for grade in Grade
    }


def _with_zeros(violation: Violation, untiled: frozenset[str]) -> Violation:
    """Return a violation that displays tiles of 0 as they are written."""
    if untiled.isdisjoint(violation.knobs):
        return violation
    values = tuple(
        f"{knob} = {of_zero(int(value.rpartition(' ')[2]))}" if knob in untiled else value
        for knob, value in zip(violation.knobs, violation.values, strict=True)
    )
    return replace(violation, values=values)


def _doubt(finding: _Finding) -> str:
    if finding.compilers and not isinstance(finding.space, CompilerSpace):
        return f"the compiler may refuse it: {_join(map(str, finding.compilers))}"
    return finding.doubt


def _join(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
