"""Findings as workflow commands of GitHub Actions, which shows them as annotations of a change.

The format is that of "Workflow commands for GitHub Actions" in GitHub's documentation. The escaping follows the package
`@actions/core`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.mlir.diagnostics import Severity

if TYPE_CHECKING:
    from tuninglink.checking.findings import Finding

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def to_github(finding: Finding) -> str:
    """Return the workflow command for a finding, one line without its terminator."""
    diagnostic = finding.diagnostic
    properties: dict[str, str] = {}
    if diagnostic.place is not None:
        properties["file"] = diagnostic.place.file
        if diagnostic.place.line > 0:
            properties |= {
                "line": str(diagnostic.place.line),
                "col": str(max(diagnostic.place.column, 1)),
            }
    properties["title"] = finding.rule.description
    written = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    text = "\n".join([diagnostic.message, *map(str, diagnostic.notes)])
    return f"::{_COMMANDS.get(diagnostic.severity, 'notice')} {written}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
