"""Specs with many entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence


def long_spec(sizes: Sequence[int], tile: int = 128) -> str:
    """Return the spec of an example with its entry many times.

    Args:
        sizes: m for each entry.
        tile: the tile of m in a workgroup.
    """
    text = (EXAMPLES / "spec_gfx942.mlir").read_text()
    text = text.replace("workgroup = [128, 128, 0]", f"workgroup = [{tile}, 128, 0]")
    before, rest = text.split("transform.named_sequence @match_linear_2048x1280x5120(")
    matcher, after = rest.split("transform.named_sequence @__kernel_config(")
    matchers = [
        f"transform.named_sequence @match_{number}(" + matcher.replace("[2048]", f"[{size}]")
        for number, size in enumerate(sizes)
    ]
    pairs = ", ".join(f"@match_{number} -> @configure" for number in range(len(sizes)))
    after = after.replace("@match_linear_2048x1280x5120 -> @configure", pairs)
    return f"{before}{''.join(matchers)}transform.named_sequence @__kernel_config({after}"
