"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from forked_workers import FORKING
from hypothesis import HealthCheck, settings

from tuninglink.workers import pool

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["durations"]

# The examples of a property are the same in every run, and take what time they take.
settings.register_profile(
    "tuninglink",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("tuninglink")

pool.subprocess = FORKING

gc.disable()  # until all tests are imported

# Each process that imports numpy would start a thread for each core, which takes longer than the rest of the import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_finish(session: pytest.Session) -> None:  # noqa: ARG001
    """Exclude imported objects from garbage collections, and make these rarer: they took 3 to 8 % of the time."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python collect all objects at its end again, where the bindings report leaks."""
    gc.unfreeze()
