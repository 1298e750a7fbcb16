"""Completion of commands, flags and values by shells.

Typer installs the completion and implements the protocols of bash, zsh, fish and PowerShell. The Typer application has
the commands with their flags as parameters, but does not run them.
"""

from __future__ import annotations

import inspect
import os
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer.completion

from tuninglink.cli.usage import (
    COMMON_FLAGS,
    COMPLETION_REQUEST,
    GROUPS,
    HELP_COMMAND,
    INSTALL_FLAG,
    SUMMARIES,
    is_new_word,
    known_compiler_flags,
    typed_words,
    usage_of,
)
from tuninglink.errors import UsageError, did_you_mean
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.llvm_flags import dashed
from tuninglink.mlir import error, note
from tuninglink.specs import spec_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

_OWN_SCRIPTS: Final = ("bash", "zsh", "fish")
"""The shells with a script beside this module. Those of Typer complete no value after `--flag=`, and no word with `:` in
bash."""


def complete(arguments: Sequence[str]) -> int:
    """Write the completions that a shell requests, or write or install its script; return the exit code."""
    if arguments:
        detect: Callable[[], str | None] = typer.completion._get_shell_name  # type: ignore[attr-defined] # noqa: SLF001
        flag, shell, *_ = *arguments, detect() or ""
        if shell not in _SHELLS:
            hint = did_you_mean(shell, _SHELLS)
            remedy = note(f"known: {', '.join(_SHELLS)}")
            which = f"shell '{shell}'{hint}" if shell else "this shell; name one"
            raise UsageError(error(f"no completion for {which}", notes=[remedy]))
        text = _install(shell) if flag == INSTALL_FLAG else _script(shell)
        write_output(STANDARD_STREAM, text)
        return 0
    os.environ["COMP_CWORD"] = str(len(typed_words()) - (not is_new_word()))  # for bash
    app = typer.Typer(name="tuninglink", pretty_exceptions_enable=False)
    groups: dict[str, typer.Typer] = {}
    for name in SUMMARIES:
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(name=group, help=GROUPS[group])
            app.add_typer(groups[group])
        words = name.split()
        is_typed = typed_words()[1 : len(words) + 1] == words
        function = with_flags(name) if is_typed else _run_nothing
        groups.get(group, app).command(last, help=SUMMARIES[name])(function)
    app.command(HELP_COMMAND, help="Describe a command.")(_help)
    code: int | None = typer.main.get_command(app)(
        arguments, prog_name="tuninglink", standalone_mode=False
    )
    return code or 0


def _script(shell: str) -> str:
    """Return the script for a shell."""
    if shell in _OWN_SCRIPTS:
        script = resources.files("tuninglink.cli") / f"completion.{shell}"
        return script.read_text().replace("REQUEST", COMPLETION_REQUEST)
    typers: str = typer.completion.get_completion_script(  # type: ignore[attr-defined] # lacks `__all__`
        prog_name="tuninglink", complete_var=COMPLETION_REQUEST, shell=shell
    )
    return f"{typers}\n"


def _install(shell: str) -> str:
    """Install the script for a shell, and return a message."""
    _, path = typer.completion.install(shell, "tuninglink", COMPLETION_REQUEST)  # type: ignore[attr-defined]
    if shell in _OWN_SCRIPTS:
        path.write_text(_script(shell))
    return f"completion for {shell} is installed in {path}; start a new shell\n"


def with_flags(name: str) -> Callable[..., None]:
    """Return a function that does nothing, with the flags and the arguments of a command as parameters."""

    def command(**_: object) -> None:
        """Stand in for the command; only the parameters of this function are read."""

    usage = usage_of(name)
    parameters = []

    def add(name: str, default: object, kind: Any, declaration: Any) -> None:
        annotation: Any = Annotated[kind, declaration]
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
        )

    for index, argument in enumerate(usage.positionals):
        declaration: Any = typer.Argument(
            metavar=argument.metavar,
            help=argument.help,
            autocompletion=_completion(argument.values),
        )
        add(f"argument_{index}", None, list[str] if argument.repeats else str, declaration)
    flags = {**usage.flags, **COMMON_FLAGS}
    del flags["help"]  # typer adds it
    for index, (flag_name, flag) in enumerate(flags.items()):
        names = [dashed(flag_name), *([dashed(flag.short)] if flag.short else [])]
        declaration = typer.Option(*names, help=flag.help, autocompletion=_completion(flag.values))
        if flag.switch and not flag.metavar:
            add(f"flag_{index}", default=False, kind=bool, declaration=declaration)
        else:
            add(f"flag_{index}", None, list[str] if flag.repeats else str, declaration)
    # The hundreds of compiler flags are parameters only while one of them is being typed.
    if usage.takes_compiler_flags and any(word.startswith("--i") for word in typed_words()[-2:]):
        for index, (flag_name, values) in enumerate(known_compiler_flags().items()):
            completion = _completion(partial(tuple, values)) if values else None
            declaration = typer.Option(dashed(flag_name), autocompletion=completion)
            add(f"compiler_flag_{index}", None, list[str], declaration)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _help(words: Annotated[list[str], typer.Argument(autocompletion=_completion(_topics))]) -> None:
    """Stand in for the command that describes another one."""


def _topics() -> list[str]:
    words = typed_words()[2 : None if is_new_word() else -1]
    names = (name.split() for name in SUMMARIES)
    return list(dict.fromkeys(name[len(words)] for name in names if name[: len(words)] == words))


def _run_nothing() -> None:
    """Replace a command whose flags are not being completed."""


def _completion(values: Callable[[], Iterable[str]] | None) -> Callable[[str], list[str]] | None:
    """Return a function that completes values, or None if files are completed."""
    if values is None:
        return None

    def complete_value(incomplete: str) -> list[str]:
        word = incomplete.lower()
        return [value for value in values() if value.lower().startswith(word)]

    return complete_bound if values is spec_names else complete_value


def complete_bound(incomplete: str) -> list[str]:
    """Return the libraries that complete a word, which may start with the targets to bind them to.

    If no library matches, the shell completes files.
    """
    binding, separator, source = incomplete.rpartition("=")
    names = (name for name in spec_names() if name.lower().startswith(source.lower()))
    return [f"{binding}{separator}{name}" for name in names]
