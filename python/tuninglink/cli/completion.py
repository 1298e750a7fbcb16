"""What a shell may complete: options, and values of options that are known beforehand."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tuninglink.cli.usage import COMMON_FLAGS, Usage
from tuninglink.iree.targets import known_target_names
from tuninglink.llvm_flags import dashed
from tuninglink.specs.libraries import spec_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tuninglink.llvm_flags import Flag

_REQUEST: Final = "_TUNINGLINK_COMPLETE"
"""The variable with which a shell asks for completions."""


def known_targets(incomplete: str) -> list[str]:
    """Return the names of targets that begin with what was typed."""
    return [name for name in known_target_names() if name.startswith(incomplete.lower())]


def known_specs(incomplete: str) -> list[str]:
    """Return the libraries that begin with what was typed, behind a target that binds them.

    Without any, the shell completes files.
    """
    binding, separator, source = incomplete.rpartition("=")
    return [f"{binding}{separator}{name}" for name in spec_names() if name.startswith(source)]


def with_completed_flags(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reads its own arguments, with its flags as parameters if a shell asks for completions."""
    usage = getattr(import_module(f"tuninglink.cli.{name}"), "USAGE", None)
    if not isinstance(usage, Usage):
        return command

    def completed(**_: object) -> None:
        """Stands for the command, of which only the parameters are looked at."""

    flags = {**usage.flags, **COMMON_FLAGS}
    parameters = [_parameter(index, *flag) for index, flag in enumerate(flags.items())]
    completed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    completed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return completed


def is_asked_for() -> bool:
    """Whether a shell asks for completions."""
    return _REQUEST in os.environ


def _parameter(index: int, name: str, flag: Flag) -> inspect.Parameter:
    names = [dashed(name), *([dashed(flag.short)] if flag.short else [])]
    is_switch = flag.switch and not flag.metavar
    option: Any = typer.Option(
        *names, help=flag.help, autocompletion=_completion(flag.values) if flag.values else None
    )
    kind: Any = bool if is_switch else (list[str] if flag.repeats else str)
    return inspect.Parameter(
        f"flag_{index}",
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[kind, option],
    )


def _completion(values: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    if values is spec_names:
        return known_specs

    def complete(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    return complete
