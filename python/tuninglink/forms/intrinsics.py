"""The matrix intrinsics that the compiler's attention and contractions take, as shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iree.compiler.dialects import iree_gpu

from tuninglink.iree import intrinsics_multiplying
from tuninglink.mlir import thread_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree import Target


_THREE_ROWS: Final = 96
"""The smallest number of features that three subgroups share on all targets. sm_80 also accepts 48, gfx942 does not."""
_BLOCKS: Final = re.compile(r"x\d+B_")


class Shape(NamedTuple):
    """The rows, columns and depth of the product that an intrinsic computes."""

    rows: int
    columns: int
    depth: int


def shapes(target: Target, lhs: str, rhs: str) -> list[Shape]:
    """Return the distinct shapes of a target's intrinsics that multiply these types and accumulate in f32.

    Virtual intrinsics have multiples of these shapes. Left out are those for few rows (`VDMFMA`), since an attention for
    which the compiler takes one does not compile (200 queries, 256 keys, f16, gfx942, iree-base-compiler 3.13.0), and
    those of several blocks (`4x4x4x16B`), which the compiler takes for no attention.
    """
    context = thread_context()
    single = (name for name in target.intrinsics if not _BLOCKS.search(name))
    usable = intrinsics_multiplying((lhs, rhs, "f32"), context, single)
    kinds: list[Any] = [
        iree_gpu.MMAAttr.get(int(iree_gpu.MMAIntrinsic[name]), ctx=context) for name in usable
    ]
    return [*dict.fromkeys(Shape(*kind.mnk_shape) for kind in kinds)]


@dataclass(frozen=True)
class AttentionNeeds:
    """The numbers that must divide the sizes of an attention for its two matmuls to use intrinsics.

    For the default configuration, `isValidMMASchedule` also requires that the threads of a workgroup share the loads of
    whole rows of features: one of their numbers must divide the other, counting vectors of 128 bits. A workgroup has
    one to four subgroups, three only where four would divide the queries, too. So 64 and 128 features are accepted, 96
    for some numbers of queries, and 80 never.

    Attributes:
        divisors: by loop.
    """

    divisors: Mapping[str, int]

    def divide(self, sizes: Mapping[str, int]) -> bool:
        """Return whether a configuration with intrinsics exists."""
        return all(sizes[loop] % divisor == 0 for loop, divisor in self.divisors.items())

    def are_default(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the compiler's default configuration uses intrinsics."""
        features, queries = sizes["k"], sizes["m"]
        odd_factor = features // (features & -features)
        is_shared = queries % (12 * self.divisors["m"]) == 0 and features % _THREE_ROWS == 0
        return self.divide(sizes) and {1: True, 3: is_shared}.get(odd_factor, False)


def attention_needs(target: Target, query: str, key: str, value: str) -> list[AttentionNeeds]:
    """Return the needs of the pairs of intrinsics of a target whose results have the same shape, the weakest only."""
    needs = [
        AttentionNeeds(
            {
                "m": scores.rows,
                "n": values.columns,
                "k": scores.depth,
                "j": lcm(scores.columns, values.depth),
            }
        )
        for scores, values in product(shapes(target, query, key), shapes(target, value, value))
        if scores[:2] == values[:2]
    ]
    return [
        need
        for need in needs
        if not any(other != need and other.divide(need.divisors) for other in needs)
    ]
