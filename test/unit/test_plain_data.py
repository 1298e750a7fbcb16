"""Data classes as plain data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from json_schema import schema_of

from tuninglink.plain_data import (
    EMPTY_IS_NULL,
    FLAT,
    HIDDEN,
    TEXT,
    named,
    plain,
    to_json,
    to_json_by_line,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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


@dataclass(frozen=True)
class Ratio:
    """A ratio.

    Attributes:
        low: the lower bound,
            inclusive.
        high: the upper bound.
    """

    low: float = field(metadata=named("least"))
    high: float = field(metadata=HIDDEN)

    @property
    @written()
    def width(self) -> float:
        """The width."""
        return self.high - self.low


@dataclass(frozen=True)
class Measured:
    """A measurement.

    Attributes:
        ratio: the ratio; None without one.
    """

    ratio: Ratio | None = field(metadata=FLAT)
    note: str = field(default="", metadata=EMPTY_IS_NULL)
    place: tuple[int, int] = field(default=(1, 2), metadata=TEXT)

    @written("colors")
    def all_colors(self) -> list[Color]:
        """Return the colors."""
        return [Color.RED]


def test_metadata_and_methods_change_what_is_written() -> None:
    measured = Measured(Ratio(1.0, math.inf), "quick")
    assert json.loads(to_json(measured)) == {
        "least": 1.0,
        "width": "infinite",
        "note": "quick",
        "place": "(1, 2)",
        "colors": ["red"],
    }
    nothing = {"least": None, "width": None, "note": None, "place": "(1, 2)", "colors": ["red"]}
    assert plain(Measured(None)) == nothing


def test_a_schema_describes_what_is_written() -> None:
    schema = schema_of(Measured)
    jsonschema.Draft202012Validator.check_schema(schema)
    for measured in (Measured(Ratio(1.0, math.inf), "quick"), Measured(None)):
        jsonschema.validate(plain(measured), schema)
        for name in plain(measured):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(plain(measured) | {name: object()}, schema)
    assert schema["required"] == ["least", "width", "note", "place", "colors"]
    assert schema["description"] == "A measurement."
    properties = schema["properties"]
    assert properties["least"]["description"] == "the lower bound, inclusive."
    assert properties["width"]["description"] == "The width."


@pytest.mark.parametrize("write", [to_json, to_json_by_line])
def test_documents_are_of_ascii_characters(write: Callable[[object], str]) -> None:
    names = ["é\u0085", "\u2028\u202e.mlir", "\U000e0001"]
    text = write({"files": names, names[0]: names[1]})
    assert text.isascii()
    assert json.loads(text) == {"files": names, names[0]: names[1]}
    assert json.loads(write({"name": "m\udcffl\ud800"})) == {"name": "m\ufffdl\ufffd"}


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="object is not plain data"):
        plain([object()])
