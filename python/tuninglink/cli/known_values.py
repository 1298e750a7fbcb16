"""The values of flags that are known beforehand, which shells complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def known_targets() -> Iterable[str]:
    """Return the names of targets."""
    from tuninglink.iree.targets import known_target_names  # noqa: PLC0415 - only a shell needs the list

    return known_target_names()


def known_devices() -> Iterable[str]:
    """Return the drivers of the runtime, which are names of their first devices."""
    try:
        from iree import runtime  # noqa: PLC0415 - an extra
    except ImportError:
        return ()
    return sorted(runtime.query_available_drivers())


def known_searches() -> Iterable[str]:
    """Return the names of searches."""
    from tuninglink.tuning.search.registry import search_names  # noqa: PLC0415 - only a shell needs the list

    return search_names()
