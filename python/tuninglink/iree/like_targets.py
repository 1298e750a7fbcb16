"""Targets that run code for another target as that one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.cpu_vectors import known_cpu_vectors
from tuninglink.iree.targets import known_target_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.iree.cpu_vectors import CpuVectors
    from tuninglink.iree.targets import Target

_LIKE_SM_80: Final = frozenset({"sm_90"})
"""The architectures with the intrinsics of sm_80 and at least its shared memory.

sm_86 and sm_89 have the intrinsics and 99 KiB: 14 of the 59 entries of `library:models-h200` do not compile for sm_89.
"""


def is_like(name: str, target: Target, element_types: Iterable[str]) -> bool:
    """Tells whether code for a target with another name is as good for a target.

    Args:
        name: the name of the target that the code was made for.
        target: the target.
        element_types: the element types that the code computes with.
    """
    made_for = known_target_names().get(name)
    if made_for is None or made_for.backend != target.backend:
        return False
    if target.backend == "cuda":
        return made_for.architecture == "sm_80" and target.architecture in _LIKE_SM_80
    if target.backend != "llvm-cpu" or made_for.family != target.family:
        return False
    own, other = _cpu_vectors(target), _cpu_vectors(made_for)
    return own is not None and other is not None and own.runs_code_for(other, element_types)


def _cpu_vectors(target: Target) -> CpuVectors | None:
    """Returns the vector instructions of a CPU, those of its name where it lists none."""
    return target.cpu_vectors or known_cpu_vectors().get(target.architecture or "")
