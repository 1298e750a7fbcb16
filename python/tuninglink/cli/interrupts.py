"""Ending a command at once when it is interrupted, even while the compiler is at work."""

from __future__ import annotations

import os
import signal
import threading

from tuninglink.interrupt_hooks import run_interrupt_hooks

INTERRUPTED = 130
"""What a shell reports for a program that was ended by an interrupt."""


def exit_on_interrupt(program: str) -> None:
    """Make an interrupt end the process with one line and exit code 130, after the interrupt hooks.

    Python's own handler would have to wait until the compiler returns. To be called from the main thread.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # Started in the background, where interrupts are meant for others.
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # The signal's number is written to the pipe before a handler is called; it has nothing to do.
    signal.signal(signal.SIGINT, lambda *_: None)

    def watch() -> None:
        while os.read(reader, 1)[0] != signal.SIGINT:
            pass
        run_interrupt_hooks()
        os.write(2, f"{program}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    threading.Thread(target=watch, daemon=True).start()
