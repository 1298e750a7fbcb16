"""The release of the installed compiler, and the differences between the supported releases.

Tuninglink supports the releases 3.12 to 3.14. Matchers, knobs and constraints are the same for all of them, which
`tuninglink doctor` and the test suite check.
"""

from __future__ import annotations

import re
from typing import Final

from iree.compiler.version import VERSION

_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def _release(version: str) -> tuple[int, int]:
    numbers = _NUMBERS.match(version)
    assert numbers, version
    return int(numbers[1]), int(numbers[2])


RELEASE: Final = _release(VERSION)
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
