"""`tuninglink`: the entry point of the process."""

from __future__ import annotations

import sys

from tuninglink.cli.interrupts import exit_on_interrupt


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    exit_on_interrupt("tuninglink")
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.cli import process  # noqa: PLC0415

    return process.run(_run)


def _run() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["compile"]:
        # A build runs it for every program, and it reads its arguments as iree-compile does.
        from tuninglink.cli.compile import compile_command  # noqa: PLC0415 - see above

        return compile_command(arguments[1:])
    from tuninglink.cli import app  # noqa: PLC0415 - typer and rich take as long as a small run

    return app.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
