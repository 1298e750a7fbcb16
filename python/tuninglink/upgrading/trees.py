"""Attributes as trees that print exactly as they were read, except for changes by rules.

A tree keeps every character: unchanged parts are reproduced with their comments and layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from tuninglink.upgrading.spec_text import SpecText, Token


@dataclass(frozen=True)
class Leaf:
    """A value without structure: a number with its type, a string, an enumerator, an alias."""

    text: str

    def render(self) -> str:
        return self.text


@dataclass
class Field:
    """A value in brackets, with its optional key.

    A unit attribute, an enumerator or an element of a list is a value without a key.
    """

    value: Value
    key: str | None = None
    lead: str = ""
    equals: str = " = "
    trail: str = ""
    comma: str = ""

    @property
    def name(self) -> str | None:
        """The key without quotes, or the word of a unit attribute or an enumerator."""
        word = self.key
        if word is None and isinstance(self.value, Leaf):
            word = self.value.text
        return word.strip('"') if word else None


@dataclass
class Node:
    """Brackets with their content and the word before: `#iree_gpu.mma_layout<…>`, `{…}`, `[…]`, `<…>`.

    Attributes:
        alias: the alias that is used here and has this value; empty without one.
        definitions: the values of aliases after the upgrade.
    """

    head: str
    bracket: str
    fields: list[Field] = field(default_factory=list)
    tail: str = ""
    alias: str = ""
    definitions: Mapping[str, Node] = field(default_factory=dict, repr=False)

    def render(self) -> str:
        text = self.head + self.bracket
        for item in self.fields:
            key = item.key + item.equals if item.key is not None else ""
            text += f"{item.lead}{key}{shown(item.value)}{item.trail}{item.comma}"
        return f"{text}{self.tail}{_CLOSERS[self.bracket]}"

    def find(self, name: str) -> Field | None:
        return next((item for item in self.fields if item.name == name), None)

    def value(self, name: str) -> Value | None:
        item = self.find(name)
        return item.value if item is not None and item.key is not None else None

    def node(self, name: str) -> Node | None:
        return as_node(self.value(name))

    def positional(self) -> Field | None:
        return next((item for item in self.fields if item.key is None), None)

    def remove(self, item: str | Field) -> Field | None:
        """Remove a field, or the one with a name, with a comma that becomes redundant, and return it."""
        removed = self.find(item) if isinstance(item, str) else item
        if removed is None:
            return None
        position = next(at for at, field_ in enumerate(self.fields) if field_ is removed)
        del self.fields[position]
        if position < len(self.fields):
            if position == 0:
                self.fields[0].lead = removed.lead
        elif self.fields:
            self.fields[-1].trail, self.fields[-1].comma = removed.trail, ""
        return removed

    def add(self, key: str | None, value: Value | str, *, is_first: bool = False) -> None:
        """Add a field at the end, or as the first one, with its value as a tree or as text."""
        fresh = Field(Leaf(value) if isinstance(value, str) else value, key)
        if is_first and self.fields:
            following = self.fields[0]
            fresh.lead, fresh.comma = following.lead, ","
            following.lead = following.lead or " "
        elif self.fields:
            previous = self.fields[-1]
            if not previous.comma:
                previous.trail, previous.comma = previous.trail.rstrip(), ","
            fresh.lead = " " if "//" in previous.lead else previous.lead or " "
        self.fields.insert(0 if is_first else len(self.fields), fresh)


Value: TypeAlias = Leaf | Node
"""The value of a field."""

_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def shown(value: Value) -> str:
    """Return a value as text: an alias by its name if it is defined as this value."""
    # The upgraded value of an alias may depend on its use. The first use determines the definition. A use that needs
    # another value contains that value in full.
    first = value.definitions.get(value.alias) if isinstance(value, Node) else None
    if first is not None and (first is value or first.render() == value.render()):
        return first.alias
    return value.render()


def copied(value: Value) -> Value:
    """Return a copy of a tree, which can be changed."""
    if isinstance(value, Leaf):
        return value
    return replace(value, fields=[replace(item, value=copied(item.value)) for item in value.fields])


def parse(spec: SpecText, start: int, end: int) -> Value:
    """Parse the attribute in a part of the text, from its first to its last character."""
    text = spec.text
    *head, last = tokens = list(spec.tokens(start, end))
    is_named = [token.end == last.start and token.kind in {"name", "word"} for token in head]
    if last.kind != "group" or is_named not in ([], [True]):
        return Leaf(text[tokens[0].start : last.end])
    node = Node(text[tokens[0].start : last.start], last.text)
    position = last.start + 1
    # Each field keeps the text between its tokens.
    for key, equals, value, comma in _pieces(list(spec.inside(last))):
        first = key or (value[0] if value else comma)
        assert first is not None
        fresh = Field(Leaf(""), lead=text[position : first.start])
        position = first.start
        if key is not None and equals is not None:
            fresh.key, position = key.text, equals.end
            # A missing value is reported by the compiler.
            fresh.equals = text[key.end : value[0].start if value else equals.end]
        if value:
            position = value[-1].end
            is_word = len(value) == 1 and value[0].kind != "group"  # the most frequent ones
            fresh.value = Leaf(value[0].text) if is_word else parse(spec, value[0].start, position)
        if comma is not None:
            fresh.trail, fresh.comma = text[position : comma.start], ","
            position = comma.end
        node.fields.append(fresh)
    node.tail = text[position : last.end - 1]
    return node


def _pieces(
    tokens: list[Token],
) -> Iterator[tuple[Token | None, Token | None, list[Token], Token | None]]:
    """Split tokens into fields: key, `=`, the tokens of the value, and the comma."""
    position, count = 0, len(tokens)

    def is_key() -> bool:
        is_word = tokens[position].kind in {"word", "string"}
        return is_word and position + 1 < count and tokens[position + 1].text == "="

    while position < count:
        key = equals = comma = None
        if is_key():
            key, equals = tokens[position], tokens[position + 1]
            position += 2
        value: list[Token] = []
        while position < count and tokens[position].text != ",":
            token, last = tokens[position], value[-1] if value else None
            # Another value begins although the comma is missing.
            if last is not None and (
                is_key()
                or (
                    last.kind == "group"
                    and token.kind in {"word", "string", "name"}
                    and token.start > last.end
                )
            ):
                break
            value.append(token)
            position += 1
        if position < count and tokens[position].text == ",":
            comma = tokens[position]
            position += 1
        yield key, equals, value, comma


def as_node(value: Value | None) -> Node | None:
    """Return a value if it is a node, or None."""
    return value if isinstance(value, Node) else None


# --- Compilation infos and their parts: lowering config, translation info and its options; and readers of their values

VECTOR_DISTRIBUTE: Final = frozenset({"LLVMGPUVectorDistribute", "VectorDistribute"})
TILE_AND_FUSE: Final = frozenset({"LLVMGPUTileAndFuse", "TileAndFuse"})

GPU_CONFIG: Final = "#iree_gpu.lowering_config"
TILE_SIZES_CONFIG: Final = "#iree_codegen.lowering_config"
SUBGROUP_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")


@dataclass(frozen=True)
class CompilationInfo:
    """The parts of a compilation info.

    Attributes:
        pipeline: the enumerator of the pipeline, old or new, without its dialect.
        levels: the dictionary in a GPU lowering config, or None for another config.
        tile_sizes: the tile sizes of another lowering config by level, with None for those that are not plain numbers.
    """

    lowering: Node
    translation: Node
    pipeline: str | None
    levels: Node | None
    tile_sizes: list[list[int] | None]

    @staticmethod
    def of(node: Node) -> CompilationInfo | None:
        """Return the parts of a compilation info, or None if one is missing."""
        lowering, translation = node.node("lowering_config"), node.node("translation_info")
        if lowering is None or translation is None:
            return None
        pipeline: Value | None = translation.value("pipeline")
        if pipeline is None and translation.fields and translation.fields[0].key is None:
            pipeline = translation.fields[0].value
        levels = levels_of(lowering) if lowering.head == GPU_CONFIG else None
        lists = as_node(lowering.value("tile_sizes"))
        sizes = [integers(field.value) for field in lists.fields] if lists is not None else []
        return CompilationInfo(lowering, translation, enumerator(pipeline), levels, sizes)

    def tile_by_levels(self, **levels: Iterable[int]) -> None:
        """Replace the lowering config with a GPU lowering config that promotes both operands."""
        node = Node("", "{")
        for name, sizes in sorted({"promote_operands": (0, 1), **levels}.items()):
            numbers = Node("", "[")
            for size in sizes:
                numbers.add(None, str(size))
            node.add(name, numbers)
        self.lowering.head, self.lowering.tail = GPU_CONFIG, ""
        self.lowering.fields = [Field(node)]


def options_of(translation: Node) -> Node | None:
    """Return the options of a translation info: the dictionary at its end."""
    for option in translation.fields:
        node = as_node(option.value)
        if option.key is None and node is not None and node.bracket == "{":
            return node
    return None


def levels_of(lowering: Node | None) -> Node | None:
    """Return the dictionary in a GPU lowering config."""
    field = lowering.positional() if lowering is not None else None
    return as_node(field.value) if field is not None else None


def subgroup_counts(levels: Node | None) -> list[int | None] | None:
    """Return the subgroup counts along rows and columns, with None for invalid ones, or None without counts."""
    if levels is None or not any(levels.find(name) for name in SUBGROUP_COUNTS):
        return None
    return [integer(levels.value(name)) if levels.find(name) else 1 for name in SUBGROUP_COUNTS]


def set_subgroup_basis(levels: Node, basis: list[int], loops: Iterable[int]) -> str:
    """Replace subgroup counts with a subgroup basis, and return its text."""
    text = f"[{basis}, {list(loops)}]"
    field = next(count for name in SUBGROUP_COUNTS if (count := levels.find(name)) is not None)
    field.key, field.value = "subgroup_basis", Leaf(text)
    for name in SUBGROUP_COUNTS:
        levels.remove(name)
    return text


def enumerator(value: Value | None) -> str | None:
    """Return the enumerator in `X`, `<X>`, `#dialect.attribute<X>` or an alias of one, or None."""
    node = as_node(value)
    if node is not None:
        field = node.positional()
        return field.name if field is not None else None
    if not isinstance(value, Leaf):
        return None
    name, bracket, inside = value.text.partition("<")
    return inside.removesuffix(">").strip() if bracket and name.startswith("#") else value.text


def integers(value: Value | None) -> list[int] | None:
    """Return the integers in a list such as `[1, 2 : index]`, or None for another value."""
    node = as_node(value)
    if node is None or node.bracket != "[" or node.head:
        return None
    read = [integer(item.value) for item in node.fields if item.key is None]
    numbers = [number for number in read if number is not None]
    return numbers if len(numbers) == len(node.fields) else None


def integer(value: Value | None) -> int | None:
    """Return an integer such as `2` or `2 : i64`, or None for another value."""
    if not isinstance(value, Leaf):
        return None
    digits = value.text.partition(":")[0].strip()
    is_short = len(digits) <= MOST_DIGITS
    return int(digits) if is_short and digits.removeprefix("-").isdecimal() else None


MOST_DIGITS: Final = 20
"""The greatest number of digits of an integer in an attribute."""
