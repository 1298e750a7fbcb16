"""Writes the failures of a run of the suite as Markdown, for an issue.

Usage: failure_report.py LOG... [--run URL]
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

_FAILURE: Final = re.compile(
    r"^(?:FAILED|ERROR) \S+.*|^FAIL: .*? \(|^make: \*\*\* .*|.*\bFAILED: .*", re.MULTILINE
)
"""The lines of pytest, lit, make and `tuninglink doctor` that name a failure."""

_MOST: Final = 100
"""The maximum number of listed failures; an issue has a limit of 65,536 characters."""

_LONGEST: Final = 300
"""The maximum length of a kept line, in characters."""

_TAIL: Final = 60
"""The number of last lines that are quoted."""


def failures(log: str) -> list[str]:
    """Return the failures that a log names, without repetitions."""
    lines = (match[0].removesuffix(" (").strip()[:_LONGEST] for match in _FAILURE.finditer(log))
    return list(dict.fromkeys(lines))


def report(logs: list[str], run: str) -> str:
    """Return the text of an issue."""
    listed = [line for log in logs for line in failures(log)]
    more = f"\n\n{len(listed) - _MOST:,} more are in the log." if len(listed) > _MOST else ""
    names = "\n".join(f"- `{line}`" for line in listed[:_MOST]) or "The log names no test."
    tail = "\n".join(line[:_LONGEST] for line in logs[0].splitlines()[-_TAIL:])
    source = f"\n\nThe run: {run}" if run else ""
    return f"{names}{more}{source}\n\n```\n{tail}\n```\n"


def main() -> None:
    """Read the logs that exist and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--run", default="")
    arguments = parser.parse_args()
    logs = [path.read_text(errors="replace") for path in arguments.logs if path.exists()]
    print(report(logs or [""], arguments.run), end="")


if __name__ == "__main__":
    main()
