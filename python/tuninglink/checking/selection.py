"""The choice of the findings that a check reports, by their rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from tuninglink.errors import did_you_mean
from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.rules import CODES, Rule

_OF_SPECS: Final = frozenset({Rule.OLD_SYNTAX, Rule.ENTRY_POINT})
"""The rules whose remarks are about a spec as a whole."""


def read_codes(text: str) -> frozenset[Rule]:
    """Read the codes of rules, separated by commas. The message of a `ValueError` names the unknown one."""
    codes = list(map(str.strip, text.split(",")))
    for code in codes:
        if code not in CODES:
            hint = did_you_mean(code, CODES) or "; see 'tuninglink check --rules'"
            raise ValueError(f"there is no rule '{code}'{hint}")
    return frozenset(rule for rule in Rule if rule.value in codes)


@dataclass(frozen=True)
class Selection:
    """The findings that a check reports.

    Attributes:
        selected: the rules whose findings are reported, remarks among them; empty for all rules.
        ignored: the rules whose findings are not reported.
        is_complete: whether remarks about entries are reported without being selected.
        is_strict: whether undecided questions are errors.
    """

    selected: frozenset[Rule] = frozenset()
    ignored: frozenset[Rule] = frozenset()
    is_complete: bool = False
    is_strict: bool = False

    def reported(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings to report; undecided questions as errors if the check is strict."""
        return [finding for finding in map(self._graded, findings) if self._reports(finding)]

    def _graded(self, finding: Diagnostic) -> Diagnostic:
        is_error = self.is_strict and finding.rule is Rule.UNDECIDED
        return replace(finding, severity=Severity.ERROR) if is_error else finding

    def _reports(self, finding: Diagnostic) -> bool:
        rule = finding.rule
        if rule is Rule.UNREADABLE:
            return True  # Nothing else is known about the spec.
        if rule in self.ignored or (self.selected and rule not in self.selected):
            return False
        is_minor = finding.severity is Severity.REMARK and rule not in _OF_SPECS
        return not is_minor or self.is_complete or bool(self.selected)
