"""What is to be put in order when the process ends at once, on an interrupt.

Nothing is imported here, as an interrupt may come before anything is.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_pending: dict[object, Callable[[], object]] = {}


@contextmanager
def pending(cleanup: Callable[[], object]) -> Iterator[None]:
    """Has `cleanup` called if the process ends at once while the block runs, and only then."""
    key = object()
    _pending[key] = cleanup
    try:
        yield
    finally:
        del _pending[key]


def clean_up() -> None:
    """Does all that is pending; called from whatever thread is about to end the process."""
    for cleanup in reversed(list(_pending.values())):
        with suppress(Exception):
            cleanup()
