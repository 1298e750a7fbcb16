"""`tuninglink-opt`: the drop-in for `iree-opt` that also knows passes written in Python."""

from __future__ import annotations

import os
import sys

from tuninglink.cli.interrupts import exit_on_interrupt
from tuninglink.lazy import load_on_use


def main() -> None:
    """Runs the command and ends the process.

    The compiler's threads and data are left to the operating system: to take them down in order takes
    longer than a small run.
    """
    _occupy_standard_streams()
    exit_on_interrupt("tuninglink-opt")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.opt.command import run  # noqa: PLC0415

    code = run(sys.argv)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


def _occupy_standard_streams() -> None:
    """Sees to it that what is opened later does not become a standard stream that was closed.

    Reading from such a stream, and writing results to it, fails as it should: it is open for the opposite.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken.
            os.open(os.devnull, flags)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
