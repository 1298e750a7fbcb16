"""Lays out the package under a build directory as an installation does, with links into the source tree.

The package comes from two folders (`python/tuninglink` and `passes`), and what does not know editable
installs, such as a type checker or a compiler's CI, cannot put them together. Afterwards

- `BUILD/python` on the Python path makes `tuninglink` importable, `tuninglink.passes` included;
- `BUILD/bin` holds the commands, run by this script's Python.

Usage: stage_package.py BUILD
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parent.parent
COMMANDS = {"tuninglink": "tuninglink.cli.main", "tuninglink-opt": "tuninglink.cli.opt"}


def layout() -> Iterator[tuple[str, Path]]:
    """Yields each path in the package, relative to it, with the path in the source tree it stands for."""
    for path in sorted((SOURCE / "python" / "tuninglink").iterdir()):
        if path.name != "__pycache__":
            yield path.name, path
    yield "passes", SOURCE / "passes"
    yield "examples", SOURCE / "examples"
    for path in sorted((SOURCE / "specs").glob("*/*.mlir")):
        yield f"shipped/{path.parent.name}/{path.name}", path


def link(place: Path, target: Path) -> None:
    """Makes `place` a symbolic link to `target`, atomically, if it is not one already."""
    if place.is_symlink() and place.readlink() == target:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(place)


def write_command(place: Path, python_path: Path, module: str) -> None:
    """Writes an executable script that runs the `main` of `module` with the staged package."""
    program = (
        f'import sys; sys.argv[0] = "{place.name}"; from {module} import main; sys.exit(main())'
    )
    text = f"""#!/bin/sh
PYTHONPATH={shlex.quote(str(python_path))}"${{PYTHONPATH:+:$PYTHONPATH}}"
export PYTHONPATH
exec {shlex.quote(sys.executable)} -c '{program}' "$@"
"""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or place.read_text() != text:
        place.write_text(text)
        place.chmod(0o755)


def main() -> int:
    """Stages the package and the commands; returns the exit code."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the script and one argument
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    package = build / "python" / "tuninglink"
    package.mkdir(parents=True, exist_ok=True)
    for stale in package.rglob("*"):
        if stale.is_symlink() and not stale.exists():
            stale.unlink()
    for name, target in layout():
        link(package / name, target)
    for command, module in COMMANDS.items():
        write_command(build / "bin" / command, build / "python", module)
    return 0


if __name__ == "__main__":
    sys.exit(main())
