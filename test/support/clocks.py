"""Time limits that do not depend on other work on the machine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import patch

from forked_workers import started_workers
from processes import marked, processor_seconds

from tuninglink.workers import pool as worker_process

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def limits_in_processor_time() -> Iterator[None]:
    """Have the limits of jobs count the processor time of the workers that start in the block.

    A job that spins reaches its limit, and one that waits for a busy machine does not.
    """
    marker = f"TUNINGLINK_TEST_{os.urandom(8).hex()}"

    def seconds() -> float:
        return sum(map(processor_seconds, marked(marker)))

    clock = SimpleNamespace(monotonic=seconds)
    with (
        started_workers(),  # whose environment shows the marker
        patch.dict(os.environ, {marker: ""}),
        patch.object(worker_process, "time", clock),
    ):
        yield
