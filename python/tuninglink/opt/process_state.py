"""Process-wide state of the compiler: command-line flags and target backends.

Passes of the HAL dialect look into the global registry of target backends. Only the main function of `iree-opt` fills
it, with objects in its stack frame. So that function runs here, on a separate thread and with a pipe for its input.
Once it has read the content of the pipe, its set-up is done, and it waits for more input until the process ends.
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
    """Set flags of the compiler, and register its target backends if they are needed.

    Call it once, from the main thread, before creating contexts that depend on the flags. An unknown flag, or an
    invalid value, ends the process with the compiler's own message and exit code 1. Once target backends are
    registered, a session of the compiler must not be started in this process: the compiler would abort.

    Args:
        program: the name of this program in messages.
        flags: flags of `iree-opt`, except for those that its main function implements.
        target_backends: whether a pass uses target backends.

    Raises:
        RuntimeError: the compiler does not behave as this module expects.
    """
    if target_backends:
        _park_opt_main(program, flags)
    elif flags:
        _set_global_flags([program, *flags])


def _park_opt_main(program: str, flags: Sequence[str]) -> None:
    # The pipe is never closed, since that would end the input.
    reader, writer = os.pipe()
    os.write(writer, b"\n")
    # As the last argument, the input could become the value of a preceding flag.
    arguments = [program, f"/dev/fd/{reader}", *flags]
    thread = threading.Thread(target=_run_opt_main, args=(arguments,), daemon=True)
    # The compiler installs signal handlers. Python's are restored.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
    thread.start()
    while _unread_bytes(reader):
        if not thread.is_alive():
            raise RuntimeError("iree-opt's main function returned without reading its input")
        time.sleep(0.0001)
    for number, handler in handlers.items():
        signal.signal(number, handler)


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
