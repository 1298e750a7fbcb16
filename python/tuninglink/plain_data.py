"""Data classes as JSON: the fields and computed values of a class are the properties of an object.

The metadata of a field changes how it is written:

    place: Place = field(metadata=HIDDEN)
    usages: tuple[EntryUsage, ...] = field(metadata=named("entries"))
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any, Final, TypeVar, get_args, get_type_hints

_METADATA: Final = "json"
_MARK: Final = "__written__"
_Method = TypeVar("_Method", bound=Callable[[Any], Any])

INFINITE: Final = "infinite"
"""An infinite number, for which JSON has no literal."""


@dataclass(frozen=True)
class Writing:
    """The way in which a field is written.

    Attributes:
        name: the name in JSON; that of the field if empty.
        is_hidden: whether the field is not written.
        is_flat: whether the properties of its value become properties of the object, all null without a value.
        is_nullable: whether an empty string is null.
        is_text: whether the value is written as a string.
    """

    name: str = ""
    is_hidden: bool = False
    is_flat: bool = False
    is_nullable: bool = False
    is_text: bool = False


HIDDEN: Final[Mapping[str, Writing]] = {_METADATA: Writing(is_hidden=True)}
FLAT: Final[Mapping[str, Writing]] = {_METADATA: Writing(is_flat=True)}
EMPTY_IS_NULL: Final[Mapping[str, Writing]] = {_METADATA: Writing(is_nullable=True)}
TEXT: Final[Mapping[str, Writing]] = {_METADATA: Writing(is_text=True)}


def named(name: str) -> Mapping[str, Writing]:
    """Return the metadata of a field with another name in JSON."""
    return {_METADATA: Writing(name)}


def written(name: str = "") -> Callable[[_Method], _Method]:
    """Write the result of a method, or of a property below its decorator, under its name or another one."""

    def mark(method: _Method) -> _Method:
        setattr(method, _MARK, name)
        return method

    return mark


@dataclass(frozen=True)
class Member:
    """A property of the objects of a class, and the field or the method (None for a field) with its value."""

    name: str
    read: Callable[[Any], Any]
    method: FunctionType | None
    writing: Writing
    field: str


@cache
def members(kind: type) -> tuple[Member, ...]:
    """Return the written members of a data class: fields, then methods. A later one overrides one of the same name."""
    result: list[Member] = []
    for field in fields(kind):
        writing = field.metadata.get(_METADATA, Writing())
        if not writing.is_hidden:
            name = writing.name or field.name
            result.append(Member(name, attrgetter(field.name), None, writing, field.name))
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            method = value.fget if isinstance(value, property) else value
            method = method.func if isinstance(method, cached_property) else method
            if isinstance(method, FunctionType) and hasattr(method, _MARK):
                key = getattr(method, _MARK) or name
                result.append(Member(key, method, method, Writing(), name))
    return tuple(result)


def flat_type(kind: type, member: Member) -> type:
    """Return the data class whose properties a flat member writes."""
    hint = get_type_hints(kind)[member.field]
    parts: Iterable[type] = (hint, *get_args(hint))
    return next(filter(is_dataclass, parts))


def plain(value: object) -> Any:
    """Return a value as plain data.

    Instances of data classes become objects, enumerators their values, paths strings, and other collections except
    mappings lists. Lists of sets are sorted. An infinite number is "infinite".
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return INFINITE if math.isinf(value) else value
    if isinstance(value, str | Path):
        return re.sub("[\ud800-\udfff]", "\ufffd", str(value))  # from a file name that is not UTF-8
    if isinstance(value, int | None):
        return value
    if is_dataclass(value):
        result: dict[str, Any] = {}
        kind: Any = type(value)
        for member in members(kind):
            part = member.read(value)
            if member.writing.is_flat:
                result |= _nothing(flat_type(kind, member)) if part is None else plain(part)
            elif member.writing.is_text:
                result[member.name] = str(part)
            else:
                result[member.name] = plain(part or None if member.writing.is_nullable else part)
        return result
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, Iterable):
        elements = list(map(plain, value))
        return sorted(elements) if isinstance(value, set | frozenset) else elements
    raise TypeError(f"{type(value).__name__} is not plain data")


def _nothing(kind: type) -> dict[str, None]:
    """Return the properties of a class without an instance."""
    result: dict[str, None] = {}
    for member in members(kind):
        result |= (
            _nothing(flat_type(kind, member)) if member.writing.is_flat else {member.name: None}
        )
    return result


def to_json_by_line(value: object) -> str:
    """Return a value as the text of a JSON document with a line for each element of its lists.

    With `indent`, the `json` library takes ten times as long.
    """
    parts = []
    for name, part in plain(value).items():
        text = json.dumps(part)
        if part and isinstance(part, list):
            text = "[\n{}\n]".format(",\n".join(map(json.dumps, part)))
        parts.append(f"{json.dumps(name)}: {text}")
    return "{{\n{}\n}}\n".format(",\n".join(parts))


def to_json(value: object) -> str:
    """Return a value as the text of a JSON document, in ASCII: names from inputs may have any character."""
    return json.dumps(plain(value), indent=1) + "\n"
