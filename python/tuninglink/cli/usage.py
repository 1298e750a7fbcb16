"""The commands, their options, and help texts as wide as the terminal."""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tuninglink.cli.terminal import columns
from tuninglink.errors import UsageError, did_you_mean
from tuninglink.llvm_flags import CommandLine, CommandLineError, Flag, choice, dashed
from tuninglink.mlir import error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType


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
    "database train": "Train a model of gains, which predicts fast configurations.",
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


def words_after(name: str) -> dict[str, str]:
    """Return the words that can follow the words of a command line, with what the commands and groups are for."""
    prefix = f"{name} " if name else ""
    names = [other for other in SUMMARIES if other.startswith(prefix)]
    words = dict.fromkeys(other.removeprefix(prefix).partition(" ")[0] for other in names)
    meanings = {**SUMMARIES, **GROUPS}
    return {word: meanings[f"{prefix}{word}"] for word in words}


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
    name: Flag("", switch=True, short=short, help=help_)
    for name, short, help_ in (
        ("quiet", "q", "Show errors and warnings only: no remarks, no progress."),
        ("verbose", "v", "Show how long the steps take, and what --target stands for."),
        ("help", "h", "Show this message and exit."),
        (COMPLETE_HELP, "", ""),
    )
}
"""The flags of every command, which are parsed before its own."""

FORMAT_FLAG: Final = choice(
    "report_format", ReportFormat, "How the report is written. Default: table."
)


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


PROGRAM_ARGUMENT: Final[Positional] = Positional(
    "INPUT",
    "A program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has dumped; "
    "- is standard input.",
)


def usage_error(message: str, *remedies: str) -> UsageError:
    """Return an error for a command line, with notes that tell how to fix it."""
    return UsageError(error(message, notes=map(note, remedies)))


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
        remedy = f"see 'tuninglink {self.name} --help'"
        try:
            line = CommandLine(self.flags, arguments)
        except CommandLineError as failure:
            raise usage_error(str(failure), remedy) from None
        for unknown in line.unknown:
            name = dashed(unknown.name)
            hint = did_you_mean(name, map(dashed, self.flags))
            raise usage_error(f"unknown flag '{name}'{hint}", remedy)
        words, remedy = line.words, f"usage: {self.line}"
        needed = [argument for argument in self.positionals if not argument.optional]
        if len(words) < len(needed):
            raise usage_error(f"the argument {needed[len(words)].metavar} is missing", remedy)
        repeats = any(argument.repeats for argument in self.positionals)
        if len(words) > len(self.positionals) and not repeats:
            raise usage_error(f"unexpected argument '{words[len(self.positionals)]}'", remedy)
        # An empty path would mean the working directory.
        for position, word in enumerate(words):
            if not word:
                argument = self.positionals[min(position, len(self.positionals) - 1)]
                raise usage_error(f"the argument {argument.metavar} is empty", remedy)
        return line.values, tuple(words)


def usage_of(name: str) -> Usage:
    """Return the usage of a command, such as `link` or `database show`."""
    module = module_of(name)
    usages: Mapping[str, Usage] = getattr(module, "USAGES", {})
    usage: Usage = usages[name.rsplit(maxsplit=1)[-1]] if usages else module.USAGE
    return usage


_MODULES: Final = {
    "dump": "compile",
    "init": "compile",
    "lock": "link",
    "targets": "link",
    "demo": "doctor",
    "diff": "upgrade",
}
"""The modules of commands that have none of their own."""


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which has its usage and its function by its last word."""
    word = name.partition(" ")[0]
    return import_module(f"tuninglink.cli.{_MODULES.get(word, word)}")


def spelling(name: str, flag: Flag) -> str:
    """Return a flag's names with the placeholder of its value."""
    short = f"{dashed(flag.short)}, " if flag.short else ""
    return f"{short}{dashed(name)}{_value(flag)}"


def _value(flag: Flag) -> str:
    gap = " " if flag.metavar and not flag.metavar.startswith(("=", "[=")) else ""
    return f"{gap}{flag.metavar}"


# --- Help texts ------------------------------------------------------------------------------------

_WIDEST: Final = 120
_NARROW: Final = 80
"""Below this width, meanings are under their flags."""

_INDENT: Final = "  "
_COLUMN: Final = 21
"""The width of the column of flags and of the gap after it."""


def overview(group: str = "") -> str:
    """Return the help text of a group of commands, or of `tuninglink` itself."""
    width = min(columns(sys.stdout), _WIDEST)
    prefix = f"{group} " if group else ""
    parts = [f"Usage: tuninglink {prefix}COMMAND [ARGUMENT]...\n\n{_filled(GROUPS[group], width)}"]
    if group:
        names = {name: SUMMARIES[name] for name in SUMMARIES if name.startswith(prefix)}
        parts.append(_commands({name.removeprefix(prefix): names[name] for name in names}, width))
        parts.append(_filled(f"'tuninglink {prefix}COMMAND --help' describes a command.", width))
        return "\n".join(parts)
    for topic, commands in TOPICS.items():
        meanings = {name: SUMMARIES.get(name, GROUPS.get(name, "")) for name in commands}
        parts.append(f"{topic}:\n{_commands(meanings, width)}")
    footer = (
        "'tuninglink help COMMAND' describes a command; 'tuninglink demo' shows a tour. "
        f"--version shows versions, {INSTALL_FLAG} [SHELL] makes a shell complete commands, and --show-completion "
        "[SHELL] shows its script."
    )
    return "".join(parts[:1]) + "\n" + "".join(parts[1:]) + "\n" + _filled(footer, width)


def help_text(usage: Usage, *, is_complete: bool = False) -> str:
    """Return the help text of a command."""
    width = min(columns(sys.stdout), _WIDEST)
    is_short = not is_complete and any(section.more for section in usage.sections)
    # Break a usage line between arguments.
    joined = re.sub(r"\[[^]]* [^]]*\]", lambda match: match[0].replace(" ", "\0"), usage.line)
    text = textwrap.fill(
        f"Usage: {joined}", width, subsequent_indent=" " * 7, break_on_hyphens=False
    )
    parts = [text.replace("\0", " ") + "\n", _filled(SUMMARIES[usage.name], width)]
    rows = "".join(_rows([(entry.metavar, entry.help) for entry in usage.positionals], width))
    # The flags by section; a short help omits those that are rarely used.
    sections = []
    for section in usage.sections or (Section("", tuple(usage.flags)),):
        names = section.flags if is_short else (*section.flags, *section.more)
        lines = flag_lines({name: usage.flags[name] for name in names}, width, is_short=is_short)
        if lines:
            sections.append((f"{section.heading}:\n" if section.heading else "") + lines)
    if is_short:
        more = f"--{COMPLETE_HELP} describes them in full, and all others. Any flag of iree-compile is one, too."
        parts += [rows + "".join(sections), _filled(more, width)]
    else:
        parts += [_paragraphs(usage.description, width), rows, *sections]
        parts += [flag_lines(COMMON_FLAGS, width), _paragraphs(usage.more, width)]
    # Examples are broken between arguments, with the backslashes that a shell needs.
    parts.append("Examples:\n")
    for example in usage.examples[: 1 if is_short else None]:
        words = re.findall(r"(?:'[^']*'|[^\s'])+", example.replace("\\\n", " "))
        broken = [_INDENT + words[0]]
        for word in words[1:]:
            if len(broken[-1]) + len(word) + len("  \\") > width:
                broken[-1] += " \\"
                broken.append(3 * _INDENT + word)
            else:
                broken[-1] += f" {word}"
        parts[-1] += "\n".join(broken) + "\n"
    return "\n".join(filter(None, parts))


def flag_lines(flags: Mapping[str, Flag], width: int, *, is_short: bool = False) -> str:
    """Return the lines for flags with a help text; short ones have its first sentence."""
    rows = (
        (
            spelling(name, flag),
            (flag.help.partition(". ")[0].removesuffix(".") + ".") if is_short else flag.help,
        )
        for name, flag in flags.items()
        if flag.help
    )
    return "".join(_rows(rows, width))


def _commands(meanings: Mapping[str, str], width: int) -> str:
    size = max(map(len, (*meanings, "database")))
    return "".join(
        textwrap.fill(
            f"{_INDENT}{name.ljust(size)}  {meaning}",
            width,
            subsequent_indent=" " * (size + 4),
            break_on_hyphens=False,
        )
        + "\n"
        for name, meaning in meanings.items()
    )


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    column = _COLUMN if width >= _NARROW else 2 * len(_INDENT)
    behind = " " * (len(_INDENT) + column)
    for words, meaning in rows:
        lines = textwrap.wrap(meaning, width - len(behind), break_on_hyphens=False)
        if len(words) < column:
            yield f"{_INDENT}{words.ljust(column)}{lines.pop(0)}\n"
        else:
            yield from (f"{line}\n" for line in textwrap.wrap(words, width, initial_indent=_INDENT))
        yield from (f"{behind}{line}\n" for line in lines)


def _filled(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False) + "\n"


def _paragraphs(text: str, width: int) -> str:
    """Fill paragraphs; lines that begin with a space are kept."""
    paragraphs = []
    for paragraph in filter(None, text.strip("\n").split("\n\n")):
        runs = groupby(paragraph.split("\n"), lambda line: line.startswith(" "))
        paragraphs.append(
            "".join(
                "".join(f"{line}\n" for line in lines)
                if is_kept
                else _filled(" ".join(lines), width)
                for is_kept, lines in runs
            )
        )
    return "\n".join(paragraphs)
