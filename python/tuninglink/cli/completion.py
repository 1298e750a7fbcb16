"""What a shell may complete."""

from __future__ import annotations

from tuninglink.iree.targets import known_target_names


def known_targets(incomplete: str) -> list[str]:
    """Returns the names of targets that begin with what was typed."""
    return [name for name in known_target_names() if name.startswith(incomplete.lower())]
