"""The work of Python code, counted in steps, which are the same on a busy machine as on an idle one."""

from __future__ import annotations

import cProfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def count_calls(action: Callable[[], object]) -> int:
    """Return the number of calls that an action makes."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())
