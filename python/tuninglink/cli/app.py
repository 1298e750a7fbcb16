"""The subcommands of `tuninglink`, as a typer application."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tuninglink.cli import process
from tuninglink.cli.completion import is_asked_for, with_completed_flags
from tuninglink.cli.own_arguments import SUMMARIES, run_command
from tuninglink.cli.verbosity import EPILOG
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Sequence


def _run_own(context: typer.Context) -> None:
    raise typer.Exit(run_command(str(context.info_name), context.args))


def _print_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if is_wanted:
        from importlib import metadata  # noqa: PLC0415 - takes as long to load as typer

        typer.echo(f"tuninglink {metadata.version('tuninglink')}")
        typer.echo(f"IREE compiler {metadata.version('iree-base-compiler')}")
        raise typer.Exit


def tuninglink(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version",
            help="Show the versions of Tuninglink and of the compiler.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """The toolchain around tuning specs for IREE: link, check, apply, explain and upgrade them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    elif context.invoked_subcommand not in SUMMARIES:
        _set_up_compiler()


@cache
def _set_up_compiler() -> None:
    from tuninglink.compiler.session import set_up_command_line  # noqa: PLC0415 - loads the compiler

    set_up_command_line("tuninglink", ())


_COMMANDS: Final = (
    *(
        "link",
        "compile",
        "explain",
        "init",
        "tune",
        "verify",
        "retune",
        "check",
        "diff",
        "dump",
        "targets",
    ),
    *("lock", "demo", "upgrade", "database", "doctor"),
)
"""The commands in the order in which they are listed; each is defined in the module of its name."""


def _application(names: Sequence[str]) -> typer.Typer:
    """Return the application with some of its commands: a command does not wait for what others import."""
    app = typer.Typer(
        name="tuninglink",
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(tuninglink)
    lenient = {"ignore_unknown_options": True}
    for name in names:
        if name in SUMMARIES:
            app.command(
                name,
                help=SUMMARIES[name],
                add_help_option=False,
                context_settings={**lenient, "allow_extra_args": True},
            )(with_completed_flags(name, _run_own) if is_asked_for() else _run_own)
            continue
        defined = getattr(import_module(f"tuninglink.cli.{name}"), name)
        if isinstance(defined, typer.Typer):
            app.add_typer(defined)
        else:
            # The flags of the compiler may follow a model that is checked.
            app.command(epilog=EPILOG, context_settings=lenient if name == "check" else None)(
                defined
            )
    return app


def command_names() -> list[str]:
    """Return the commands as one types them, such as `link` and `database show`."""
    result: list[str] = []
    for name, command in vars(typer.main.get_command(_application(_COMMANDS)))["commands"].items():
        nested = vars(command).get("commands")
        result += [f"{name} {subcommand}" for subcommand in nested] if nested else [name]
    return result


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the command failed.
    """
    first = arguments[:1]
    is_one = first == ["--version"] or (first and first[0] in _COMMANDS)
    app = _application([name for name in first if name in _COMMANDS] if is_one else _COMMANDS)
    command = typer.main.get_command(app)
    _take_types_off_switches(command)
    try:
        return command(arguments, prog_name="tuninglink", standalone_mode=False) or process.SUCCESS
    except typer.TyperException as failure:
        raise _usage_error(failure) from None


def _take_types_off_switches(command: Any, parent: typer.Context | None = None) -> None:
    """Remove the type `<bool>`, which typer's help shows for switches, though they take no value."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for nested in vars(command).get("commands", {}).values():
        _take_types_off_switches(nested, context)


def _usage_error(failure: typer.TyperException) -> TuninglinkError:
    context = getattr(failure, "ctx", None)
    command = context.command_path if context else "tuninglink"
    message = failure.format_message().rstrip(".").strip()
    return TuninglinkError(
        error(message[:1].lower() + message[1:], notes=[note(f"see '{command} --help'")])
    )
