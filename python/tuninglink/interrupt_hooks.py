"""Cleanup hooks: they run when an interrupt ends the process at once.

Nothing is imported here, as an interrupt may come before anything is.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_hooks: dict[object, Callable[[], object]] = {}


@contextmanager
def interrupt_hook(hook: Callable[[], object]) -> Iterator[None]:
    """Has `hook` called if an interrupt ends the process while the block runs, and only then."""
    key = object()
    _hooks[key] = hook
    try:
        yield
    finally:
        del _hooks[key]


def run_interrupt_hooks() -> None:
    """Call all hooks, the latest first; for the thread that is about to end the process."""
    for hook in reversed(list(_hooks.values())):
        with suppress(Exception):
            hook()
