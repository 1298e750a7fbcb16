"""`tuninglink targets`: a list of the specs that come with the package."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli.process import SUCCESS
from tuninglink.cli.terminal import print_table
from tuninglink.cli.usage import Usage
from tuninglink.compiler import set_up_command_line
from tuninglink.iree import known_target_names
from tuninglink.llvm_flags import switch
from tuninglink.specs import (
    LIBRARY,
    ShippedSpec,
    binding_of,
    library_files,
    library_names,
    load_spec,
    provenance_of,
    shipped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


USAGE: Final[Usage] = Usage(
    name="targets",
    flags={"all": switch("all", "List every known target instead, with its default spec if any.")},
    main_flags=("all",),
    examples=("tuninglink targets", "tuninglink targets --all"),
)


def targets_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink targets` with the arguments after the command's name, and return the exit code."""
    values, _ = USAGE.parse(arguments)
    set_up_command_line("tuninglink targets", ())
    specs = shipped()
    if values.get("all"):
        _print_known_targets(specs)
    else:
        for spec in specs:
            _print_spec(spec)
        sys.stdout.write("\n")
        print_table(
            ("library", "targets", "entries", "sources"),
            [row for name in library_names() for row in _library_rows(name)],
            title="libraries, for --spec library:NAME",
        )
    return SUCCESS


def _print_spec(spec: ShippedSpec) -> None:
    served = [
        name
        for name, target in known_target_names().items()
        if name != spec.target.name and spec.target.name in target.names
    ]
    rows = [(entry.matcher, entry.action, entry.source) for entry in spec.entries]
    print_table(
        ("matcher", "action", "source"), rows, title=f"{spec.target} ({spec.target.backend})"
    )
    sys.stdout.write(f"\nfile: {spec.path}\n")
    sys.stdout.write(f"used for: {', '.join([spec.target.name, *served])}\n")


def _library_rows(name: str) -> Iterator[tuple[str, str, str, str]]:
    for file in library_files(name):
        spec = load_spec(file.content, name=file.name)
        targets = binding_of(spec.module) or ("any",)
        table = spec.anatomy.table
        sources = {_source(provenance_of(table, entry.matcher)) for entry in spec.entries}
        listed = "; ".join(sorted(sources))
        yield file.name.removeprefix(LIBRARY), ", ".join(targets), f"{len(spec.entries):,}", listed


def _source(provenance: Mapping[str, object]) -> str:
    device = provenance.get("device")
    return str(provenance.get("source") or (f"tuned on {device}" if device else ""))


def _print_known_targets(specs: Sequence[ShippedSpec]) -> None:
    shipped_names = {spec.target.name for spec in specs}
    rows = [
        (
            name,
            target.backend,
            " > ".join(target.names),
            next((name for name in target.names if name in shipped_names), ""),
        )
        for name, target in known_target_names().items()
    ]
    print_table(("target", "backend", "looked up as", "default spec"), rows)
