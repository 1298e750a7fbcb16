"""The commands, their options and their usage texts."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    choice,
    dashed,
    read_count,
    switch,
)
from tuninglink.mlir import error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    from tuninglink.tuning.database import Database


SUMMARIES: Final = {
    "link": "Link specs into one that iree-compile accepts.",
    "compile": "Compile a program as iree-compile does, tuned by specs.",
    "explain": "Show what specs do to a program, and why an entry does not match.",
    "init": "Write a spec to start from: the compiler's own configurations.",
    "tune": "Measure configurations on a device; write a spec with faster ones.",
    "verify": "Compare what dispatches compute with a reference and with NumPy.",
    "retune": "Measure the entries of specs again; drop, keep or improve each.",
    "check": "Find entries that are invalid, match nothing or are never reached.",
    "diff": "Show what changed from one report or spec to a later one.",
    "dump": "Write the specs that the dispatches of a program carry.",
    "targets": "List default specs, libraries and known targets.",
    "lock": "Pin the specs of a project by their hashes, in tuninglink.lock.",
    "demo": "Compile a matmul for three targets, each with its spec; tune another.",
    "upgrade": "Bring a spec for an older compiler into today's syntax.",
    "database show": "Show problems with their trials, the default's time and the best.",
    "database merge": "Add the trials of other databases, each once.",
    "database export": "Write all trials of a database.",
    "database insights": "Show what fast candidates, and what failures, have in common.",
    "database history": "Show times over compilers and drivers, and which changed.",
    "database import": "Add the trials of recorded tables and of exports.",
    "doctor": "Show versions, drivers, devices and caches; check the compiler.",
}
"""The first word is the module of a command, the last one its function. A summary fits on a line of 80 columns."""

GROUPS: Final = {
    "": "The toolchain around tuning specs for IREE: link, check, apply, explain, upgrade and tune them.",
    "database": "Show, combine and analyze the databases of tune --database.",
}
"""The summaries of groups of commands."""

TOPICS: Final = {
    "Use specs": ("compile", "link", "check", "explain"),
    "Make specs": ("tune", "init", "retune", "verify"),
    "Maintain specs": ("upgrade", "diff", "lock"),
    "Inspect": ("targets", "dump", "doctor", "database"),
}
"""The commands and groups of commands by what they are for."""

HELP_COMMAND: Final = "help"

COMPLETE_HELP: Final = "help-all"
"""The flag that shows also what is rarely used."""

INSTALL_FLAG: Final = "--install-completion"

COMPLETION_REQUEST: Final = "_TUNINGLINK_COMPLETE"
"""The variable with which a shell requests completions."""


class ReportFormat(Enum):
    """The format of a report, named as in `--format`."""

    TABLE = "table"
    JSON = "json"


COMMON_FLAGS: Final = {
    "quiet": Flag(
        "", switch=True, short="q", help="Show errors and warnings only: no remarks, no progress."
    ),
    "verbose": Flag(
        "",
        switch=True,
        short="v",
        help="Show how long the steps take, and what --target stands for.",
    ),
    "help": Flag("", switch=True, short="h", help="Show this message and exit."),
    COMPLETE_HELP: Flag("", switch=True),
}
"""The flags of every command, which are parsed before its own."""

JOBS_FLAG: Final[Flag] = Flag(
    "jobs",
    read_count,
    short="j",
    metavar="N",
    help="How many compilations run at once. Default: one for each core.",
)
FORMAT_FLAG: Final = choice(
    "report_format", ReportFormat, "How the report is written. Default: table."
)


def option(default: Any, base: Flag | None = None, *, name: str = "", **changes: Any) -> Any:
    """Return a field of a command's options, with the flag that sets it: `base` with changes.

    The flag has the name of the field with dashes, if no other is given.
    """
    flag = replace(base or Flag(""), **changes)
    return field(default=default, metadata={"flag": flag, "name": name})


def toggle(help_: str, *, name: str = "", default: bool = False) -> Any:
    """Return a field of a command's options that a flag without a value changes from its default."""
    return option(default, switch("", help_, value=not default), name=name)


def flags_of(options: type) -> dict[str, Flag]:
    """Return the flags that the fields of a command's options declare, by name."""
    return {
        entry.metadata["name"] or entry.name.replace("_", "-"): replace(
            entry.metadata["flag"], target=entry.name
        )
        for entry in fields(options)
        if "flag" in entry.metadata
    }


@dataclass(frozen=True)
class Positional:
    """Arguments of a command without a flag."""

    metavar: str
    help: str
    optional: bool = False
    repeats: bool = False
    values: Callable[[], Iterable[str]] | None = None

    def __str__(self) -> str:
        name = f"[{self.metavar}]" if self.optional else self.metavar
        return f"{name}..." if self.repeats else name


class Section(NamedTuple):
    """A part of a help text."""

    heading: str
    flags: tuple[str, ...]
    more: tuple[str, ...] = ()


SPEC_SECTION: Final[Section] = Section(
    "Specs",
    (
        *("spec", "spec-dir", "no-default-specs", "no-upgrade", "no-derived-entries"),
        *("skip-failing-entries", "project", "no-project"),
    ),
)
"""The flags for the specs of a program."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The usage of a command."""

    name: str
    positionals: tuple[Positional, ...] = ()
    flags: Mapping[str, Flag]
    sections: tuple[Section, ...] = ()
    main_flags: tuple[str, ...] = ()
    takes_compiler_flags: bool = False
    description: str = ""
    examples: tuple[str, ...]
    more: str = ""

    @property
    def line(self) -> str:
        """The usage line: the command with placeholders for its arguments."""
        parts = ["tuninglink", self.name, *map(str, self.positionals)]
        for name in self.main_flags:
            flag = self.flags[name]
            repeated = "..." if flag.repeats else ""
            parts.append(f"[{dashed(flag.short or name)}{_value(flag)}]{repeated}")
        if self.takes_compiler_flags:
            parts.append("[any iree-compile flag]...")
        elif set(self.main_flags) != {name for name, flag in self.flags.items() if flag.help}:
            parts.append("[FLAG]...")
        return " ".join(parts)

    def parse(self, arguments: Iterable[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the values of the flags by field, and the other arguments, of a command without compiler flags."""
        remedy = note(f"see 'tuninglink {self.name} --help'")
        try:
            line = CommandLine(self.flags, arguments)
        except CommandLineError as failure:
            raise UsageError(error(str(failure), notes=[remedy])) from None
        for unknown in line.unknown:
            name = dashed(unknown.name)
            hint = did_you_mean(name, map(dashed, self.flags))
            raise UsageError(error(f"unknown flag '{name}'{hint}", notes=[remedy]))
        words, remedy = line.words, note(f"usage: {self.line}")
        needed = [argument for argument in self.positionals if not argument.optional]
        if len(words) < len(needed):
            message = f"the argument {needed[len(words)].metavar} is missing"
            raise UsageError(error(message, notes=[remedy]))
        repeats = any(argument.repeats for argument in self.positionals)
        if len(words) > len(self.positionals) and not repeats:
            message = f"unexpected argument '{words[len(self.positionals)]}'"
            raise UsageError(error(message, notes=[remedy]))
        # An empty path would mean the working directory.
        for position, word in enumerate(words):
            if not word:
                argument = self.positionals[min(position, len(self.positionals) - 1)]
                raise UsageError(error(f"the argument {argument.metavar} is empty", notes=[remedy]))
        return line.values, tuple(words)


def usage_of(name: str) -> Usage:
    """Return the usage of a command, such as `link` or `database show`."""
    module, subcommand = module_of(name), name.partition(" ")[2]
    usage: Usage = module.USAGES[subcommand] if subcommand else module.USAGE
    return usage


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which is named after the first word of the command."""
    return import_module(f"tuninglink.cli.{name.partition(' ')[0]}")


def spelling(name: str, flag: Flag) -> str:
    """Return a flag's names with the placeholder of its value."""
    short = f"{dashed(flag.short)}, " if flag.short else ""
    return f"{short}{dashed(name)}{_value(flag)}"


def _value(flag: Flag) -> str:
    gap = " " if flag.metavar and not flag.metavar.startswith(("=", "[=")) else ""
    return f"{gap}{flag.metavar}"


# --- Known values of flags for shell completion, and the check of names against a database -------

_SECONDS: Final = 5
"""The time limit for finding the dispatches of a program, while a shell waits."""


def typed_words() -> list[str]:
    """Return the words of the command line that a shell completes."""
    line = _typed_line()
    try:
        return shlex.split(line)
    except ValueError:  # a quote is open
        return line.split()


def is_new_word() -> bool:
    """Return whether the word that a shell completes is empty."""
    return _typed_line()[-1:].isspace()


def _typed_line() -> str:
    """Return the command line so far, from bash's variable or from that of other shells."""
    return os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))


def known_compiler_flags() -> Mapping[str, Sequence[str]]:
    """Return the compiler's `iree-` flags, with the values that its help lists and the names of known targets."""
    from tuninglink.compiler import compile_flags, listed_values  # noqa: PLC0415
    from tuninglink.iree import known_target_names  # noqa: PLC0415

    flags = {name: values for name, values in listed_values().items() if name.startswith("iree-")}
    flags["iree-opt-level"] = ["O0", "O1", "O2", "O3"]
    for target in known_target_names().values():
        for flag in compile_flags(target):
            name, _, value = flag.removeprefix("--").partition("=")
            flags.setdefault(name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in flags.items()}


def known_devices() -> Iterable[str]:
    """Return the drivers of the runtime; the name of a driver also names its first device."""
    try:
        from iree import runtime  # noqa: PLC0415 - an extra
    except ImportError:
        return ()
    return sorted(runtime.query_available_drivers())


def known_searches() -> Iterable[str]:
    """Return the names of search algorithms."""
    from tuninglink.tuning.search import search_names  # noqa: PLC0415 - only a shell needs the list

    return search_names()


def known_records(column: str) -> Callable[[], Iterable[str]]:
    """Return a function that returns the values of a column of the database on the command line that a shell completes."""

    def known() -> Iterable[str]:
        from tuninglink.tuning.database import Database, DatabaseError  # noqa: PLC0415

        path = next((word for word in typed_words()[3:] if Path(word).is_file()), None)
        if path is None:
            return ()
        try:
            with Database(Path(path), read_only=True) as database:
                return list(filter(None, database.values(column)))
        except DatabaseError:
            return ()

    return known


def known_pipelines() -> Iterable[str]:
    """Return the names of the compiler's pipelines."""
    from tuninglink.iree import CPU_PIPELINES, GPU_PIPELINES, gpu_enumerators  # noqa: PLC0415

    return sorted(CPU_PIPELINES.union(*map(gpu_enumerators, GPU_PIPELINES)))


def check_pipelines(names: Iterable[str]) -> None:
    """Check that the compiler has pipelines."""
    for name in names:
        pipelines = known_pipelines()
        if name not in pipelines:
            listed = note(f"the compiler has {', '.join(pipelines)}")
            message = f"unknown pipeline '{name}'{did_you_mean(name, pipelines)}"
            raise UsageError(error(message, notes=[listed]))


def known_dispatches() -> Iterable[str]:
    """Return the names of the dispatches of the program on the command line that a shell completes."""
    from tuninglink.compiler import iree_compile  # noqa: PLC0415 - loads the compiler

    words = typed_words()
    program = next((word for word in words[2:] if Path(word).is_file()), None)
    if program is None:
        return ()
    flags = [word for word in words if word.startswith("--iree-")]
    command = [str(iree_compile()), program, *flags, "--compile-to=flow", "--emit-mlir-bytecode"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return ()
    from iree.compiler import ir  # noqa: PLC0415

    from tuninglink.mlir import parse_module, thread_context  # noqa: PLC0415

    module = parse_module(done.stdout, "", thread_context())
    return [
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in module.regions[0].blocks[0]
        if op.name == "flow.executable"
    ]


def check_recorded(
    database: Database, noun: str, names: Iterable[str], columns: Iterable[str]
) -> None:
    """Check that names of problems are in a database, since a spelling mistake would select nothing."""
    recorded = {value for column in columns for value in database.values(column) if value}
    for name in names:
        if name not in recorded:
            listed = note(f"it has {', '.join(sorted(recorded)) or 'no trials'}")
            message = f"the database has no {noun} '{name}'{did_you_mean(name, recorded)}"
            raise TuninglinkError(error(message, notes=[listed]))
