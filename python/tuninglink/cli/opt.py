"""`tuninglink-opt`: a drop-in replacement for `iree-opt` that also runs passes written in Python."""

from __future__ import annotations

import os
import sys

from tuninglink.cli.main import exit_on_interrupt, occupy_standard_streams
from tuninglink.compiler_plugins import load_compiler
from tuninglink.interrupt_hooks import omit_symbols_from_crashes
from tuninglink.lazy import load_on_use


def main() -> None:
    """Run the command and end the process.

    The compiler's threads and data are left to the operating system, since an orderly shutdown takes longer than a
    small run.
    """
    occupy_standard_streams()
    omit_symbols_from_crashes()
    exit_on_interrupt("tuninglink-opt")
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    arguments, plugin_failures = load_compiler(sys.argv)
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.opt import run  # noqa: PLC0415

    code = run(arguments, plugin_failures)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
