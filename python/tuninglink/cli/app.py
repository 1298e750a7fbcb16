"""The subcommands of `tuninglink`, as a typer application."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tuninglink.cli import process
from tuninglink.cli.check import check
from tuninglink.cli.compile import compile_command
from tuninglink.cli.database import database
from tuninglink.cli.demo import demo
from tuninglink.cli.diff import diff
from tuninglink.cli.dump import dump
from tuninglink.cli.explain import explain_command
from tuninglink.cli.init import init_command
from tuninglink.cli.link import link
from tuninglink.cli.lock import lock
from tuninglink.cli.targets import targets
from tuninglink.cli.upgrade import upgrade
from tuninglink.cli.verbosity import EPILOG
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="tuninglink",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(epilog=EPILOG)(link)


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def compile(context: typer.Context) -> None:  # noqa: A001 - named as the command
    """Compile a program as `iree-compile` does, tuned by specs, on every backend."""
    raise typer.Exit(compile_command(context.args))


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def explain(context: typer.Context) -> None:
    """Say what specs do to a program, dispatch by dispatch, and why an entry does not match."""
    raise typer.Exit(explain_command(context.args))


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def init(context: typer.Context) -> None:
    """Write a spec to start from: the compiler's own configurations of a program, with a comment on each knob."""
    raise typer.Exit(init_command(context.args))


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def tune(context: typer.Context) -> None:
    """Measure configurations on a device, and write a spec with those that are faster than the compiler's own."""
    from tuninglink.cli.tune import tune_command  # noqa: PLC0415 - the runtime need not be installed

    raise typer.Exit(tune_command(context.args))


@app.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def retune(context: typer.Context) -> None:
    """Measure the entries of specs again, and drop, keep or improve each."""
    from tuninglink.cli.retune import retune_command  # noqa: PLC0415 - as above

    raise typer.Exit(retune_command(context.args))


app.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})(check)
app.command(epilog=EPILOG)(diff)
app.command(epilog=EPILOG)(dump)
app.command(epilog=EPILOG)(targets)
app.command(epilog=EPILOG)(lock)
app.command(epilog=EPILOG)(demo)
app.command(epilog=EPILOG)(upgrade)
app.add_typer(database)


_SETTING_FLAGS: Final = frozenset({"compile", "explain", "init", "tune", "retune"})
"""The commands that set the compiler's flags of the whole process, which can be done once."""


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"tuninglink {metadata.version('tuninglink')}")
        typer.echo(f"IREE compiler {metadata.version('iree-base-compiler')}")
        raise typer.Exit


@app.callback()
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
    elif context.invoked_subcommand not in _SETTING_FLAGS:
        _set_up_compiler()


@cache
def _set_up_compiler() -> None:
    set_up_command_line("tuninglink", ())


def command_names() -> list[str]:
    """Returns the commands as one types them, such as `link` and `database show`."""
    found: list[str] = []
    for name, command in vars(typer.main.get_command(app))["commands"].items():
        nested = vars(command).get("commands")
        found += [f"{name} {each}" for each in nested] if nested else [name]
    return found


def run(arguments: Sequence[str]) -> int:
    """Runs a command line and returns the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the command failed.
    """
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
