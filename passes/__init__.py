"""The passes of Tuninglink. Each module has the name of its pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.mlir import Pass


_PREFIX: Final = "tuninglink-"

_CLASSES: Final = {
    "tuninglink-annotate-root-ops": "AnnotateRootOps",
    "tuninglink-dedupe-sequences": "DedupeSequences",
    "tuninglink-drop-shadowed": "DropShadowed",
    "tuninglink-dump-specs": "DumpSpecs",
    "tuninglink-index-matchers": "IndexMatchers",
    "tuninglink-link-specs": "LinkSpecs",
    "tuninglink-materialize-specs": "MaterializeSpecs",
    "tuninglink-prune-specs": "PruneSpecs",
    "tuninglink-strip-configs": "StripConfigs",
    "tuninglink-verify-configs": "VerifyConfigs",
    "tuninglink-verify-specs": "VerifySpecs",
}
"""The class of each pass."""


class _Passes(Mapping[str, type["Pass"]]):
    """A lazy mapping that imports a pass on lookup, as importing all takes longer than most passes run."""

    def __getitem__(self, name: str) -> type[Pass]:
        class_name = _CLASSES[name]
        module = name.removeprefix(_PREFIX).replace("-", "_")
        pass_type: type[Pass] = getattr(import_module(f"{__name__}.{module}"), class_name)
        return pass_type

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


PASSES: Final[Mapping[str, type[Pass]]] = _Passes()
"""The passes of Tuninglink, by name, in alphabetical order."""
