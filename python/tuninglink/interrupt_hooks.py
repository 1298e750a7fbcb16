"""Abnormal termination of the process: cleanup hooks for interrupts, and stack traces of crashes.

This module imports only small modules of the standard library, as an interrupt may precede other imports.
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

uninterrupted: Final = threading.RLock()
"""A lock that delays an interrupt. From an interrupt to the end of the process, the thread that ends it holds the lock."""

_hooks: dict[object, Callable[[], object]] = {}


@contextmanager
def interrupt_hook(hook: Callable[[], object]) -> Iterator[None]:
    """Call `hook` if an interrupt ends the process during the block.

    Other threads still run meanwhile, and may fail because of what hooks remove. A thread that comes to the end of such
    a block waits there for the end of the process, so that it neither reports that failure nor ends the process.
    """
    key = object()
    with uninterrupted:
        _hooks[key] = hook
    try:
        yield
    finally:
        with uninterrupted:
            _hooks.pop(key, None)


def run_interrupt_hooks() -> None:
    """Call all hooks, the latest first, from the thread that then ends the process."""
    uninterrupted.acquire()
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
