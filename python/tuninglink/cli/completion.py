"""Completion of commands, flags and values by shells.

Typer installs the completion and speaks to bash, zsh, fish and PowerShell. Its application has the commands with their
flags as parameters, and runs none of them.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.completion

from tuninglink.cli.known_values import typed_words
from tuninglink.cli.usage import (
    COMMON_FLAGS,
    COMPLETION_REQUEST,
    INSTALL_FLAG,
    SUMMARIES,
    Positional,
    usage_of,
)
from tuninglink.errors import TuninglinkError
from tuninglink.llvm_flags import Flag, dashed
from tuninglink.mlir.diagnostics import error, note
from tuninglink.specs.libraries import spec_names
from tuninglink.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")


def complete(arguments: Sequence[str]) -> int:
    """Write the completions that a shell requests, or write or install the script for it; return the exit code.

    Raises:
        TuninglinkError: a shell is named that has no script.
    """
    if len(arguments) > 1:
        flag, shell, *_ = arguments
        sys.stdout.write(_install(shell) if flag == INSTALL_FLAG else _script(shell))
        return 0
    app = typer.Typer(name="tuninglink", pretty_exceptions_enable=False)
    groups: dict[str, typer.Typer] = {}
    for name in SUMMARIES:
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(name=group)
            app.add_typer(groups[group])
        function = with_flags(name) if _is_typed(name) else _run_nothing
        groups.get(group, app).command(last, help=SUMMARIES[name])(function)
    code: int | None = typer.main.get_command(app)(
        arguments, prog_name="tuninglink", standalone_mode=False
    )
    return code or 0


def _script(shell: str) -> str:
    """Return the script for a shell."""
    _check_shell(shell)
    script: str = typer.completion.get_completion_script(  # type: ignore[attr-defined] # lacks `__all__`
        prog_name="tuninglink", complete_var=COMPLETION_REQUEST, shell=shell
    )
    return f"{script}\n"


def _install(shell: str) -> str:
    """Install the script for a shell, and return a message."""
    _check_shell(shell)
    _, path = typer.completion.install(shell, "tuninglink", COMPLETION_REQUEST)  # type: ignore[attr-defined]
    return f"completion for {shell} is installed in {path}; start a new shell\n"


def _check_shell(shell: str) -> None:
    if shell not in _SHELLS:
        hint = did_you_mean(shell, _SHELLS)
        remedy = note(f"known: {', '.join(_SHELLS)}")
        raise TuninglinkError(error(f"no completion for shell '{shell}'{hint}", notes=[remedy]))


def with_flags(name: str) -> Callable[..., None]:
    """Return a function that does nothing, with the flags and the arguments of a command as parameters."""

    def command(**_: object) -> None:
        """Replace the command, of which only the parameters are read."""

    usage = usage_of(name)
    parameters = [
        *(_argument(index, argument) for index, argument in enumerate(usage.positionals)),
        *(
            _option(index, *flag)
            for index, flag in enumerate({**usage.flags, **COMMON_FLAGS}.items())
            if flag[0] != "help"  # typer adds it
        ),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _run_nothing() -> None:
    """Replace a command whose flags are not completed now."""


def _is_typed(name: str) -> bool:
    """Return whether the command line begins with a command. Flags of others are not loaded."""
    words = name.split()
    return typed_words()[1 : len(words) + 1] == words


def _argument(index: int, argument: Positional) -> inspect.Parameter:
    declaration: Any = typer.Argument(
        metavar=argument.metavar, help=argument.help, autocompletion=_completion(argument.values)
    )
    return inspect.Parameter(
        f"argument_{index}",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[list[str] if argument.repeats else str, declaration],
    )


def _option(index: int, name: str, flag: Flag) -> inspect.Parameter:
    names = [dashed(name), *([dashed(flag.short)] if flag.short else [])]
    is_switch = flag.switch and not flag.metavar
    declaration: Any = typer.Option(*names, help=flag.help, autocompletion=_completion(flag.values))
    kind: Any = bool if is_switch else (list[str] if flag.repeats else str)
    return inspect.Parameter(
        f"flag_{index}",
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[kind, declaration],
    )


def _completion(values: Callable[[], Iterable[str]] | None) -> Callable[[str], list[str]] | None:
    """Return a function that completes values; None to complete files."""
    if values is None:
        return None

    def complete_value(incomplete: str) -> list[str]:
        return list(completed(incomplete, values()))

    return complete_bound if values is spec_names else complete_value


def complete_bound(incomplete: str) -> list[str]:
    """Return the libraries that complete a word, after a target that binds them.

    Without any, the shell completes files.
    """
    binding, separator, source = incomplete.rpartition("=")
    return [f"{binding}{separator}{name}" for name in completed(source, spec_names())]


def completed(incomplete: str, values: Iterable[str]) -> Iterator[str]:
    """Yield the values that begin with the word so far."""
    return (value for value in values if value.lower().startswith(incomplete.lower()))
