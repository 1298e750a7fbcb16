"""`tuninglink lock`: pin the specs of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.progress import progress
from tuninglink.cli.terminal import print_table
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import DiagnosticSink, error
from tuninglink.specs.project import LOCK_FILE, OWN_FILE, Project


def lock(
    *,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"The project file. Default: `{OWN_FILE}`, or `pyproject.toml` with `[tool.tuninglink]`, in the "
            "working directory or above it.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a spec is not as locked.")
    ] = False,
) -> None:
    """Pin the specs of a project: write their hashes to `tuninglink.lock` beside the project file.

    From then on a spec that changed is an error, wherever the project is compiled. URLs are fetched and kept in
    the cache.

    Examples:
        tuninglink lock
        tuninglink lock --check
    """
    result = Project.named(project) if project else Project.find(Path.cwd())
    if result is None:
        raise TuninglinkError(error(f"there is no project file, such as '{OWN_FILE}'"))
    # A URL without a hash is what this command is for.
    quiet = DiagnosticSink(lambda _: None)
    with progress("locking"):
        if check:
            result.check_lock(process.shown_diagnostics())
            return
        files = result.write_lock(quiet)
    print_table(("spec", "sha256"), [(file.name, file.sha256) for file in files], title=LOCK_FILE)
