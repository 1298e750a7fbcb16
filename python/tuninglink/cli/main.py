"""`tuninglink`: the command, and what all its subcommands share."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.link import link
from tuninglink.cli.targets import targets
from tuninglink.errors import TuninglinkError
from tuninglink.ir.diagnostics import error, note

app = typer.Typer(
    name="tuninglink",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(link)
app.command()(targets)


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
    """The toolchain around tuning specs for IREE: link, apply and dump them on the stock compiler."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    return process.run(_run)


def _run() -> int:
    try:
        return app(standalone_mode=False) or process.SUCCESS
    except typer.TyperException as failure:
        raise _usage_error(failure) from None


def _usage_error(failure: typer.TyperException) -> TuninglinkError:
    context = getattr(failure, "ctx", None)
    command = context.command_path if context else "tuninglink"
    message = failure.format_message().rstrip(".").strip()
    return TuninglinkError(
        error(message[:1].lower() + message[1:], notes=[note(f"see '{command} --help'")])
    )


if __name__ == "__main__":
    sys.exit(main())
