"""JSON Schemas of the objects that `plain_data` creates from data classes, with docstrings as descriptions."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from tuninglink.plain_data import INFINITE, Member, flat_type, members

Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: Final[Mapping[object, Schema]] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"$ref": "#/$defs/number"},
    types.NoneType: {"type": "null"},
}
_NUMBER: Final[Schema] = {"anyOf": [{"type": "number"}, {"const": INFINITE}]}
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def schema_of(kind: type) -> Schema:
    """Return the JSON Schema of the documents of a data class.

    Readers ignore unknown properties, so that a newer version may add properties.
    """
    builder = _Builder()
    root = builder.object(kind)
    return {"$schema": _DIALECT, "title": kind.__name__, **root, "$defs": builder.definitions}


class _Builder:
    """Builds the schemas of a document, one definition for each class in it."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {"number": _NUMBER}

    def object(self, kind: type) -> Schema:
        """Return the schema of the objects of a data class."""
        properties = self._properties(kind)
        description = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:")[0].strip()
        return {
            "description": description,
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }

    def _properties(self, kind: type) -> dict[str, Schema]:
        descriptions, hints = _descriptions(kind), get_type_hints(kind)
        properties: dict[str, Schema] = {}
        for member in members(kind):
            if member.writing.is_flat:
                nested = self._properties(flat_type(kind, member))
                is_optional = types.NoneType in get_args(hints[member.field])
                properties |= {
                    name: _nullable(schema) if is_optional else schema
                    for name, schema in nested.items()
                }
            else:
                schema = self._type(str if member.writing.is_text else _hint(member, hints))
                if member.writing.is_nullable:
                    schema = _nullable(schema)
                if member.field in descriptions:
                    schema = {"description": descriptions[member.field], **schema}
                properties[member.name] = schema
        return properties

    def _type(self, hint: Any) -> Schema:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self._type(part) for part in arguments]}
        if isinstance(origin, type):
            if issubclass(origin, Mapping):
                return {"type": "object", "additionalProperties": self._type(arguments[1])}
            if origin is tuple and Ellipsis not in arguments:
                parts = list(map(self._type, arguments))
                return {
                    "type": "array",
                    "prefixItems": parts,
                    "minItems": len(parts),
                    "maxItems": len(parts),
                }
            return {"type": "array", "items": self._type(arguments[0])}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [member.value for member in hint]}
        if isinstance(hint, type) and is_dataclass(hint):
            if hint.__name__ not in self.definitions:
                self.definitions[hint.__name__] = {}  # A class may contain itself.
                self.definitions[hint.__name__] = self.object(hint)
            return {"$ref": f"#/$defs/{hint.__name__}"}
        return _SCALARS.get(hint, {})


def _hint(member: Member, hints: Mapping[str, Any]) -> Any:
    if member.method is None:
        return hints[member.field]
    return get_type_hints(member.method)["return"]


def _nullable(schema: Schema) -> Schema:
    description = {"description": schema["description"]} if "description" in schema else {}
    rest = {name: value for name, value in schema.items() if name != "description"}
    return {**description, "anyOf": [rest, {"type": "null"}]}


def _descriptions(kind: type) -> dict[str, str]:
    """Return the descriptions of the fields of a class in its docstring, and those of its methods."""
    descriptions: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        attributes = inspect.cleandoc(base.__doc__ or "").partition("Attributes:")[2]
        for name, text in _ATTRIBUTE.findall(attributes):
            descriptions[name] = " ".join(text.split()).replace("None", "null")
    methods = {
        member.field: inspect.getdoc(member.method) or ""
        for member in members(kind)
        if member.method
    }
    return descriptions | methods
