"""Construction of candidates from assignments of a space."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.solver.answers import AssignmentError, Limits
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.verification import broken_necessary_rules
from tuninglink.tuning.candidates.candidate import Candidate, CandidateOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.providers import Space

CHECKING: Final = Limits(seconds=5.0, solver_seconds=1.0)
"""The limits of a check of one assignment."""

MOST_ACCUMULATORS: Final = 256
"""Accumulators of one thread. A thread has 255 registers of 32 bits (CUDA C++ Programming Guide, table "Technical
Specifications per Compute Capability") or 512 (CDNA3 ISA, 3.6.4), so more than this is spilled; such candidates are
slow and take longest to compile. The fastest in the recorded tables have up to 160."""


class CandidateMaker:
    """Constructs candidates from assignments of one space.

    Args:
        space: the space.
        number: its number.
        judges: spaces of the same pipeline whose necessary rules apply as well. The compiler's own constraints accept
            configurations that do not compile. Of 1,253 of their candidates for contractions on sm_80, 152 failed to compile: the
            rules refute these, and none of the others.
    """

    def __init__(self, space: Space, number: int, judges: Sequence[Space]) -> None:
        self._space = space
        self._number = number
        self._judges = judges

    def __call__(self, assignment: Mapping[str, int]) -> Candidate | None:
        """Return the candidate; None if the values form an invalid or hopeless configuration."""
        # Only spaces for attention write a decomposition.
        write_decomposition = getattr(self._space, "decomposition_config", None)
        try:
            info = self._space.compilation_info(assignment)
            decomposition = write_decomposition(assignment) if write_decomposition else None
        except AssignmentError:
            return None
        if accumulators_per_thread(info) > MOST_ACCUMULATORS:
            return None
        assert isinstance(info, iree_codegen.CompilationInfoAttr)
        translation: Any = info.translation_info
        configuration = Configuration(info.lowering_config, translation, decomposition)
        if broken_necessary_rules(self._judges, configuration, CHECKING):
            return None
        return Candidate(
            self._space.constraints.pipeline,
            dict(assignment),
            str(info),
            str(decomposition or ""),
            CandidateOrigin.SPACE,
            self._number,
        )


def written(configuration: Configuration) -> str:
    """Return a configuration as `#iree_codegen.compilation_info`, in MLIR syntax."""
    lowering, translation = configuration.lowering_config, configuration.translation_info
    assert translation is not None
    info = iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=lowering.context)
    return str(info)


def accumulators_per_thread(info: mlir.Attribute) -> int:
    """Return the number of result elements per GPU thread; 0 if the configuration does not specify it."""
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    lowering: Any = info.lowering_config
    attributes = getattr(lowering, "attributes", None)
    translation: Any = info.translation_info
    threads = prod(translation.workgroup_size or [0])
    if not isinstance(attributes, mlir.DictAttr) or "workgroup" not in attributes or not threads:
        return 0
    tiles: Any = attributes["workgroup"]
    return int(prod(tile.value for tile in tiles if tile.value) // threads)
