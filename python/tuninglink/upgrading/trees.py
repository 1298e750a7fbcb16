"""Attributes as trees that print exactly as they were read, until a rule changes them.

A tree holds every character: what a rule does not touch comes back as it was, comments and layout included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.upgrading.spec_text import Source, Token


MOST_DIGITS: Final = 20
"""A longer number fits no attribute."""


@dataclass
class Leaf:
    """A value that is not looked into: a number with its type, a string, an enumerator, an alias."""

    text: str

    def render(self) -> str:
        """Returns the text."""
        return self.text

    def copy(self) -> Leaf:
        """Returns a leaf of its own with the same text."""
        return Leaf(self.text)


@dataclass
class Field:
    """One value in brackets, and the key that it may have.

    A unit attribute, an enumerator or an element of a list is a value without key.

    Attributes:
        value: the value.
        key: the key as written, quotes included.
        lead: what stands before: space and comments.
        equals: what stands between key and value, `=` included.
        trail: what stands between the value and the comma, if there is one.
        comma: `,` or nothing.
    """

    value: Value
    key: str | None = None
    lead: str = ""
    equals: str = " = "
    trail: str = ""
    comma: str = ""

    @property
    def name(self) -> str | None:
        """The key without quotes; of a bare word, which is a unit attribute or enumerator, the word."""
        word = self.key
        if word is None and isinstance(self.value, Leaf):
            word = self.value.text
        return word.strip('"') if word else None

    def render(self) -> str:
        """Returns the field as text."""
        key = self.key + self.equals if self.key is not None else ""
        return f"{self.lead}{key}{self.value.render()}{self.trail}{self.comma}"

    def copy(self) -> Field:
        """Returns a field of its own with the same text."""
        return Field(self.value.copy(), self.key, self.lead, self.equals, self.trail, self.comma)


@dataclass
class Node:
    """Brackets with what is in them, and the word before: `#iree_gpu.mma_layout<…>`, `{…}`, `[…]`, `<…>`.

    Attributes:
        head: the word, empty where there is none (also where the compiler lets one leave it out).
        bracket: the opening bracket.
        fields: the values.
        tail: what stands before the closing bracket: space and comments.
    """

    head: str
    bracket: str
    fields: list[Field] = field(default_factory=list)
    tail: str = ""

    def render(self) -> str:
        """Returns the attribute as text."""
        inside = "".join(each.render() for each in self.fields)
        return f"{self.head}{self.bracket}{inside}{self.tail}{_CLOSERS[self.bracket]}"

    def copy(self) -> Node:
        """Returns a tree of its own with the same text."""
        fields = [each.copy() for each in self.fields]
        return Node(self.head, self.bracket, fields, self.tail)

    def find(self, name: str) -> Field | None:
        """Returns the field with the key `name`, or the unit attribute or enumerator `name`."""
        return next((each for each in self.fields if each.name == name), None)

    def value(self, name: str) -> Value | None:
        """Returns the value under the key `name`."""
        result = self.find(name)
        return result.value if result is not None and result.key is not None else None

    def node(self, name: str) -> Node | None:
        """Returns the value under the key `name` if it is in brackets."""
        return as_node(self.value(name))

    def positional(self) -> Field | None:
        """Returns the first value without key."""
        return next((each for each in self.fields if each.key is None), None)

    def remove(self, name: str) -> Field | None:
        """Takes a field out, and the comma that it no longer needs, and returns it."""
        result = self.find(name)
        if result is not None:
            self.remove_field(result)
        return result

    def remove_field(self, gone: Field) -> None:
        """Takes a field out, and the comma that it no longer needs."""
        position = next(i for i, each in enumerate(self.fields) if each is gone)
        del self.fields[position]
        if position < len(self.fields):
            if position == 0:
                self.fields[0].lead = gone.lead
        elif self.fields:
            self.fields[-1].trail, self.fields[-1].comma = gone.trail, ""

    def add(self, key: str | None, value: Value | str) -> None:
        """Adds a field at the end, with its value as tree or as text."""
        self.insert(len(self.fields), key, value)

    def insert(self, position: int, key: str | None, value: Value | str) -> None:
        """Adds a field before the one at `position`, with its value as tree or as text."""
        fresh = Field(Leaf(value) if isinstance(value, str) else value, key)
        if position < len(self.fields):
            following = self.fields[position]
            fresh.lead, fresh.comma = following.lead, ","
            if not following.lead:
                following.lead = " "
        if position > 0:
            previous = self.fields[position - 1]
            if not previous.comma:
                previous.trail, previous.comma = previous.trail.rstrip(), ","
            fresh.lead = _like(self.fields[position - 1].lead)
        self.fields.insert(position, fresh)


class Definitions:
    """What aliases stand for after the upgrade.

    What an alias must become can depend on where it is used. The first use decides about the alias, and a
    use that needs something else spells it out.
    """

    def __init__(self) -> None:
        self._uses: dict[str, dict[int, Node]] = {}

    def use(self, alias: str, node: Node) -> Expanded:
        """Returns a use of `alias`, with a copy of what it stands for."""
        self._uses.setdefault(alias, {})[id(node)] = node
        return Expanded(alias, node, self)

    def withdraw(self, use: Expanded) -> None:
        """Forgets a use that will not be in the result."""
        self._uses.get(use.alias, {}).pop(id(use.node), None)

    def __getitem__(self, alias: str) -> Node | None:
        """Returns what `alias` is to stand for, None if it is used nowhere."""
        return next(iter(self._uses.get(alias, {}).values()), None)


@dataclass
class Expanded:
    """The use of an alias, with what the alias stands for there.

    Attributes:
        alias: the alias, `#` included.
        node: what it stands for.
        definitions: what aliases stand for elsewhere.
    """

    alias: str
    node: Node
    definitions: Definitions

    def render(self) -> str:
        """Returns the alias if it stands for the right thing, else the thing."""
        first = self.definitions[self.alias]
        if first is self.node:
            return self.alias
        text = self.node.render()
        return self.alias if first is not None and first.render() == text else text

    def copy(self) -> Expanded:
        """Returns another use of the alias."""
        return self.definitions.use(self.alias, self.node.copy())


Value = Leaf | Node | Expanded
"""What a key can stand for."""

_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _like(lead: str) -> str:
    """Returns space for a field to stand like the one whose space is `lead`."""
    if "//" in lead or not lead:
        return " "
    return lead


def parse(source: Source, start: int, end: int) -> Value:
    """Reads the attribute in a part of the text, from its first to its last character."""
    tokens = list(source.tokens(start, end))
    return _value(source, tokens)


def _value(source: Source, tokens: list[Token]) -> Value:
    start, end = tokens[0].start, tokens[-1].end
    *head, last = tokens
    is_named = [each.end == last.start and each.kind in {"name", "word"} for each in head]
    if last.kind != "group" or is_named not in ([], [True]):
        return Leaf(source.text[start:end])
    node = Node(source.text[start : last.start], last.text)
    _fill(source, node, last.start + 1, last.end - 1)
    return node


def _fill(source: Source, node: Node, start: int, end: int) -> None:
    """Reads the fields of `node`, which stand between `start` and `end`."""
    text = source.text
    position = start
    for key, equals, value, comma in _pieces(list(source.tokens(start, end))):
        first = key or (value[0] if value else comma)
        assert first is not None
        lead = text[position : first.start]
        position = first.start
        fresh = Field(Leaf(""), lead=lead)
        if key is not None:
            fresh.key = key.text
            position = key.end
        if value:
            if equals is not None and key is not None:
                fresh.equals = text[key.end : value[0].start]
            fresh.value = _value(source, value)
            position = value[-1].end
        elif equals is not None and key is not None:  # nothing behind `=`: the compiler will tell
            fresh.equals = text[key.end : equals.end]
            position = equals.end
        if comma is not None:
            fresh.trail, fresh.comma = text[position : comma.start], ","
            position = comma.end
        node.fields.append(fresh)
    node.tail = text[position:end]


def _pieces(
    tokens: list[Token],
) -> Iterator[tuple[Token | None, Token | None, list[Token], Token | None]]:
    """Splits tokens into fields: key, `=`, the tokens of the value, and the comma behind."""
    position, count = 0, len(tokens)
    while position < count:
        key = equals = comma = None
        if _is_key(tokens, position):
            key, equals = tokens[position], tokens[position + 1]
            position += 2
        value: list[Token] = []
        while position < count and tokens[position].text != ",":
            if value and _is_key(tokens, position):
                break
            if value and _ends_value(value[-1], tokens[position]):
                break
            value.append(tokens[position])
            position += 1
        if position < count and tokens[position].text == ",":
            comma = tokens[position]
            position += 1
        yield key, equals, value, comma


def _is_key(tokens: list[Token], position: int) -> bool:
    return (
        tokens[position].kind in {"word", "string"}
        and position + 1 < len(tokens)
        and tokens[position + 1].text == "="
    )


def _ends_value(last: Token, token: Token) -> bool:
    """Tells whether `token` begins another value, although no comma stands between."""
    return (
        last.kind == "group" and token.kind in {"word", "string", "name"} and token.start > last.end
    )


def uses(value: Value) -> Iterator[Expanded]:
    """Yields the uses of aliases in a tree."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Expanded):
            yield each
            pending.append(each.node)
        elif isinstance(each, Node):
            pending.extend(one.value for one in each.fields)


def int_list(values: Iterable[int]) -> Node:
    """Returns a list of integers as a tree."""
    node = Node("", "[")
    for value in values:
        node.add(None, str(value))
    return node


def as_node(value: Value | None) -> Node | None:
    """Returns the node that a value is or stands for, None for anything else."""
    if isinstance(value, Expanded):
        return value.node
    return value if isinstance(value, Node) else None


def enumerator(value: Value | None) -> str | None:
    """Returns the enumerator in `X`, `<X>`, `#dialect.attribute<X>` or such an alias, None in anything else."""
    node = as_node(value)
    if node is not None:
        field = node.positional()
        return field.name if field is not None else None
    if not isinstance(value, Leaf):
        return None
    name, bracket, inside = value.text.partition("<")
    return inside.removesuffix(">").strip() if bracket and name.startswith("#") else value.text


def integers(value: Value | None) -> list[int] | None:
    """Returns the integers in a list such as `[1, 2 : index]`, None if it is anything else."""
    node = as_node(value)
    if node is None or node.bracket != "[" or node.head:
        return None
    read = [integer(each.value) for each in node.fields if each.key is None]
    known = [each for each in read if each is not None]
    return known if len(known) == len(node.fields) else None


def integer(value: Value | None) -> int | None:
    """Returns an integer such as `2` or `2 : i64`, None for anything else."""
    if not isinstance(value, Leaf):
        return None
    digits = value.text.partition(":")[0].strip()
    is_short = len(digits) <= MOST_DIGITS
    return int(digits) if is_short and digits.removeprefix("-").isdecimal() else None
