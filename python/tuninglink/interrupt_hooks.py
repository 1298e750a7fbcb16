"""Abnormal termination of the process: cleanup hooks for interrupts, and stack traces of crashes.

This module imports only modules that Python itself has loaded, as an interrupt may precede other imports.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SYMBOLIZATION: Final = "LLVM_DISABLE_SYMBOLIZATION"
"""The variable that, with any value, makes LLVM's crash handler omit the names of functions."""

_hooks: dict[object, Callable[[], object]] = {}

_ending_threads: set[int] = set()
"""The identifier of the thread that runs the hooks and then ends the process; empty before an interrupt."""


@contextmanager
def interrupt_hook(hook: Callable[[], object]) -> Iterator[None]:
    """Call `hook` if an interrupt ends the process during the block.

    Other threads still run meanwhile, and may fail because of what hooks remove. A thread that comes to the end of the
    block then waits there for the end of the process, so that it neither reports that failure nor ends the process.
    """
    key = object()
    _hooks[key] = hook
    try:
        yield
    finally:
        if _ending_threads and threading.get_ident() not in _ending_threads:
            threading.Event().wait()
        _hooks.pop(key, None)


def run_interrupt_hooks() -> None:
    """Call all hooks, the latest first, from the thread that ends the process."""
    _ending_threads.add(threading.get_ident())
    while _hooks:
        _, hook = _hooks.popitem()
        with suppress(Exception):
            hook()


def omit_symbols_from_crashes() -> None:
    """Set `LLVM_DISABLE_SYMBOLIZATION` for this process and its children; `0` unsets it instead.

    The compiler's crash handler can wait forever for a lock while it looks up symbols.
    """
    if os.environ.setdefault(SYMBOLIZATION, "1") == "0":
        del os.environ[SYMBOLIZATION]
