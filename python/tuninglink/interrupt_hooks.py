"""Abnormal termination of the process: cleanup hooks for interrupts, and stack traces of crashes.

This module imports only modules that Python itself has loaded, as an interrupt may precede other imports.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SYMBOLIZATION: Final = "LLVM_DISABLE_SYMBOLIZATION"
"""The variable that, with any value, makes LLVM's crash handler omit the names of functions."""

_hooks: dict[object, Callable[[], object]] = {}


@contextmanager
def interrupt_hook(hook: Callable[[], object]) -> Iterator[None]:
    """Call `hook` if an interrupt ends the process during the block."""
    key = object()
    _hooks[key] = hook
    try:
        yield
    finally:
        del _hooks[key]


def run_interrupt_hooks() -> None:
    """Call all hooks, the latest first, from the thread that ends the process."""
    for hook in reversed(list(_hooks.values())):
        with suppress(Exception):
            hook()


def omit_symbols_from_crashes() -> None:
    """Set `LLVM_DISABLE_SYMBOLIZATION` for this process and its children; `0` unsets it instead.

    The compiler's crash handler can wait forever for a lock while it looks up symbols.
    """
    if os.environ.setdefault(SYMBOLIZATION, "1") == "0":
        del os.environ[SYMBOLIZATION]
