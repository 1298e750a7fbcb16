"""`tuninglink`: the entry point of the process. The compiler is loaded only after its start."""

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
from tuninglink.interrupt_hooks import omit_symbols_from_crashes
from tuninglink.lazy import load_on_use

_COLLECTION_THRESHOLDS: Final = (50_000, 20, 20)
"""With Python's own thresholds, the garbage collector takes 4 % of a check. Few objects refer to each other."""


def main() -> NoReturn:
    """Run the command line of this process and end it with the command's exit code."""
    occupy_standard_streams()
    omit_symbols_from_crashes()
    continue_in_child()
    diagnose_failing_output()
    exit_on_interrupt("tuninglink")
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.cli import commands, process  # noqa: PLC0415
    from tuninglink.cli.terminal import take_verbosity  # noqa: PLC0415

    arguments = take_verbosity(sys.argv[1:])
    code = process.run(lambda: commands.run(arguments))
    sys.stderr.flush()
    # All is written. Destroying large programs and specs, operation by operation, would only take time.
    os._exit(code)


if __name__ == "__main__":
    main()
