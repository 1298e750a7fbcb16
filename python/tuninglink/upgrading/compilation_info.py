"""Compilation infos and their parts: lowering config, translation info and its options; and readers of their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tuninglink.upgrading.trees import Field, Leaf, Node, Value, as_node

VECTOR_DISTRIBUTE: Final = frozenset({"LLVMGPUVectorDistribute", "VectorDistribute"})
TILE_AND_FUSE: Final = frozenset({"LLVMGPUTileAndFuse", "TileAndFuse"})

GPU_CONFIG: Final = "#iree_gpu.lowering_config"
TILE_SIZES_CONFIG: Final = "#iree_codegen.lowering_config"
SUBGROUP_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")


@dataclass(frozen=True)
class CompilationInfo:
    """A compilation info: its lowering config and its translation info."""

    lowering: Node
    translation: Node

    @staticmethod
    def of(node: Node) -> CompilationInfo | None:
        """Return the parts of a compilation info, or None if one is missing."""
        lowering, translation = node.node("lowering_config"), node.node("translation_info")
        if lowering is None or translation is None:
            return None
        return CompilationInfo(lowering, translation)

    @property
    def pipeline(self) -> str | None:
        """The enumerator of the pipeline, old or new, without its dialect."""
        value: Value | None = self.translation.value("pipeline")
        if value is None:
            first = self.translation.fields[0] if self.translation.fields else None
            value = first.value if first is not None and first.key is None else None
        return enumerator(value)

    @property
    def tile_sizes(self) -> list[list[int] | None]:
        """The lists of tile sizes of a lowering config, with None for a list that contains other values."""
        lists = as_node(self.lowering.value("tile_sizes"))
        return [integers(field.value) for field in lists.fields] if lists is not None else []

    def tile_by_levels(self, **levels: Iterable[int]) -> None:
        """Replace the lowering config with a GPU lowering config that promotes both operands."""
        node = Node("", "{")
        for name, sizes in sorted({"promote_operands": (0, 1), **levels}.items()):
            node.add(name, int_list(sizes))
        self.lowering.head, self.lowering.tail = GPU_CONFIG, ""
        self.lowering.fields = [Field(node)]

    @property
    def levels(self) -> Node | None:
        """The dictionary of a GPU lowering config."""
        return levels_of(self.lowering) if self.lowering.head == GPU_CONFIG else None


def options_of(translation: Node) -> Node | None:
    """Return the options of a translation info: the dictionary at its end."""
    for field in translation.fields:
        node = as_node(field.value)
        if field.key is None and node is not None and node.bracket == "{":
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


def remove_subgroup_counts(levels: Node) -> None:
    """Remove the subgroup counts from a GPU lowering config."""
    for name in SUBGROUP_COUNTS:
        levels.remove(name)


def set_subgroup_basis(levels: Node, basis: list[int], loops: Iterable[int]) -> str:
    """Replace subgroup counts with a subgroup basis, and return its text."""
    text = f"[{basis}, {list(loops)}]"
    field = next(count for name in SUBGROUP_COUNTS if (count := levels.find(name)) is not None)
    field.key, field.value = "subgroup_basis", Leaf(text)
    remove_subgroup_counts(levels)
    return text


def int_list(values: Iterable[int]) -> Node:
    """Return a list of integers as a tree."""
    node = Node("", "[")
    for value in values:
        node.add(None, str(value))
    return node


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
