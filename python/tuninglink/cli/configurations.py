"""Whether the configurations of a spec hold on a target, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.checking.configuration_checks import ConfigurationChecks
from tuninglink.cli import process
from tuninglink.compiler.executable_targets import executable_target
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict
from tuninglink.spaces.provider_registry import ProviderRegistry

if TYPE_CHECKING:
    from iree.compiler.ir import Attribute

    from tuninglink.iree.targets import Target
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

_WORDS: Final = {
    Verdict.PROVEN: "valid",
    Verdict.REFUTED: "invalid",
    Verdict.NOT_DECIDED: "not decided",
}


def check_configurations(spec: Spec, target: Target) -> str:
    """Returns a line about each entry: whether its configuration is valid on a program made for it."""
    attribute = executable_target(compile_flags(target), spec.module.context)
    registry = ProviderRegistry(process.show)
    checks = ConfigurationChecks(registry, DEFAULT_LIMITS)
    lines = [f"configurations on {target}"]
    lines += [
        f"  @{each.matcher}: {_verdict(each, target, attribute, checks)}" for each in spec.entries
    ]
    return "\n".join(lines) + "\n"


def _verdict(
    entry: Entry, target: Target, attribute: Attribute, checks: ConfigurationChecks
) -> str:
    try:
        payload = payload_for(entry, target)
    except PayloadError as failure:
        return f"not decided: no program can be made that it matches: {failure.reason}"
    answer = checks.check_payload(payload, attribute)
    warning = answer.warning and f"the compiler's own constraints reject it: {answer.warning}"
    said = "; ".join(filter(None, (answer.reason, warning, *answer.details)))
    return f"{_WORDS[answer.verdict]}: {said}" if said else _WORDS[answer.verdict]
