"""Cleanup hooks that run when an interrupt ends the process immediately.

This module has no imports, as an interrupt may precede them.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
