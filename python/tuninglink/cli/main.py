"""`tuninglink`: the entry point of the process."""

from __future__ import annotations

import gc
import os
import sys
from typing import Final, NoReturn

from tuninglink.cli.startup import (
    continue_in_child,
    diagnose_failing_output,
    exit_on_interrupt,
    occupy_standard_streams,
)
from tuninglink.lazy import load_on_use

_COLLECTION_THRESHOLDS: Final = (50_000, 20, 20)
"""With Python's own thresholds, the garbage collector takes 4 % of a check. Few objects refer to each other."""


def main() -> NoReturn:
    """Run the command line of this process and end it with the command's exit code."""
    occupy_standard_streams()
    continue_in_child()
    diagnose_failing_output()
    exit_on_interrupt("tuninglink")
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.cli import process  # noqa: PLC0415

    code = process.run(_run)
    sys.stderr.flush()
    # All is written. Destroying large programs and specs, operation by operation, would only take time.
    os._exit(code)


def _run() -> int:
    from tuninglink.cli.commands import run  # noqa: PLC0415 - after the arrangements of `main`
    from tuninglink.cli.verbosity import take_verbosity  # noqa: PLC0415

    return run(take_verbosity(sys.argv[1:]))


if __name__ == "__main__":
    main()
