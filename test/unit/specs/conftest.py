"""Fixtures of tests that read many specs."""

from __future__ import annotations

import pytest

from tuninglink.mlir import serialization


@pytest.fixture
def as_in_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read bytecode as commands do, whose diagnostics quote no operations: not in a separate process before."""
    monkeypatch.setattr(serialization, "quotes_operations", lambda _: False)
