"""`tuninglink lock`: pinning of the specs of a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.project_options import PROJECT_FLAGS, used_project
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.usage import Usage, usage_error
from tuninglink.llvm_flags import flags_of, option, toggle
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import LOCK_FILE, OWN_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class LockOptions:
    project: str = option(
        "",
        PROJECT_FLAGS["project"],
        help=f"The project file. Default: {OWN_FILE}, or pyproject.toml with [tool.tuninglink], in the working "
        "directory or above it in its repository.",
    )
    check: bool = toggle("Write nothing; fail if a spec is not as locked.")


USAGE: Final[Usage] = Usage(
    name="lock",
    flags=flags_of(LockOptions),
    main_flags=("project", "check"),
    description="""
From then on a spec that changed is an error, wherever the project is compiled. URLs are fetched and kept in the cache.
""",
    examples=("tuninglink lock", "tuninglink lock --check"),
)


def lock_command(arguments: Sequence[str]) -> int:
    values, _ = USAGE.parse(arguments)
    options = LockOptions(**values)
    project = used_project(options.project)
    if project is None:
        raise usage_error(f"there is no project file, such as '{OWN_FILE}'")
    project.check_has_specs()
    # Warnings about URLs without a hash do not apply: this command adds the hashes.
    quiet = DiagnosticSink(lambda _: None)
    with progress("locking"):
        if options.check:
            project.check_lock(process.shown_diagnostics())
            return process.SUCCESS
        files = project.write_lock(quiet)
    print_table(("spec", "sha256"), [(file.name, file.sha256) for file in files], title=LOCK_FILE)
    return process.SUCCESS
