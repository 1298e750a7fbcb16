"""Data classes as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest

from tuninglink.plain_data import plain


class Color(Enum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    color: Color
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Whole:
    path: Path
    parts: dict[Color, Part] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    share: float | None = None


def test_data_classes_become_objects_with_the_names_of_their_fields() -> None:
    whole = Whole(Path("a/b"), {Color.RED: Part(Color.RED, (1, 2))}, frozenset({"y", "x"}))
    expected = {
        "path": "a/b",
        "parts": {"red": {"color": "red", "sizes": [1, 2]}},
        "names": ["x", "y"],
        "share": None,
    }
    assert plain(whole) == expected
    assert json.loads(json.dumps(plain([whole, 0.5, True]))) == [expected, 0.5, True]


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="object is not plain data"):
        plain([object()])
