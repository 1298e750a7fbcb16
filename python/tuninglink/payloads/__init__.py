"""Programs made for entries: what a matcher looks for, with sizes that it accepts."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.payloads.interpretation import (
        configured,
        configures,
        matches,
        spec_of,
        winners,
    )
    from tuninglink.payloads.payload import Payload, PayloadError, Size
    from tuninglink.payloads.synthesis import payload_for

__all__ = [
    "Payload",
    "PayloadError",
    "Size",
    "configured",
    "configures",
    "matches",
    "payload_for",
    "spec_of",
    "winners",
]

_HOMES = {
    **dict.fromkeys(("Payload", "PayloadError", "Size"), "payload"),
    **dict.fromkeys(
        ("configured", "configures", "matches", "spec_of", "winners"), "interpretation"
    ),
    "payload_for": "synthesis",
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first asked for: running payloads needs no solver."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
