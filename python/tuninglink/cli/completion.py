"""Completion of commands, flags and values by shells.

Typer installs the completion and implements the protocols of bash, zsh, fish and PowerShell. The Typer application has
the commands with their flags as parameters, but does not run them.
"""

from __future__ import annotations

import inspect
import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer.completion

from tuninglink.cli.usage import (
    COMMON_FLAGS,
    COMPLETION_REQUEST,
    GROUPS,
    HELP_COMMAND,
    INSTALL_FLAG,
    SUMMARIES,
    Positional,
    is_new_word,
    known_compiler_flags,
    typed_words,
    usage_of,
)
from tuninglink.errors import UsageError, did_you_mean
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.llvm_flags import Flag, dashed
from tuninglink.mlir import error, note
from tuninglink.specs import spec_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

_BASH: Final = r"""
_tuninglink_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" flag="" prefix="" mark part
    local word="${line##*[[:blank:]]}"
    COMPREPLY=( $( env COMP_WORDS="$line" REQUEST=complete_bash $1 ) )
    # Completions of --flag=value are values. bash replaces only what follows the last mark of COMP_WORDBREAKS.
    [[ $word == --*=* ]] && flag="${word%%=*}="
    word="${word#"$flag"}"
    for mark in = :; do
        if [[ $COMP_WORDBREAKS == *$mark* && $word == *$mark* ]]; then
            part="${word%"${word##*$mark}"}"
            (( ${#part} > ${#prefix} )) && prefix="$part"
        fi
    done
    if [[ -n $prefix ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"$prefix"}" )
    elif [[ -n $flag && $COMP_WORDBREAKS != *=* ]]; then
        COMPREPLY=( "${COMPREPLY[@]/#/$flag}" )
    fi
    return 0
}

complete -o default -F _tuninglink_completion tuninglink
"""

_ZSH: Final = r"""
#compdef tuninglink

_tuninglink() {
    local -a answers items
    local answer value
    answers=( "${(@f)$(env _TYPER_COMPLETE_ARGS="${(j: :)words[1,CURRENT-1]} $PREFIX" REQUEST=complete_fish \
        _TYPER_COMPLETE_FISH_ACTION=get-args ${~words[1]})}" )
    # Completions of --flag=value are values.
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    for answer in ${(@)answers:#}; do
        value="${answer%%$'\t'*}"
        items+=( "${value//:/\:}${${answer#"$value"}/$'\t'/:}" )
    done
    if (( $#items )); then
        _describe value items
    else
        _files
    fi
}

# A file in fpath is the body of the function at its first call.
if [[ $funcstack[1] == _tuninglink ]]; then
    _tuninglink "$@"
else
    compdef _tuninglink tuninglink
fi
"""

_FISH: Final = r"""
function __tuninglink_completions
    set --local token (commandline --current-token --cut-at-cursor)
    # Completions of --flag=value are values. fish replaces the whole word.
    set --local flag (string match --regex -- '^--[^=]+=' $token; or echo)
    set --local words (commandline --tokenize --cut-at-cursor --current-process | string escape)
    set --local answers (env _TYPER_COMPLETE_ARGS=(string join ' ' -- $words $token) REQUEST=complete_fish \
        _TYPER_COMPLETE_FISH_ACTION=get-args $words[1])
    test -n "$answers"; or set answers (__fish_complete_path (string replace -- "$flag" '' $token))
    string join \n -- $flag$answers
end

complete --command tuninglink --no-files --arguments '(__tuninglink_completions)'
"""

_SCRIPTS: Final = {
    shell: script.lstrip().replace("REQUEST", COMPLETION_REQUEST)
    for shell, script in (("bash", _BASH), ("zsh", _ZSH), ("fish", _FISH))
}
"""Own scripts. Those of Typer complete no value after `--flag=`, and no word with `:` in bash."""


def complete(arguments: Sequence[str]) -> int:
    """Write the completions that a shell requests, or write or install its script; return the exit code."""
    if arguments:
        detect: Callable[[], str | None] = typer.completion._get_shell_name  # type: ignore[attr-defined] # noqa: SLF001
        running_shell = detect() or ""
        flag, shell, *_ = *arguments, running_shell
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
        function = with_flags(name) if _is_typed(name) else _run_nothing
        groups.get(group, app).command(last, help=SUMMARIES[name])(function)
    app.command(HELP_COMMAND, help="Describe a command.")(_help)
    code: int | None = typer.main.get_command(app)(
        arguments, prog_name="tuninglink", standalone_mode=False
    )
    return code or 0


def _script(shell: str) -> str:
    """Return the script for a shell."""
    _check_shell(shell)
    if script := _SCRIPTS.get(shell):
        return script
    typers: str = typer.completion.get_completion_script(  # type: ignore[attr-defined] # lacks `__all__`
        prog_name="tuninglink", complete_var=COMPLETION_REQUEST, shell=shell
    )
    return f"{typers}\n"


def _install(shell: str) -> str:
    """Install the script for a shell, and return a message."""
    _check_shell(shell)
    _, path = typer.completion.install(shell, "tuninglink", COMPLETION_REQUEST)  # type: ignore[attr-defined]
    if shell in _SCRIPTS:
        path.write_text(_SCRIPTS[shell])
    return f"completion for {shell} is installed in {path}; start a new shell\n"


def _check_shell(shell: str) -> None:
    if shell not in _SHELLS:
        hint = did_you_mean(shell, _SHELLS)
        remedy = note(f"known: {', '.join(_SHELLS)}")
        which = f"shell '{shell}'{hint}" if shell else "this shell; name one"
        raise UsageError(error(f"no completion for {which}", notes=[remedy]))


def with_flags(name: str) -> Callable[..., None]:
    """Return a function that does nothing, with the flags and the arguments of a command as parameters."""

    def command(**_: object) -> None:
        """Stand in for the command; only the parameters of this function are read."""

    usage = usage_of(name)
    parameters = [
        *(_argument(index, argument) for index, argument in enumerate(usage.positionals)),
        *(
            _option(index, *flag)
            for index, flag in enumerate({**usage.flags, **COMMON_FLAGS}.items())
            if flag[0] != "help"  # typer adds it
        ),
        *(_compiler_options() if usage.takes_compiler_flags else ()),
    ]
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


def _is_typed(name: str) -> bool:
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


def _compiler_options() -> Iterator[inspect.Parameter]:
    """Yield the hundreds of compiler flags, but only while a compiler flag is being typed."""
    if not any(word.startswith("--i") for word in typed_words()[-2:]):
        return
    for index, (name, values) in enumerate(known_compiler_flags().items()):
        completion = _completion(partial(tuple, values)) if values else None
        declaration: Any = typer.Option(dashed(name), autocompletion=completion)
        yield inspect.Parameter(
            f"compiler_flag_{index}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[list[str], declaration],
        )


def _completion(values: Callable[[], Iterable[str]] | None) -> Callable[[str], list[str]] | None:
    """Return a function that completes values, or None if files are completed."""
    if values is None:
        return None

    def complete_value(incomplete: str) -> list[str]:
        return list(completed(incomplete, values()))

    return complete_bound if values is spec_names else complete_value


def complete_bound(incomplete: str) -> list[str]:
    """Return the libraries that complete a word, which may start with the targets to bind them to.

    If no library matches, the shell completes files.
    """
    binding, separator, source = incomplete.rpartition("=")
    return [f"{binding}{separator}{name}" for name in completed(source, spec_names())]


def completed(incomplete: str, values: Iterable[str]) -> Iterator[str]:
    """Yield the values that begin with the word so far."""
    return (value for value in values if value.lower().startswith(incomplete.lower()))
