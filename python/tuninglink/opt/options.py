"""Options of passes, declared by dataclass fields, in MLIR's syntax."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from tuninglink.errors import PipelineError, did_you_mean
from tuninglink.llvm_flags import read_boolean
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.mlir.passes import Pass

_QUOTES = "'\""


@dataclass(frozen=True)
class Option:
    """An option of a pass.

    Attributes:
        name: its name in pipelines.
        field: the name of the dataclass field.
        type: the type of a value, or of an element of a list: `bool`, `int`, `float` or `str`.
        is_list: whether the value is a tuple of such values.
        choices: the allowed values, or empty for any.
        default: the value without the option.
        help: one line of help.
    """

    name: str
    field: str
    type: type
    is_list: bool
    choices: tuple[str, ...]
    default: Any
    help: str

    @property
    def value_name(self) -> str:
        """The placeholder of a value in `--help`: `<string>`, or `<int>,...` for a list."""
        word = "string" if self.type is str else self.type.__name__
        value = "|".join(self.choices) or f"<{word}>"
        return f"{value},..." if self.is_list else value

    def parse(self, text: str) -> Any:
        """Parse a value.

        Raises:
            ValueError: the text is not a value. The message is the expected form.
        """
        if not self.is_list:
            return self._parse_one(_unwrap(text, _QUOTES + "{"))
        return tuple(map(self._parse_one, split_list(text)))

    def print(self, value: Any) -> str:
        """Return a value in the syntax of `parse`."""
        if not self.is_list:
            return _print_one(value)
        return "{" + ",".join(map(_print_one, value)) + "}"

    def _parse_one(self, text: str) -> Any:
        if self.choices and text not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}")
        if self.type is str:
            return text
        if self.type is bool:
            return read_boolean(text)
        try:
            return int(text, 0) if self.type is int else self.type(text)
        except ValueError:
            kind = "an integer" if self.type is int else "a number"
            raise ValueError(f"expected {kind}") from None


@cache
def options_of(pass_type: type[Pass]) -> tuple[Option, ...]:
    """Return the options of a pass in the order of declaration.

    Raises:
        TypeError: a field has an unsupported type, or no default.
    """
    hints = get_type_hints(pass_type)
    fields = dataclasses.fields(pass_type)
    return tuple(_option(pass_type, field, hints[field.name]) for field in fields)


def make_pass(pass_type: type[Pass], text: str) -> Pass:
    """Return a pass with the options in `text`, as in `name=value flag list={a,b} quoted='x y'`.

    Raises:
        PipelineError: an option is unknown, or a value is invalid. The message suggests the nearest option.
    """
    options = {option.name: option for option in options_of(pass_type)}
    values: dict[str, Any] = {}
    for name, value in split_options(text):
        option = options.get(name)
        if option is None:
            raise PipelineError(_no_such_option(pass_type.name, name, options))
        try:
            parsed = option.parse(value)
        except ValueError as failure:
            message = (
                f"invalid value '{value}' for option '{name}' of '{pass_type.name}': {failure}"
            )
            raise PipelineError(error(message)) from None
        previous = values.get(option.field, ())
        values[option.field] = (*previous, *parsed) if option.is_list else parsed
    return pass_type(**values)


def print_pass(pass_: Pass) -> str:
    """Return the text of a pass in a pipeline, with all options in MLIR's syntax."""
    options = options_of(type(pass_))
    if not options:
        return pass_.name
    values = (f"{option.name}={option.print(getattr(pass_, option.field))}" for option in options)
    return f"{pass_.name}{{{' '.join(values)}}}"


def split_options(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values from the text of options. A name without a value has an empty one."""
    for part in _split(text, None):
        name, _, value = part.partition("=")
        yield name, value


def split_list(text: str) -> tuple[str, ...]:
    """Return the elements of `a,b`, `{a,b}` or `{'a, b',c}`."""
    inner = _unwrap(text.strip(), "{")
    if not inner.strip():
        return ()
    return tuple(_unwrap(element.strip(), _QUOTES) for element in _split(inner, ","))


def opens_quote(text: str, index: int) -> bool:
    """Return whether a quoted value starts at `index`. Some apostrophes are not quotes."""
    return text[index] in _QUOTES and (index == 0 or text[index - 1] in "=,{ \t\n")


def _option(pass_type: type[Pass], field: dataclasses.Field[Any], hint: Any) -> Option:
    declared, choices, is_list = hint, (), False
    if get_origin(hint) is tuple:
        is_list = True
        hint, *rest = get_args(hint)
        if rest != [...]:
            hint = None
    if get_origin(hint) is Literal:
        choices, hint = get_args(hint), str
    if hint not in (bool, int, float, str):
        raise TypeError(f"option '{field.name}' of '{pass_type.name}' cannot be a {declared}")
    if field.default is dataclasses.MISSING:
        raise TypeError(f"option '{field.name}' of '{pass_type.name}' has no default")
    name = field.metadata.get("name") or field.name.replace("_", "-")
    help_text = field.metadata.get("help", "")
    return Option(name, field.name, hint, is_list, choices, field.default, help_text)


def _no_such_option(pass_name: str, name: str, options: Iterable[str]) -> Any:
    option_names = list(options)
    message = f"'{pass_name}' has no option '{name}'{did_you_mean(name, option_names)}"
    listed = f"its options are: {', '.join(option_names)}" if option_names else "it has no options"
    return error(message, notes=[note(listed)])


def _split(text: str, separator: str | None) -> list[str]:
    """Split at `separator`, or at white space, outside of quotes and braces."""
    parts: list[str] = []
    start, depth, quote = 0, 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif opens_quote(text, index):
            quote = character
        elif character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif depth == 0 and (character.isspace() if separator is None else character == separator):
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part] if separator is None else parts


def _unwrap(text: str, openings: str) -> str:
    """Remove quotes or braces around `text`, if they are among `openings`."""
    closing = {"{": "}"}.get(text[:1], text[:1])
    if len(text) > 1 and text[0] in openings and text[-1] == closing:
        return text[1:-1]
    return text


def _print_one(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text and not any(character.isspace() or character in ",={}[]()'\"" for character in text):
        return text
    quote = '"' if "'" in text else "'"
    return f"{quote}{text}{quote}"
