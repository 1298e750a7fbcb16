"""Whether the configuration of an entry holds under the constraints of its pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.checking.answers import Answer
from tuninglink.payloads import configured
from tuninglink.solver.answers import Verdict
from tuninglink.spaces.configuration import read_configuration
from tuninglink.spaces.verification import verify_configuration

if TYPE_CHECKING:
    from tuninglink.payloads import Payload
    from tuninglink.solver.answers import Limits
    from tuninglink.spaces.providers import ProviderRegistry
    from tuninglink.spaces.verification import ConfigurationAnswer


class ConfigurationChecks:
    """Checks configurations for one target.

    Args:
        target: a `#hal.executable.target`.
        registry: who knows constraints.
        limits: how long each question may take.
    """

    def __init__(self, target: mlir.Attribute, registry: ProviderRegistry, limits: Limits) -> None:
        self._target = target
        self._registry = registry
        self._limits = limits

    def check(self, payload: Payload) -> Answer:
        """Tells whether the configuration that its entry gives to a payload is valid."""
        try:
            dispatch = configured(payload.entry, payload, self._target)
        except mlir.MLIRError as failure:
            messages = [each.message for each in failure.error_diagnostics] or [str(failure)]
            return Answer(Verdict.REFUTED, f"the compiler refuses it: {messages[0]}")
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            return Answer(
                Verdict.NOT_DECIDED, "it sets no lowering_config, so there is nothing to check"
            )
        return _answer(verify_configuration(dispatch, configuration, self._registry, self._limits))


def _answer(found: ConfigurationAnswer) -> Answer:
    if found.verdict is not Verdict.REFUTED:
        return Answer(found.verdict, found.reason)
    first, *others = map(str, found.violations)
    if found.is_incomplete:
        # The compiler's verifier refuses it; code generation may do well with what it takes by default.
        reason = f"{first}, which the constraints of {found.pipeline} speak of"
        return Answer(Verdict.NOT_DECIDED, reason)
    details = [f"violated as well: {each}" for each in others]
    if found.proposal is not None:
        details.append(str(found.proposal))
    elif found.reason:
        details.append(found.reason)
    return Answer(Verdict.REFUTED, f"{first} in pipeline {found.pipeline}", tuple(details))
