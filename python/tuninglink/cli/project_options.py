"""Options from a project file."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.process import shown_diagnostics
from tuninglink.cli.terminal import is_verbose
from tuninglink.cli.usage import usage_error
from tuninglink.compiler import (
    NAMING_FLAGS,
    FlagReader,
    check_found_flags,
    set_up_command_line,
    spec_diagnostics,
)
from tuninglink.llvm_flags import Flag, flag_name, option, read_name, switch, toggle
from tuninglink.specs import OWN_FILE, Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


PROJECT_FLAGS: Final = {
    "project": Flag(
        "project",
        read_name,
        metavar="FILE",
        help="Take specs and flags from this project file after those given. Default: tuninglink.toml, or "
        "pyproject.toml with [tool.tuninglink], in the working directory or above it in its repository. All flags are "
        "accepted from a file that is named.",
    ),
    "no-project": switch("no_project", "Use no project file."),
}
"""The flags for the project, which are parsed before the other flags of a command."""


@dataclass(frozen=True)
class ProjectOptions:
    """The project whose specs a command on specs takes where none is given."""

    file: str = option(
        "",
        PROJECT_FLAGS["project"],
        name="project",
        help="Take the specs of this project file where none is given. Default: tuninglink.toml, or pyproject.toml with "
        "[tool.tuninglink], in the working directory or above it in its repository.",
    )
    is_ignored: bool = toggle(PROJECT_FLAGS["no-project"].help, name="no-project")

    def specs(self) -> tuple[str, ...]:
        """Return the specs of the project as arguments."""
        if self.is_ignored:
            raise usage_error("no spec is given, and --no-project is")
        project = used_project(self.file)
        if project is None or not project.specs:
            message = f"no spec is given, and there is no project file that names one, such as '{OWN_FILE}'"
            raise usage_error(message)
        return project.arguments


def with_project(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Add the options of a project to a command that takes compiler flags.

    A flag on the command line overrides the project's flag, and a target overrides all that name another one.
    """
    own, end = list(arguments), []
    if "--" in own:
        position = own.index("--")
        own, end = own[:position], own[position:]
    # Remove the project flags, and read the project.
    file: str | None = ""
    for position, argument in reversed(list(enumerate(own))):
        name, equals, value = argument.partition("=")
        if name == "--no-project":
            del own[position]
            file = None
        elif name == "--project":
            file = value if equals else "".join(own[position + 1 : position + 2])
            del own[position : position + (1 if equals else 2)]
            break
    project = None if file is None else used_project(file)
    if project is None:
        return own + end, ()
    given = {flag_name(argument) for argument in own}
    if "target" in given:
        given.update(map(flag_name, NAMING_FLAGS))
    elif not given.isdisjoint(map(flag_name, NAMING_FLAGS)):
        given.add("target")
    # Join flags with values that are separate words.
    words: list[str] = []
    for word in project.expanded_flags:
        if words and not word.startswith("-") and "=" not in words[-1]:
            words[-1] += f"={word}"
        else:
            words.append(word)
    if not project.is_named:
        check_found_flags(words, os.path.relpath(project.path))
    flags = [flag for flag in words if flag_name(flag) not in given]
    if not project.default_specs:
        flags.append("--no-default-specs")
    return [*own, *flags, *end], project.arguments


def used_project(file: str = "") -> Project | None:
    """Read the project file, or find one if none is named, and tell the user which one is used."""
    project = Project.named(Path(file)) if file else Project.find()
    if project is not None:
        shown_diagnostics().remark(f"using the project file '{os.path.relpath(project.path)}'")
    return project


def set_up_compiler(program: str, flags: Sequence[str], *, upgrade: bool = True) -> None:
    """Set process-wide flags for a command that compiles programs, and report its preprocessing specs.

    A process can run such a command only once.
    """
    set_up_command_line(program, flags)
    process.show(*spec_diagnostics(flags, upgrade=upgrade))


def read_flags(own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> FlagReader:
    """Read a command line, and show what `--target` stands for if the command is verbose."""
    reader = FlagReader(own_flags, arguments)
    if reader.target and is_verbose():
        sys.stderr.write(f"--target {reader.target}: {' '.join(reader.target_flags)}\n")
    return reader
