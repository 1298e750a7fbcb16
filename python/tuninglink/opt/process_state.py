"""What the compiler keeps once per process: command-line flags and target backends.

Only the main function of `iree-opt` fills the global registry of target backends that passes of the HAL
dialect look into, and what it registers lives in its stack frame. So it runs here, on a thread of its own,
with a pipe for its input: once it has read what is in the pipe, its set-up is done, and there it waits for
more until the process ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import termios
import threading
import time
from ctypes import c_bool, c_char_p, c_int
from typing import TYPE_CHECKING, Any

from tuninglink.mlir.c_interface import function

if TYPE_CHECKING:
    from collections.abc import Sequence


def set_up_process(program: str, flags: Sequence[str], *, target_backends: bool) -> None:
    """Set flags of the compiler and makes its target backends known, if they are needed.

    To be called once, from the main thread, before contexts are made that are to heed the flags. A flag
    that does not exist, or whose value is wrong, ends the process with the compiler's own message and exit
    code 1. Where target backends are known to the process, no session of the compiler can be started in it
    any more: the compiler would end the process.

    Args:
        program: what messages call this program.
        flags: flags of `iree-opt`, except for those that `iree-opt` acts on itself.
        target_backends: whether a pass looks for target backends.

    Raises:
        RuntimeError: the compiler did not do what this module relies on.
    """
    if target_backends:
        _park_opt_main(program, flags)
    elif flags:
        _set_global_flags([program, *flags])


def _park_opt_main(program: str, flags: Sequence[str]) -> None:
    # The end of `writer` would be the end of the input: it is never closed.
    reader, writer = os.pipe()
    os.write(writer, b"\n")
    # At the end, the input could be taken for the value that the last flag lacks.
    arguments = [program, f"/dev/fd/{reader}", *flags]
    thread = threading.Thread(target=_run_opt_main, args=(arguments,), daemon=True)
    # The compiler installs signal handlers of its own; Python's are to stay.
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGPIPE)}
    thread.start()
    while _unread_bytes(reader):
        if not thread.is_alive():
            raise RuntimeError("iree-opt's main function returned without reading its input")
        time.sleep(0.0001)
    for each, handler in handlers.items():
        signal.signal(each, handler)


def _unread_bytes(descriptor: int) -> int:
    count = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, "little")


def _run_opt_main(arguments: list[str]) -> None:
    run = function("ireeOptRunMain", c_int, c_int, ctypes.POINTER(c_char_p))
    run(len(arguments), _argument_vector(arguments))


def _set_global_flags(arguments: list[str]) -> None:
    function("ireeCompilerGlobalInitialize", None)()
    set_up = function(
        "ireeCompilerSetupGlobalCL", None, c_int, ctypes.POINTER(c_char_p), c_char_p, c_bool
    )
    install_signal_handlers = False
    set_up(len(arguments), _argument_vector(arguments), b"", install_signal_handlers)


def _argument_vector(arguments: list[str]) -> Any:
    encoded = [argument.encode(errors="surrogateescape") for argument in arguments]
    return (c_char_p * (len(encoded) + 1))(*encoded, None)
