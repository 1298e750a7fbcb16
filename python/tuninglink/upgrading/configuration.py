"""A configuration as rules see it: a compilation info with its lowering config and its translation info."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tuninglink.upgrading.trees import Leaf, Node, Value, as_node

VECTOR_DISTRIBUTE: Final = frozenset({"LLVMGPUVectorDistribute", "VectorDistribute"})
TILE_AND_FUSE: Final = frozenset({"LLVMGPUTileAndFuse", "TileAndFuse"})

GPU_CONFIG: Final = "#iree_gpu.lowering_config"
TILE_SIZES_CONFIG: Final = "#iree_codegen.lowering_config"


def options_of(translation: Node) -> Node | None:
    """Returns the options of a translation info, the dictionary at its end."""
    for each in translation.fields:
        node = as_node(each.value)
        if each.key is None and node is not None and node.bracket == "{":
            return node
    return None


def remove_options(translation: Node) -> None:
    """Takes the options out of a translation info."""
    for each in translation.fields:
        if each.key is None and as_node(each.value) is not None:
            translation.remove_field(each)
            return


def pipeline_of(translation: Node) -> str | None:
    """Returns the enumerator of the pipeline, old or new, without dialect."""
    value: Value | None = translation.value("pipeline")
    if value is None:
        first = translation.fields[0] if translation.fields else None
        value = first.value if first is not None and first.key is None else None
    if isinstance(value, Leaf):
        text = value.text
        if text.startswith("#") and "<" in text:
            return text.partition("<")[2].removesuffix(">").strip()
        return text
    node = as_node(value)
    enumerator = node.positional() if node is not None else None
    return enumerator.name if enumerator is not None else None


@dataclass(frozen=True)
class Configuration:
    """A compilation info.

    Attributes:
        info: the compilation info.
        lowering: its lowering config.
        translation: its translation info.
    """

    info: Node
    lowering: Node
    translation: Node

    @staticmethod
    def of(info: Node) -> Configuration | None:
        """Returns the configuration that `info` holds, None if a part is missing or is not readable."""
        lowering, translation = info.node("lowering_config"), info.node("translation_info")
        if lowering is None or translation is None:
            return None
        return Configuration(info, lowering, translation)

    @property
    def pipeline(self) -> str | None:
        """The enumerator of the pipeline, old or new, without dialect."""
        return pipeline_of(self.translation)

    @property
    def options(self) -> Node | None:
        """The options in the translation info."""
        return options_of(self.translation)

    @property
    def levels(self) -> Node | None:
        """The dictionary of a GPU lowering config."""
        if self.lowering.head != GPU_CONFIG:
            return None
        field = self.lowering.positional()
        return as_node(field.value) if field is not None else None
