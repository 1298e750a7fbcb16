"""What the compiler keeps once per process: command-line flags and target backends.

Only the main function of `iree-opt` understands all of the compiler's flags, and only it fills the global
registry of target backends that passes of the HAL dialect look into. What it registers lives in its stack
frame. So it runs here, on a thread of its own, with a pipe for its input: once it has read what is in the
pipe, its set-up is done, and there it waits for more until the process ends.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
import threading
import time
from typing import TYPE_CHECKING

from tuninglink.driver.capi import run_opt_main

if TYPE_CHECKING:
    from collections.abc import Sequence

_parked: list[threading.Thread] = []


def set_up_process(program: str, flags: Sequence[str] = ()) -> None:
    """Sets flags of the compiler and makes its target backends known. The first call counts.

    A flag that does not exist, or whose value is wrong, ends the process with the compiler's own message
    and exit code 1. To be called from the main thread before a context is made.

    Args:
        program: what messages call this program.
        flags: flags of `iree-opt`, except for those that `iree-opt` acts on itself.

    Raises:
        RuntimeError: the compiler did not do what this module relies on.
    """
    if _parked:
        return
    reader, writer = os.pipe()
    os.write(writer, b"\n")
    arguments = [program, *flags, f"/dev/fd/{reader}"]
    thread = threading.Thread(target=run_opt_main, args=(arguments,), daemon=True)
    # The compiler installs signal handlers of its own; Python's are to stay.
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGPIPE)}
    thread.start()
    while _unread_bytes(reader):
        if not thread.is_alive():
            raise RuntimeError("iree-opt's main function returned without reading its input")
        time.sleep(0.0001)
    for each, handler in handlers.items():
        signal.signal(each, handler)
    # `writer` stays open: its end would be the end of the input.
    _parked.append(thread)


def _unread_bytes(descriptor: int) -> int:
    count = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, "little")
