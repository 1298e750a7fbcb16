"""Payloads: a program for each entry that the entry matches."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.payloads.interpretation import (
        configured,
        configures,
        matches,
        spec_of,
        winners,
    )
    from tuninglink.payloads.payload import Payload, PayloadError, Size
    from tuninglink.payloads.synthesis import Synthesizer, payload_for

__all__ = [
    "Payload",
    "PayloadError",
    "Size",
    "Synthesizer",
    "configured",
    "configures",
    "matches",
    "payload_for",
    "spec_of",
    "winners",
]

_HOMES = {
    **dict.fromkeys(("Payload", "PayloadError", "Size"), "payloads.payload"),
    **dict.fromkeys(
        ("configured", "configures", "matches", "spec_of", "winners"), "payloads.interpretation"
    ),
    **dict.fromkeys(("Synthesizer", "payload_for"), "payloads.synthesis"),
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # running payloads needs no solver
