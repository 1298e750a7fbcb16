"""Draws lines over logarithmic axes as SVG, readable on a light and on a dark page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_WIDTH: Final = 720
_HEIGHT: Final = 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 180, 48, 52

_STYLE: Final = """
    text { font: 13px system-ui, sans-serif; fill: #24292f; }
    .title { font-size: 15px; font-weight: 600; }
    .grid { stroke: #d0d7de; stroke-width: 1; }
    .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
    .a { stroke: #cf222e; } .dot.a, text.a { stroke: none; fill: #cf222e; }
    .b { stroke: #9a6700; } .dot.b, text.b { stroke: none; fill: #9a6700; }
    .c { stroke: #0969da; } .dot.c, text.c { stroke: none; fill: #0969da; }
    .d { stroke: #57606a; stroke-dasharray: 5 4; } .dot.d, text.d { stroke: none; fill: #57606a; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .grid { stroke: #30363d; }
      .a { stroke: #ff7b72; } .dot.a, text.a { fill: #ff7b72; }
      .b { stroke: #d29922; } .dot.b, text.b { fill: #d29922; }
      .c { stroke: #58a6ff; } .dot.c, text.c { fill: #58a6ff; }
      .d { stroke: #8b949e; } .dot.d, text.d { fill: #8b949e; }
    }"""


@dataclass(frozen=True)
class Plot:
    """Lines over logarithmic axes.

    Attributes:
        title: what is shown.
        across: what the horizontal axis is.
        up: what the vertical axis is.
        lines: the points of each line by its name, at most four lines; every coordinate is above zero.
    """

    title: str
    across: str
    up: str
    lines: Mapping[str, Sequence[tuple[float, float]]]

    def write(self, path: Path) -> None:
        """Write the plot; the same figures give the same bytes."""
        path.write_text("\n".join(self._svg()) + "\n")

    def _svg(self) -> Iterator[str]:
        points = [point for line in self.lines.values() for point in line]
        across = _Axis.around([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
        up = _Axis.around([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'aria-label="{escape(self.title)}">'
        )
        yield f"  <style>{_STYLE}\n  </style>"
        yield f'  <text class="title" x="{_LEFT}" y="20">{escape(self.title)}</text>'
        yield f'  <text x="{_LEFT}" y="38">{escape(self.up)}</text>'
        middle = (_LEFT + _WIDTH - _RIGHT) // 2
        yield f'  <text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(self.across)}</text>'
        for tick in across.ticks():
            x = across.place(tick)
            yield f'  <path class="grid" d="M{x} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
            yield f'  <text x="{x}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:,g}</text>'
        for tick in up.ticks():
            y = up.place(tick)
            yield f'  <path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>'
            yield f'  <text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:,g}</text>'
        yield from self._lines(across, up)
        yield "</svg>"

    def _lines(self, across: _Axis, up: _Axis) -> Iterator[str]:
        labels = _spread({name: up.place(line[-1][1]) for name, line in self.lines.items()})
        for color, (name, line) in zip("abcd", self.lines.items(), strict=False):
            places = [(across.place(x), up.place(y)) for x, y in line]
            path = "L".join(f"{x} {y}" for x, y in places)
            yield f'  <path class="line {color}" d="M{path}"/>'
            for x, y in places:
                yield f'  <circle class="dot {color}" cx="{x}" cy="{y}" r="3.5"/>'
            beside = f'x="{_WIDTH - _RIGHT + 10}" y="{labels[name] + 4}"'
            yield f'  <text class="{color}" {beside}>{escape(name)}</text>'


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis from one power of ten to another, between two places of the picture."""

    least: int
    most: int
    start: int
    end: int

    @classmethod
    def around(cls, values: Sequence[float], start: int, end: int) -> _Axis:
        least = math.floor(math.log10(min(values)))
        return cls(least, max(math.ceil(math.log10(max(values))), least + 1), start, end)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.least, self.most + 1)]

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.least) / (self.most - self.least)
        return round(self.start + share * (self.end - self.start), 1)


def _spread(places: Mapping[str, float]) -> dict[str, float]:
    """Return places for labels that are near those wanted and do not overlap."""
    spread: dict[str, float] = {}
    lowest = -math.inf
    for name in sorted(places, key=lambda each: places[each]):
        lowest = spread[name] = max(places[name], lowest + 18)
    return spread
