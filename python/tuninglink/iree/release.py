"""The release of the compiler that is installed, and all that Tuninglink does differently for one or another.

Tuninglink supports the releases 3.12 to 3.14. Everything else holds for all of them: the matchers, the knobs, the
constraints. `tuninglink doctor` and the test suite check that.
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
"""Major and minor number, also of a nightly build of the release to come."""

HAS_ATTENTION_PROPERTIES: Final = RELEASE >= (3, 13)
"""Whether the properties of attention ops stand in `<{…}>`; before 3.13 they are among the attributes."""

HAS_BARE_KINDS: Final = RELEASE >= (3, 13)
"""Whether the kind of a `linalg.elementwise` is written `<exp>`; before 3.13 it has a name."""


def elementwise_op(kind: str) -> str:
    """Return the beginning of a `linalg.elementwise` as the compiler reads it."""
    if HAS_BARE_KINDS:
        return f"linalg.elementwise <{kind}>"
    return f"linalg.elementwise kind=#linalg.elementwise_kind<{kind}>"
