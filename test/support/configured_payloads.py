"""What entries do to the root ops of payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.payloads import configured, winners

if TYPE_CHECKING:
    from tuninglink.payloads import Payload
    from tuninglink.specs import Entry


def configures(entry: Entry, payload: Payload) -> bool:
    """Return whether an entry configures the root op of a payload within its whole spec."""
    (winner,) = winners(entry.anatomy, [payload])
    return winner == entry and configuration(entry, payload) is not None


def configuration(entry: Entry, payload: Payload) -> str | None:
    """Return the configuration that an entry alone sets on the root op of a payload, as text.

    The result is None if the entry does not match, or if the compiler rejects the configuration.
    """
    try:
        dispatch = configured(entry, payload)
    except mlir.MLIRError:
        return None
    attributes = [
        dispatch.root.attributes.get(names.LOWERING_CONFIG),
        dispatch.root.attributes.get(names.COMPILATION_INFO),
        dispatch.function.attributes.get(names.TRANSLATION_INFO),
    ]
    return ", ".join(str(attribute) for attribute in attributes if attribute is not None) or None
