"""Whether the configuration of an entry holds under the constraints of its pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.checking.answers import Answer
from tuninglink.payloads import configured
from tuninglink.solver.answers import Verdict
from tuninglink.spaces.configuration import read_configuration
from tuninglink.spaces.verification import verify_configuration

if TYPE_CHECKING:
    from tuninglink.payloads import Payload
    from tuninglink.solver.answers import Limits
    from tuninglink.spaces.registry import ProviderRegistry
    from tuninglink.spaces.verification import ConfigurationAnswer
    from tuninglink.spaces.workload import Workload


MOST_PROPOSALS: Final = 20
"""For how many rejected configurations the nearest valid one is looked for."""


class ConfigurationChecks:
    """Checks configurations; equal ones of equal ops are checked once.

    Args:
        registry: who knows constraints.
        limits: how long each question may take.
    """

    def __init__(self, registry: ProviderRegistry, limits: Limits) -> None:
        self._registry = registry
        self._limits = limits
        self._known: dict[tuple[str, str], Answer] = {}
        self._proposals = 0

    def check(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Tells whether the configuration that its entry gives to a payload is valid.

        Args:
            payload: the payload.
            target: a `#hal.executable.target`.
        """
        try:
            dispatch = configured(payload.entry, payload, target)
        except mlir.MLIRError as failure:
            messages = [each.message for each in failure.error_diagnostics] or [str(failure)]
            return Answer(Verdict.REFUTED, f"the compiler refuses it: {messages[0]}")
        return self.judge(dispatch)

    def judge(self, dispatch: Workload) -> Answer:
        """Tells whether the configuration that the root op of a dispatch has is valid."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            return Answer(
                Verdict.NOT_DECIDED, "it sets no lowering_config, so there is nothing to check"
            )
        key = str(dispatch.target), str(dispatch.function)
        if key not in self._known:
            found = verify_configuration(dispatch, configuration, self._registry, self._limits)
            self._known[key] = self._answer(found)
        return self._known[key]

    def _answer(self, found: ConfigurationAnswer) -> Answer:
        reason, warning = found.reason, ""
        if found.violations:
            reason = f"{found.violations[0]} in pipeline {found.pipeline}"
        elif found.discouraged:
            warning = f"{found.discouraged[0]} in pipeline {found.pipeline}"
        return Answer(found.verdict, reason, self._details(found), warning)

    def _details(self, found: ConfigurationAnswer) -> tuple[str, ...]:
        """Returns what else there is to say; finding a valid configuration takes longer than all else."""
        if not found.violations and not found.discouraged:
            return ()
        self._proposals += 1
        return found.notes if self._proposals <= MOST_PROPOSALS else found.further_violations
