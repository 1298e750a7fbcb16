"""The commands, their options and their usage texts."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tuninglink.errors import UsageError, did_you_mean
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    choice,
    dashed,
    read_count,
)
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType


SUMMARIES: Final = {
    "link": "Link specs into one that `iree-compile --iree-codegen-tuning-spec-path` accepts.",
    "compile": "Compile a program as `iree-compile` does, tuned by specs, on every backend.",
    "explain": "Show the effects of specs on a program, dispatch by dispatch, and why an entry does not match.",
    "init": "Write a spec to start from: the compiler's own configurations of a program, with comments on the knobs.",
    "tune": "Measure configurations on a device, and write a spec with those that are faster than the compiler's own.",
    "verify": "Compare what a program's dispatches compute with a reference for another target, and with NumPy.",
    "retune": "Measure the entries of specs again, and drop, keep or improve each.",
    "check": "Check specs, entry by entry: structure, matchers, configurations, and what is never reached.",
    "diff": "Show what changed from one report or spec to a later one: dispatches that are not tuned any more, and times.",
    "dump": "Write the specs that the dispatches of a program carry, each distinct content once.",
    "targets": "List the default specs, their entries in order, the sources of the configurations, and the libraries.",
    "lock": "Pin the specs of a project: write their hashes to `tuninglink.lock` next to the project file.",
    "demo": "Compile a matmul for a GPU of AMD, one of NVIDIA and a CPU, each with its own spec; then tune one.",
    "upgrade": "Bring a spec that was written for an older compiler into today's syntax.",
    "database show": "Show the problems of a database with their trials, the default's time and the best.",
    "database merge": "Add the trials of other databases; what is there already is not added again.",
    "database export": "Write all trials of a database.",
    "database insights": "Show what fast candidates have in common that the compiler's choice lacks, and what failures have in common.",
    "database history": "Show the times of problems over compilers and drivers, and which of them changed.",
    "database import": "Add the trials of recorded tables and of exports.",
    "doctor": "Show versions, extras, drivers, devices and caches, and check the compiler.",
}
"""The first word is the module of a command, the last one its function."""

GROUPS: Final = {
    "": "The toolchain around tuning specs for IREE: link, check, apply, explain, upgrade and tune them.",
    "database": "Show, combine and analyze databases of trials, which `tuninglink tune --database` writes.",
}
"""The summaries of groups of commands."""

INSTALL_FLAG: Final = "--install-completion"

COMPLETION_REQUEST: Final = "_TUNINGLINK_COMPLETE"
"""The variable with which a shell requests completions."""


class ReportFormat(Enum):
    """The format of a report, named as in `--format`."""

    TABLE = "table"
    JSON = "json"


_INDENT: Final = "  "
_COLUMN: Final = 21
"""The width of the column of flags and of the gap after it."""

WIDTH: Final = 118
"""The width of help texts."""

COMMON_FLAGS: Final = {
    "quiet": Flag(
        "", switch=True, short="q", help="Show errors and warnings only: no remarks, no progress."
    ),
    "verbose": Flag(
        "", switch=True, short="v", help="Show on standard error how long the steps take."
    ),
    "help": Flag("", switch=True, short="h", help="Show this message and exit."),
}
"""The flags of every command, which are parsed before its own."""

JOBS_FLAG: Final = Flag(
    "jobs",
    read_count,
    short="j",
    metavar="N",
    help="How many compilations run at once. Default: one for each core.",
)
"""The flag for the number of processes."""

FORMAT_FLAG: Final = choice(
    "report_format", ReportFormat, "How the report is written. Default: table."
)
"""The flag for the format of a report."""


@dataclass(frozen=True)
class Positional:
    """Arguments of a command without a flag.

    Attributes:
        metavar: the placeholder in help texts.
        help: the description in help texts.
        optional: whether the argument may be missing.
        repeats: whether the argument may be repeated.
        values: returns values for shell completion; by default, files are completed.
    """

    metavar: str
    help: str
    optional: bool = False
    repeats: bool = False
    values: Callable[[], Iterable[str]] | None = None

    def __str__(self) -> str:
        name = f"[{self.metavar}]" if self.optional else self.metavar
        return f"{name}..." if self.repeats else name


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The usage of a command.

    Attributes:
        name: the words of the command after `tuninglink`, such as `compile` or `database show`.
        positionals: its arguments without flags.
        flags: its flags by name; flags without help are hidden.
        main_flags: the names of the flags that the usage line shows.
        takes_compiler_flags: whether the flags of `iree-compile` are also accepted.
        description: the description, wrapped, with paragraphs separated by empty lines.
        examples: command lines.
        more: text between flags and examples; empty for no text.
    """

    name: str
    positionals: tuple[Positional, ...] = ()
    flags: Mapping[str, Flag]
    main_flags: tuple[str, ...] = ()
    takes_compiler_flags: bool = False
    description: str = ""
    examples: tuple[str, ...]
    more: str = ""

    def text(self) -> str:
        """Return the help text."""
        arguments = [(argument.metavar, argument.help) for argument in self.positionals]
        parts = (
            textwrap.fill(f"Usage: {self.line}", WIDTH, subsequent_indent=" " * 7) + "\n",
            textwrap.fill(SUMMARIES[self.name], WIDTH) + "\n",
            self.description.strip("\n") + "\n" if self.description else "",
            "".join(f"{line}\n" for words in arguments for line in _lines(*words)),
            flag_lines({**self.flags, **COMMON_FLAGS}),
            self.more.strip("\n") + "\n" if self.more else "",
            "Examples:\n" + "".join(f"{_INDENT}{example}\n" for example in self.examples),
        )
        return "\n".join(filter(None, parts))

    @property
    def line(self) -> str:
        """The usage line: the command with placeholders for its arguments."""
        parts = ["tuninglink", self.name, *map(str, self.positionals)]
        parts += [_optional(name, self.flags[name]) for name in self.main_flags]
        if self.takes_compiler_flags:
            parts.append("[any iree-compile flag]...")
        elif set(self.main_flags) != {name for name, flag in self.flags.items() if flag.help}:
            parts.append("[FLAG]...")
        return " ".join(parts)

    def parse(self, arguments: Iterable[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the values of the flags by field, and the other arguments, of a command without compiler flags.

        Raises:
            UsageError: a value is malformed or missing, a flag is unknown or given twice, or an argument is
                missing or superfluous.
        """
        remedy = note(f"see 'tuninglink {self.name} --help'")
        try:
            line = CommandLine(self.flags, arguments)
        except CommandLineError as failure:
            raise UsageError(error(str(failure), notes=[remedy])) from None
        for unknown in line.unknown:
            name = dashed(unknown.name)
            hint = did_you_mean(name, map(dashed, self.flags))
            raise UsageError(error(f"unknown flag '{name}'{hint}", notes=[remedy]))
        self._check_count(line.words)
        self._check_names(line.words)
        return line.values, tuple(line.words)

    def _check_names(self, words: Sequence[str]) -> None:
        """Check that no argument is empty, since an empty path means the working directory."""
        for position, word in enumerate(words):
            if not word:
                argument = self.positionals[min(position, len(self.positionals) - 1)]
                remedy = note(f"usage: {self.line}")
                raise UsageError(error(f"the argument {argument.metavar} is empty", notes=[remedy]))

    def _check_count(self, words: Sequence[str]) -> None:
        needed = [argument for argument in self.positionals if not argument.optional]
        if len(words) < len(needed):
            missing = needed[len(words)].metavar
            remedy = note(f"usage: {self.line}")
            raise UsageError(error(f"the argument {missing} is missing", notes=[remedy]))
        if len(words) > len(self.positionals) and not any(
            argument.repeats for argument in self.positionals
        ):
            word = words[len(self.positionals)]
            remedy = note(f"usage: {self.line}")
            raise UsageError(error(f"unexpected argument '{word}'", notes=[remedy]))


def usage_of(name: str) -> Usage:
    """Return the usage of a command, such as `link` or `database show`."""
    _, _, subcommand = name.partition(" ")
    module = module_of(name)
    usage: Usage = module.USAGES[subcommand] if subcommand else module.USAGE
    return usage


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which is named after the first word of the command."""
    return import_module(f"tuninglink.cli.{name.partition(' ')[0]}")


def flag_lines(flags: Mapping[str, Flag]) -> str:
    """Return the lines for flags with a help text."""
    return "".join(
        f"{line}\n"
        for name, flag in flags.items()
        if flag.help
        for line in _lines(spelling(name, flag), flag.help)
    )


def spelling(name: str, flag: Flag) -> str:
    """Return a flag's names with the placeholder of its value."""
    short = f"{dashed(flag.short)}, " if flag.short else ""
    return f"{short}{dashed(name)}{_value(flag)}"


def _value(flag: Flag) -> str:
    gap = " " if flag.metavar and not flag.metavar.startswith(("=", "[=")) else ""
    return f"{gap}{flag.metavar}"


def _optional(name: str, flag: Flag) -> str:
    result = f"[{dashed(flag.short or name)}{_value(flag)}]"
    return f"{result}..." if flag.repeats else result


def _lines(words: str, meaning: str) -> Iterator[str]:
    behind = " " * (len(_INDENT) + _COLUMN)
    first, *rest = textwrap.wrap(meaning, WIDTH - len(behind), break_on_hyphens=False)
    if len(words) < _COLUMN:
        yield f"{_INDENT}{words.ljust(_COLUMN)}{first}"
    else:
        yield f"{_INDENT}{words}"
        yield behind + first
    for line in rest:
        yield behind + line
