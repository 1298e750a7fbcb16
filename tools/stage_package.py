"""Writes commands that run the package in the source tree, for tests where it is not installed.

`BUILD/bin` then holds the commands, run by this script's Python.

Usage: stage_package.py BUILD
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parent.parent / "python"
COMMANDS = {"tuninglink": "tuninglink.cli.main", "tuninglink-opt": "tuninglink.cli.opt"}


def write_command(place: Path, module: str) -> None:
    """Write an executable script that runs the `main` of `module`."""
    program = (
        f'import sys; sys.argv[0] = "{place.name}"; from {module} import main; sys.exit(main())'
    )
    text = f"""#!/bin/sh
PYTHONPATH={shlex.quote(str(PACKAGE_PARENT))}"${{PYTHONPATH:+:$PYTHONPATH}}"
export PYTHONPATH
exec {shlex.quote(sys.executable)} -c '{program}' "$@"
"""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


def main() -> int:
    """Write the commands; return the exit code."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the script and one argument
        print(__doc__, file=sys.stderr)
        return 2
    for command, module in COMMANDS.items():
        write_command(Path(sys.argv[1]).resolve() / "bin" / command, module)
    return 0


if __name__ == "__main__":
    sys.exit(main())
