"""Conversion of data classes to plain data for `json`, described by JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any


def plain(value: object) -> Any:
    """Return a value as plain data.

    Instances of data classes become objects with the names of their fields, enumerators their values, paths strings,
    and other collections except mappings lists. Lists of sets are sorted.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int | float | None):
        return value
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Iterable):
        elements = list(map(plain, value))
        return sorted(elements) if isinstance(value, set | frozenset) else elements
    raise TypeError(f"{type(value).__name__} is not plain data")
