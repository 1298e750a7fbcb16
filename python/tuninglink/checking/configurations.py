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
    from tuninglink.spaces.registry import ProviderRegistry
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
    reason, warning = found.reason, ""
    if found.violations:
        reason = f"{found.violations[0]} in pipeline {found.pipeline}"
    elif found.discouraged:
        warning = f"{found.discouraged[0]} in pipeline {found.pipeline}"
    return Answer(found.verdict, reason, found.notes, warning)
