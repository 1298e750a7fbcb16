"""Findings: diagnostics with their rule, for code review tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from tuninglink.mlir.diagnostics import Diagnostic, Severity


class Rule(Enum):
    """A kind of finding; the value is its identifier in reports, which does not change."""

    STRUCTURE = "spec-structure"
    MATCHES_NOTHING = "matches-nothing"
    INVALID = "invalid-configuration"
    DISCOURAGED = "discouraged-configuration"
    DOES_NOT_COMPILE = "does-not-compile"
    STACK_OVERFLOW = "stack-overflow"
    WRONG_RESULT = "wrong-result"
    UNREACHABLE = "unreachable-entry"
    UNDECIDED = "undecided"

    @property
    def description(self) -> str:
        """The heading for violations of the rule."""
        return _DESCRIPTIONS[self]

    @property
    def severity(self) -> Severity:
        """The default severity of its findings."""
        return _SEVERITIES.get(self, Severity.ERROR)


_DESCRIPTIONS = {
    Rule.STRUCTURE: "The structure of the spec is unsound",
    Rule.MATCHES_NOTHING: "The entry matches nothing",
    Rule.INVALID: "The configuration is invalid",
    Rule.DISCOURAGED: "The compiler's own constraints reject the configuration",
    Rule.DOES_NOT_COMPILE: "The configured program does not compile",
    Rule.STACK_OVERFLOW: "The configured program overflows the stack of the runtime's workers",
    Rule.WRONG_RESULT: "The compiler generates wrong code for the configuration",
    Rule.UNREACHABLE: "The entry is never reached",
    Rule.UNDECIDED: "A question about the entry was not decided",
}
_SEVERITIES = {
    Rule.DISCOURAGED: Severity.WARNING,
    Rule.STACK_OVERFLOW: Severity.WARNING,
    Rule.WRONG_RESULT: Severity.WARNING,
    Rule.UNREACHABLE: Severity.WARNING,
    Rule.UNDECIDED: Severity.REMARK,
}


@dataclass(frozen=True)
class Finding:
    """A fault of a spec or an entry, or an undecided question about it.

    Attributes:
        rule: the kind of the finding.
        diagnostic: its message.
    """

    rule: Rule
    diagnostic: Diagnostic

    def strictly(self) -> Finding:
        """Return the finding under `--strict`, where undecided questions are errors."""
        if self.rule is not Rule.UNDECIDED:
            return self
        return Finding(self.rule, replace(self.diagnostic, severity=Severity.ERROR))
