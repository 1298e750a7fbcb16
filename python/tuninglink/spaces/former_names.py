"""The names that knobs had in databases and reports of former versions: `wg_0` was `workgroup[0]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tuninglink.iree import SUBGROUP_BASIS, SUBGROUP_SIZE, WORKGROUP_SIZE

_NAMES: Final = {
    r"wg_size_x": WORKGROUP_SIZE,
    r"sg_size": SUBGROUP_SIZE,
    r"wg_(\d+)": r"workgroup[\1]",
    r"red_(\d+)": r"reduction[\1]",
    r"pad_(\d+)": r"padding[\1]",
    r"pad_conv_(\d+)": r"padding_conv[\1]",
    r"sg_(\d+)": r"subgroup[\1]",
    r"sg_(\d+)_cnt": r"subgroup_basis[\1]",
    r"lane_(\d+)_cnt": r"lane_basis[\1]",
    r"(qk_|pv_)mma_idx": r"\1attrs.mma_kind",
    r"mma_idx": "mma_kind",
    r"promoted": "promote_operands",
    r"loaded": "promotion_types",
    r"loop_peeling": "enable_loop_peeling",
    r"(\w+)_(\d+)": r"\1[\2]",
}
"""Patterns of former names, with the names today; the first match applies."""

_AXES: Final = ("wg_size_x", "wg_size_y", "wg_size_z")


def current_name(name: str) -> str:
    """Return the name of a knob today; other names stay."""
    for pattern, today in _NAMES.items():
        if re.fullmatch(pattern, name):
            return re.sub(pattern, today, name)
    return name


def current_names(knobs: Mapping[str, int]) -> dict[str, int]:
    """Return the values of the knobs of a configuration by their names today."""
    names = {name: current_name(name) for name in knobs}
    if all(name == today for name, today in names.items()):
        return dict(knobs)
    if _AXES[1] in knobs:
        names |= {name: f"{WORKGROUP_SIZE}[{axis}]" for axis, name in enumerate(_AXES)}
    steps = [int(name[4:]) for name in knobs if name.startswith("red_")]
    if any(name.startswith("lane_") for name in knobs):
        # Lanes keep the results of steps apart.
        names |= {f"red_{loop}": f"partial_reduction[{loop}]" for loop in steps}
        names["sg_cnt"] = f"{SUBGROUP_BASIS}[{steps[-1] if steps else 0}]"
    # The rows and the columns of a product are its last parallel loops without a count of their own.
    loops = sorted(int(name[3:]) for name in knobs if re.fullmatch(r"wg_\d+", name))
    free = [loop for loop in loops if f"sg_{loop}_cnt" not in knobs]
    names |= {
        name: f"{SUBGROUP_BASIS}[{loop}]"
        for name, loop in zip(("sg_m_cnt", "sg_n_cnt"), free[-2:], strict=False)
    }
    return {names[name]: value for name, value in knobs.items()}
