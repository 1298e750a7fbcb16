"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProjectFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Take the specs of this project file where none is given. Default: tuninglink.toml, or "
        "pyproject.toml with [tool.tuninglink], in the working directory or above it.",
        show_default=False,
    ),
]
NoProject = Annotated[bool, typer.Option("--no-project", help="Use no project file.")]
NoUpgrade = Annotated[
    bool,
    typer.Option("--no-upgrade", help="Refuse specs that were written for an older compiler."),
]
