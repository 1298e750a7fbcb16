"""Fixtures of all tests."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

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


def pytest_collection_finish(session: pytest.Session) -> None:  # noqa: ARG001
    """Exclude imported objects from garbage collections, and make these rarer: they took 3 to 8 % of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def pytest_unconfigure() -> None:
    """Let Python collect all objects at its end again, where the bindings report leaks."""
    gc.unfreeze()
