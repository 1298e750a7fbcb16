"""The installed compiler: its release, the differences between the supported releases, and its enumerators.

Tuninglink supports releases 3.12 to 3.14. Matchers, knobs and constraints are the same in all of these releases;
`tuninglink doctor` and the test suite check this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from iree.compiler.version import VERSION

from tuninglink.errors import nearest

_NUMBERS: Final = re.match(r"(\d+)\.(\d+)", VERSION)
assert _NUMBERS, VERSION
RELEASE: Final = (int(_NUMBERS[1]), int(_NUMBERS[2]))
"""The major and the minor number. A nightly build has those of the next release."""

HAS_ATTENTION_PROPERTIES: Final = RELEASE >= (3, 13)
"""Whether the properties of attention ops are printed in `<{…}>`. Before 3.13 they are among the attributes."""

HAS_BARE_KINDS: Final = RELEASE >= (3, 13)
"""Whether the kind of a `linalg.elementwise` is printed as `<exp>`. Before 3.13 it is printed with its name."""


def elementwise_op(kind: str) -> str:
    """Return the beginning of a `linalg.elementwise` in the compiler's syntax."""
    if HAS_BARE_KINDS:
        return f"linalg.elementwise <{kind}>"
    return f"linalg.elementwise kind=#linalg.elementwise_kind<{kind}>"


CPU_PIPELINES: Final = frozenset(
    [
        "Default",
        "DoubleTilingExpert",
        "ConvTileAndDecomposeExpert",
        "Mmt4dTilingExpert",
        "BufferOpsTileAndVectorize",
        "DataTiling",
        "LinalgExtTileAndVectorize",
    ]
)
"""The enumerators of `#iree_cpu.pipeline`, which the bindings lack."""

GPU_PIPELINES: Final = ("LoweringPipeline", "SPIRVLoweringPipeline")
"""The enumerations of pipelines in the bindings of `iree_gpu`."""

_LONGEST: Final = 80


@cache
def gpu_enumerators(enumeration: str) -> frozenset[str]:
    """Return the enumerators of an enumeration in the bindings of `iree_gpu`, such as `MMAIntrinsic`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(member.name for member in getattr(iree_gpu, enumeration))


def unknown(what: str, name: str, valid_names: Iterable[str], likely: str | None = None) -> str:
    """Return the message that a name of a kind is unknown, with the known name most similar to it or to its likely form."""
    suggestion = nearest((likely or name)[:_LONGEST], sorted(valid_names), cutoff=0.5)
    shortened = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
    hint = f"; the nearest known one is '{suggestion}'" if suggestion else ""
    return f"unknown {what} '{shortened}'{hint}"
