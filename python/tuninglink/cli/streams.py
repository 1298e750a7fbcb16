"""The standard streams of the process: closed ones are replaced, and failing output ends as an error."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


def occupy_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise a file that is opened later would become a standard stream, and Python's own would be None. Reading
    from such a stream, and writing results to it, fails with an error: it is open for the opposite. Diagnostics
    are discarded.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken.
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def diagnose_failing_output() -> None:
    """Make writes to standard output raise an error for the user, from wherever they come.

    Help texts are written by libraries, which let the operating system's error through.
    """
    stream = sys.stdout
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_StandardOutput(1, "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty(),
    )


class _StandardOutput(io.FileIO):
    """Standard output whose failures are errors for the user, except a closed pipe."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as failure:
            # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
            from tuninglink.errors import TuninglinkError  # noqa: PLC0415
            from tuninglink.files import cannot  # noqa: PLC0415

            raise TuninglinkError(cannot("write", "<stdout>", failure)) from None
