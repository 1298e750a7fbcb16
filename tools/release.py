"""Prepares a release: the version of the package and the section of the changelog.

Usage: release.py [--check] VERSION
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_UNRELEASED: Final = "## Unreleased\n"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:rc\d+)?")
_DECLARED: Final = re.compile(r'^version = ".*"$', re.MULTILINE)


def prepare(version: str, today: dt.date, root: Path = ROOT) -> None:
    """Set the version, and give the unreleased changes to it."""
    project, changelog = root / "pyproject.toml", root / "CHANGELOG.md"
    text = _DECLARED.sub(f'version = "{version}"', project.read_text(), count=1)
    project.write_text(text)
    heading = f"{_UNRELEASED}\n## {version} - {today.isoformat()}\n"
    changelog.write_text(changelog.read_text().replace(_UNRELEASED, heading, 1))


def problems(version: str, root: Path = ROOT) -> list[str]:
    """Return the missing parts of a release."""
    if not _VERSION.fullmatch(version):
        return [f"expected a version such as 1.2.3 or 1.2.3rc1, not '{version}'"]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    missing = []
    if project["version"] != version:
        missing.append(f"pyproject.toml has version {project['version']}, not {version}")
    if f"\n## {version} - " not in (root / "CHANGELOG.md").read_text():
        missing.append(f"CHANGELOG.md has no section '## {version} - DATE'")
    return missing


def main() -> int:
    """Prepare or check a release; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    if not arguments.check and _VERSION.fullmatch(arguments.version):
        prepare(arguments.version, dt.datetime.now(tz=dt.UTC).date())
    missing = problems(arguments.version)
    for each in missing:
        print(f"error: {each}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
