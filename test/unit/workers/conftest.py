"""The pool's own tests start processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from forked_workers import started_workers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _started() -> Iterator[None]:
    with started_workers():
        yield
