"""The entries of configurations that knobs stand in, for messages that point at them."""

from __future__ import annotations

import re
from typing import Final

_WHOLE: Final = {
    "wg_size_x": ("workgroup_size",),
    "wg_size_y": ("workgroup_size",),
    "wg_size_z": ("workgroup_size",),
    "sg_size": ("subgroup_size",),
    "promoted": ("promote_operands",),
    "loaded": ("promotion_types",),
}
"""The entries of knobs that have one name."""

_PATTERNS: Final = (
    (re.compile(r"(\w+_)?mma_idx"), ("mma_kind",)),
    (re.compile(r"sg_\w+_cnt"), ("subgroup_basis",)),
    (re.compile(r"lane_\w+_cnt"), ("lane_basis",)),
    (re.compile(r"wg_\w+"), ("workgroup", "distribution")),
    (re.compile(r"red_\w+"), ("reduction", "partial_reduction")),
    (re.compile(r"sg_\w+"), ("subgroup",)),
    (re.compile(r"thread_\w+"), ("thread",)),
    (re.compile(r"pad_conv_\d+"), ("padding_conv",)),
    (re.compile(r"pad_\d+"), ("padding",)),
)

_OF_LOOP: Final = re.compile(r"(?P<level>[a-z_]+)_\d+")
"""The knobs for CPUs: a level of tiling, and a loop."""


def entries_of_knob(knob: str) -> tuple[str, ...]:
    """Returns the entries of a configuration that a knob may stand in, the likeliest first."""
    if knob in _WHOLE:
        return _WHOLE[knob]
    for pattern, entries in _PATTERNS:
        if pattern.fullmatch(knob):
            return entries
    level = _OF_LOOP.fullmatch(knob)
    return (level["level"],) if level else (knob,)
