"""Checking the configuration of a dispatch against all constraints that are known for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    AssignmentError,
    UndecidedError,
    Verdict,
    Violation,
)
from tuninglink.spaces.configuration import MismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iree.compiler import ir as mlir

    from tuninglink.solver.answers import Limits
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.providers import Dispatch, ProviderRegistry, Space


@dataclass(frozen=True)
class Proposal:
    """The valid configuration that is nearest to an invalid one.

    Attributes:
        changes: for each knob that differs, its name, its old and its new value.
        compilation_info: the whole configuration, None if the provider cannot write it.
        is_proven: whether no other is nearer; else it is the best that was found in time.
    """

    changes: tuple[tuple[str, int, int], ...]
    compilation_info: mlir.Attribute | None
    is_proven: bool

    def __str__(self) -> str:
        changes = ", ".join(f"{name} from {old} to {new}" for name, old, new in self.changes)
        which = "the nearest" if self.is_proven else "the nearest found in time"
        text = f"{which} valid configuration changes {changes}"
        if self.compilation_info is None:
            return text
        return f"{text}: {self.compilation_info}"


@dataclass(frozen=True)
class ConfigurationAnswer:
    """Whether a configuration is valid.

    Attributes:
        verdict: proven: valid; refuted: not.
        pipeline: the pipeline that it configures, as MLIR writes it.
        violations: if refuted, what it violates.
        proposal: if refuted, the nearest valid configuration, or None if none was found.
        reason: if not decided, why not; if refuted without a proposal, why there is none.
        is_incomplete: if refuted, whether that is only because it lacks something that constraints speak of. The
            compiler's verifier refuses it as well; its code generation may have a default.
    """

    verdict: Verdict
    pipeline: str
    violations: tuple[Violation, ...] = ()
    proposal: Proposal | None = None
    reason: str = ""
    is_incomplete: bool = False


def verify_configuration(
    dispatch: Dispatch,
    configuration: Configuration,
    registry: ProviderRegistry,
    limits: Limits = DEFAULT_LIMITS,
) -> ConfigurationAnswer:
    """Tells whether a configuration is valid.

    It is refuted as soon as one provider's constraints that speak of configurations of its form refute it, or
    if it lacks something that they need. It is proven if some do speak of it and none refutes it.

    Args:
        dispatch: what is configured.
        configuration: how.
        registry: who knows constraints.
        limits: how long each question may take.
    """
    if configuration.pipeline is None:
        reason = "the function has no translation_info, so there is no pipeline"
        return ConfigurationAnswer(Verdict.NOT_DECIDED, "", reason=reason)
    pipeline = str(configuration.pipeline)
    try:
        spaces = registry.spaces(dispatch, pipeline)
    except UndecidedError as failure:
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=failure.reason)
    is_proven = False
    reasons = []
    for each in spaces:
        answer = _verify_in(each, pipeline, configuration, limits)
        if answer.verdict is Verdict.REFUTED:
            return answer
        is_proven |= answer.verdict is Verdict.PROVEN
        reasons.append(answer.reason)
    if is_proven:
        return ConfigurationAnswer(Verdict.PROVEN, pipeline)
    reason = "; ".join(dict.fromkeys(reasons))
    return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=reason)


def _verify_in(
    space: Space, pipeline: str, configuration: Configuration, limits: Limits
) -> ConfigurationAnswer:
    provider = space.constraints.provider
    try:
        assignment = space.assignment(configuration)
    except MismatchError as failure:
        if failure.is_missing:
            origin = f"{provider}'s constraints of {pipeline}"
            violation = Violation(str(failure), origin)
            return ConfigurationAnswer(Verdict.REFUTED, pipeline, (violation,), is_incomplete=True)
        reason = f"{provider}'s constraints speak of configurations of another form: {failure}"
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=reason)
    answer = space.constraints.check(assignment, limits)
    if answer.verdict is not Verdict.REFUTED:
        return ConfigurationAnswer(answer.verdict, pipeline, reason=answer.reason)
    proposal, reason = _nearest(space, assignment, limits)
    return ConfigurationAnswer(Verdict.REFUTED, pipeline, answer.violations, proposal, reason)


def _nearest(
    space: Space, assignment: Mapping[str, int], limits: Limits
) -> tuple[Proposal | None, str]:
    answer = space.constraints.nearest(assignment, limits)
    if answer.assignment is None:
        if answer.verdict is Verdict.REFUTED:
            return None, "there is no valid configuration in this pipeline"
        return None, f"no valid configuration was found in time: {answer.reason}"
    try:
        info = space.compilation_info(answer.assignment)
    except AssignmentError:
        info = None
    changes = tuple((name, assignment[name], value) for name, value in answer.changed.items())
    return Proposal(changes, info, answer.verdict is Verdict.PROVEN), ""
