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
    binding_of,
    library_files,
    library_names,
    load_spec,
    origin_of,
    shipped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


USAGE: Final[Usage] = Usage(
    name="targets",
    flags={"all": switch("all", "List every known target instead, with its default spec if any.")},
    main_flags=("all",),
    examples=("tuninglink targets", "tuninglink targets --all"),
)


def targets_command(arguments: Sequence[str]) -> int:
    values, _ = USAGE.parse(arguments)
    set_up_command_line("tuninglink targets", ())
    specs, known = shipped(), known_target_names()
    if values.get("all"):
        shipped_names = {target.name for target in specs}
        rows = [
            (
                *(name, target.backend, " > ".join(target.names)),
                next((name for name in target.names if name in shipped_names), ""),
            )
            for name, target in known.items()
        ]
        print_table(("target", "backend", "looked up as", "default spec"), rows)
        return SUCCESS
    for target, spec in specs.items():
        own = target.name
        served = [name for name in known if name != own and own in known[name].names]
        entries = [(entry.matcher, entry.action, origin_of(spec, entry)) for entry in spec.entries]
        title = f"{target} ({target.backend})"
        print_table(("matcher", "action", "source"), entries, title=title)
        sys.stdout.write(f"\nfile: {spec.source}\nused for: {', '.join([own, *served])}\n")
    sys.stdout.write("\n")
    rows = []
    for file in (file for name in library_names() for file in library_files(name)):
        library = load_spec(file.content, name=file.name)
        targets = ", ".join(binding_of(library.module) or ("any",))
        listed = "; ".join(sorted({origin_of(library, entry) for entry in library.entries}))
        name = file.name.removeprefix(LIBRARY)
        rows.append((name, targets, f"{len(library.entries):,}", listed))
    print_table(
        ("library", "targets", "entries", "sources"),
        rows,
        title="libraries, for --spec library:NAME",
    )
    return SUCCESS
