"""Completion of commands, flags and values by shells.

A script for each shell calls the command with the line that is typed so far, in a variable. Typer installs the scripts,
and has the one for PowerShell.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli.usage import (
    COMMON_FLAGS,
    COMPLETION_REQUEST,
    HELP_COMMAND,
    INSTALL_FLAG,
    SUMMARIES,
    Usage,
    usage_error,
    usage_of,
    words_after,
)
from tuninglink.errors import did_you_mean
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.llvm_flags import Flag, dashed
from tuninglink.specs import spec_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

_OWN_SCRIPTS: Final = ("bash", "zsh", "fish")
"""The shells with a script beside this module. Those of Typer complete no value after `--flag=`, and no word with `:` in
bash."""

_GAPS: Final = {"complete_fish": "\t", "complete_powershell": ":::"}
"""What separates a word and its meaning in the answer to a script. The one for bash expects no meanings."""


def complete(arguments: Sequence[str]) -> int:
    """Write the completions that a shell requests, or write or install its script; return the exit code."""
    if not arguments:
        gap = _GAPS.get(os.environ[COMPLETION_REQUEST])
        answers = completions(*typed_words())
        lines = (
            f"{word}{gap}{' '.join(meaning.split())}" if gap and meaning else word
            for word, meaning in answers.items()
        )
        write_output(STANDARD_STREAM, "".join(f"{line}\n" for line in lines))
        return 0
    import typer.completion  # noqa: PLC0415 - takes as long as a small run

    flag, shell, *_ = *arguments, typer.completion._get_shell_name() or ""  # type: ignore[attr-defined] # noqa: SLF001
    if shell not in _SHELLS:
        hint = did_you_mean(shell, _SHELLS)
        which = f"shell '{shell}'{hint}" if shell else "this shell; name one"
        raise usage_error(f"no completion for {which}", f"known: {', '.join(_SHELLS)}")
    if shell in _OWN_SCRIPTS:
        file = resources.files("tuninglink.cli") / f"completion.{shell}"
        script = file.read_text().replace("REQUEST", COMPLETION_REQUEST)
    else:
        script = typer.completion.get_completion_script(  # type: ignore[attr-defined] # lacks `__all__`
            prog_name="tuninglink", complete_var=COMPLETION_REQUEST, shell=shell
        )
        script = f"{script}\n"
    if flag == INSTALL_FLAG:
        _, path = typer.completion.install(shell, "tuninglink", COMPLETION_REQUEST)  # type: ignore[attr-defined]
        if shell in _OWN_SCRIPTS:
            path.write_text(script)
        script = f"completion for {shell} is installed in {path}; start a new shell\n"
    write_output(STANDARD_STREAM, script)
    return 0


def typed_words() -> tuple[list[str], str]:
    """Return the words before the one that a shell completes, and this word."""
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is open
        words = line.split()
    is_new = line[-1:].isspace() or os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE") == ""
    return (words, "") if is_new or not words else (words[:-1], words[-1])


def completions(words: Sequence[str], word: str) -> dict[str, str]:
    """Return the completions of a word after other words, with their meanings. Without any, a shell completes files."""
    name, rest = "", list(words[1:])
    if is_help := rest[:1] == [HELP_COMMAND]:
        del rest[0]
    while name not in SUMMARIES:
        following = words_after(name)
        if not name and not is_help:
            following[HELP_COMMAND] = "Describe a command."
        if not rest:
            flags = dict.fromkeys(("--help", "--version", INSTALL_FLAG, "--show-completion"), "")
            return _beginning(flags if word.startswith("-") else following, word)
        if rest[0] not in following:
            return {}
        name = f"{name} {rest.pop(0)}".strip()
    return {} if is_help else _arguments(usage_of(name), rest, word)


def _beginning(words: Mapping[str, str], part: str) -> dict[str, str]:
    return {word: words[word] for word in words if word.lower().startswith(part.lower())}


def _arguments(usage: Usage, words: Sequence[str], word: str) -> dict[str, str]:
    """Return the completions of an argument of a command: of a flag, its value, or another argument."""
    named = {**usage.flags, **COMMON_FLAGS}
    # The hundreds of compiler flags are known only while one of them is being typed.
    if usage.takes_compiler_flags and any(part.startswith("--i") for part in (*words[-1:], word)):
        for name, listed in known_compiler_flags().items():
            known = partial(tuple, listed) if listed else None
            named.setdefault(name, Flag(name, repeats=True, values=known))
    flags = {
        dashed(spelling): (name, flag)
        for name, flag in named.items()
        for spelling in (name, flag.short)
        if spelling
    }
    # Read the words before: the flags that were given, and the one whose value comes next.
    waiting, given, count = "", set(), 0
    for part in words:
        if waiting:
            waiting = ""
        elif part.startswith("-") and "--" not in given:
            given.add(part.partition("=")[0])
            takes_next = part in flags and not flags[part][1].switch
            waiting = part if takes_next else ""
        else:
            count += 1
    if word.startswith("-") and "--" not in given and "=" not in word:
        taken = {flags[part][0] for part in given if part in flags}
        free = {
            spelling: flag.help
            for spelling, (name, flag) in flags.items()
            if flag.repeats or name not in taken
        }
        return _beginning(free, word)
    if word.startswith("-"):
        waiting, _, word = word.partition("=")
    values: Callable[[], Iterable[str]] | None = None
    if waiting in flags:
        name, flag = flags[waiting]
        values = flag.values or _KNOWN.get(name)
    elif not waiting and (arguments := usage.positionals):
        is_one = count < len(arguments) or arguments[-1].repeats
        values = arguments[min(count, len(arguments) - 1)].values if is_one else None
    if values is None:
        return {}
    # A spec may follow the targets to bind it to.
    source = word.rpartition("=")[2] if values is spec_names else word
    binding = word[: len(word) - len(source)]
    return {f"{binding}{value}": "" for value in _beginning(dict.fromkeys(values(), ""), source)}


# --- Known values --------------------------------------------------------------------------------

_SECONDS: Final = 5
"""The time limit for finding the dispatches of a program, while a shell waits."""


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


def known_pipelines() -> Iterable[str]:
    """Return the names of the compiler's pipelines."""
    from tuninglink.iree import CPU_PIPELINES, GPU_PIPELINES, gpu_enumerators  # noqa: PLC0415

    return sorted(CPU_PIPELINES.union(*map(gpu_enumerators, GPU_PIPELINES)))


def known_records(column: str) -> Callable[[], Iterable[str]]:
    """Return a function that returns the values of a column of the database on the command line that a shell completes."""

    def known() -> Iterable[str]:
        from tuninglink.tuning.database import Database, DatabaseError  # noqa: PLC0415

        path = next((word for word in typed_words()[0][3:] if Path(word).is_file()), None)
        if path is None:
            return ()
        try:
            with Database(Path(path), read_only=True) as database:
                return list(filter(None, database.values(column)))
        except DatabaseError:
            return ()

    return known


def known_dispatches() -> Iterable[str]:
    """Return the names of the dispatches of the program on the command line that a shell completes."""
    from tuninglink.iree import iree_compile  # noqa: PLC0415 - loads the compiler

    words, _ = typed_words()
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


_KNOWN: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "device": known_devices,
    "search": known_searches,
    "pipeline": known_pipelines,
    "only": known_dispatches,
    "dispatch": known_dispatches,
}
"""The values of flags that are found only for completion."""
