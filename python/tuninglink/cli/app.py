"""The subcommands of `tuninglink`, as a typer application."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tuninglink.cli import process
from tuninglink.cli.verbosity import EPILOG
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Sequence


def compile(context: typer.Context) -> None:  # noqa: A001 - named as the command
    """Compile a program as `iree-compile` does, tuned by specs, on every backend."""
    from tuninglink.cli.compile import compile_command  # noqa: PLC0415 - others need not wait

    raise typer.Exit(compile_command(context.args))


def explain(context: typer.Context) -> None:
    """Say what specs do to a program, dispatch by dispatch, and why an entry does not match."""
    from tuninglink.cli.explain import explain_command  # noqa: PLC0415 - others need not wait

    raise typer.Exit(explain_command(context.args))


def init(context: typer.Context) -> None:
    """Write a spec to start from: the compiler's own configurations of a program, with a comment on each knob."""
    from tuninglink.cli.init import init_command  # noqa: PLC0415 - others need not wait

    raise typer.Exit(init_command(context.args))


def tune(context: typer.Context) -> None:
    """Measure configurations on a device, and write a spec with those that are faster than the compiler's own."""
    from tuninglink.cli.tune import tune_command  # noqa: PLC0415 - the runtime need not be installed

    raise typer.Exit(tune_command(context.args))


def retune(context: typer.Context) -> None:
    """Measure the entries of specs again, and drop, keep or improve each."""
    from tuninglink.cli.retune import retune_command  # noqa: PLC0415 - as above

    raise typer.Exit(retune_command(context.args))


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
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
    elif context.invoked_subcommand not in _READING_ARGUMENTS:
        _set_up_compiler()


@cache
def _set_up_compiler() -> None:
    from tuninglink.compiler.session import set_up_command_line  # noqa: PLC0415 - loads the compiler

    set_up_command_line("tuninglink", ())


_READING_ARGUMENTS: Final = {each.__name__: each for each in (compile, explain, init, tune, retune)}
"""The commands that read their arguments themselves; they set the compiler's flags, which a process can do once."""

_COMMANDS: Final = (
    *("link", "compile", "explain", "init", "tune", "retune", "check", "diff", "dump", "targets"),
    *("lock", "demo", "upgrade", "database"),
)
"""The commands in the order in which they are listed; each is defined in the module of its name."""


def _application(names: Sequence[str]) -> typer.Typer:
    """Returns the application with some of its commands: a command does not wait for what others import."""
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
        if name in _READING_ARGUMENTS:
            settings = {**lenient, "allow_extra_args": True}
            command = app.command(add_help_option=False, context_settings=settings)
            command(_READING_ARGUMENTS[name])
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
    """Returns the commands as one types them, such as `link` and `database show`."""
    found: list[str] = []
    for name, command in vars(typer.main.get_command(_application(_COMMANDS)))["commands"].items():
        nested = vars(command).get("commands")
        found += [f"{name} {each}" for each in nested] if nested else [name]
    return found


def run(arguments: Sequence[str]) -> int:
    """Runs a command line and returns the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the command failed.
    """
    first = arguments[:1]
    is_one = first == ["--version"] or (first and first[0] in _COMMANDS)
    app = _application([each for each in first if each in _COMMANDS] if is_one else _COMMANDS)
    try:
        return app(arguments, prog_name="tuninglink", standalone_mode=False) or process.SUCCESS
    except typer.TyperException as failure:
        raise _usage_error(failure) from None


def _usage_error(failure: typer.TyperException) -> TuninglinkError:
    context = getattr(failure, "ctx", None)
    command = context.command_path if context else "tuninglink"
    message = failure.format_message().rstrip(".").strip()
    return TuninglinkError(
        error(message[:1].lower() + message[1:], notes=[note(f"see '{command} --help'")])
    )
