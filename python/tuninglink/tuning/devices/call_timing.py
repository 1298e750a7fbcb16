"""Timing of calls: which clock, and on which thread."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Protocol

from tuninglink.iree.worker_stack import WORKER_STACK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

_OWN_STACK_BYTES: Final = 12 << 10
"""What the interpreter takes of a thread's stack more than IREE's task system does."""


class CallTimer(Protocol):
    """Runs calls and times them."""

    def __call__(self, call: Callable[[], object]) -> float:
        """Run a call and return the seconds that it took."""


def wall_seconds(call: Callable[[], object]) -> float:
    """Run a call in this thread and return the seconds that passed."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


class WorkerThread:
    """A thread with as much stack as a worker of `local-task`, whose processor time counts.

    `local-sync` runs dispatches in the thread that calls it. Its processor time does not depend on what else runs on the
    machine, and code that would overflow the stack of a worker does so here, too.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        before = threading.stack_size(WORKER_STACK_BYTES + _OWN_STACK_BYTES)
        try:
            self._thread.submit(int).result()  # the thread starts here
        finally:
            threading.stack_size(before)

    def __call__(self, call: Callable[[], object]) -> float:
        """Run a call and return the processor time that it took, in seconds."""
        return self._thread.submit(_processor_seconds, call).result()


def _processor_seconds(call: Callable[[], object]) -> float:
    before = time.thread_time()
    call()
    return time.thread_time() - before
