"""`tuninglink`: the entry point of the process."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from tuninglink.cli.interrupts import exit_on_interrupt
from tuninglink.cli.own_arguments import SUMMARIES, run_command
from tuninglink.cli.streams import diagnose_failing_output, occupy_standard_streams
from tuninglink.cli.supervision import continue_in_child
from tuninglink.cli.verbosity import take_verbosity
from tuninglink.lazy import load_on_use


def main() -> NoReturn:
    """Run the command line of this process and end it with the command's exit code."""
    occupy_standard_streams()
    continue_in_child()
    diagnose_failing_output()
    exit_on_interrupt("tuninglink")
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.cli import process  # noqa: PLC0415

    code = process.run(_run)
    sys.stderr.flush()
    # All is written; taking large programs and specs apart, operation by operation, would serve nobody.
    os._exit(code)


def _run() -> int:
    arguments = take_verbosity(sys.argv[1:])
    if arguments and arguments[0] in SUMMARIES:
        return run_command(arguments[0], arguments[1:])
    from tuninglink.cli import app  # noqa: PLC0415 - typer and rich take as long as a small run

    return app.run(arguments)


if __name__ == "__main__":
    main()
