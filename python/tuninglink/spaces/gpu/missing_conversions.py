"""Floats of 8 bits that a GPU cannot convert, so that no configuration compiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.iree.structured_op import element_type
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.walk import visit
from tuninglink.solver.answers import AssignmentError
from tuninglink.spaces.gpu.gpu_rules import GpuRules
from tuninglink.spaces.providers import Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from iree.compiler import ir as mlir

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.gpu.target_gpu import Gpu
    from tuninglink.spaces.workload import Problem, Workload

_BYTES: Final = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
_OF_AMD: Final = "FNUZ"
"""The suffix of the types that no NVIDIA GPU has."""
_CONVERTING: Final = 89
"""The first compute capability of NVIDIA with conversions of the other types."""


def missing_conversion(workload: Workload, device: Gpu) -> str:
    """Return an element type that the root op computes with and the device cannot convert; empty if there is none."""
    return next((type_ for type_ in _computed_types(workload) if _is_missing(type_, device)), "")


class UnsupportedSpace(Space):
    """A space without a valid configuration.

    Args:
        problem: the problem.
        pipeline: the pipeline, as MLIR prints it.
        reason: why no configuration compiles.
    """

    def __init__(self, problem: Problem, pipeline: str, reason: str) -> None:
        rules = GpuRules()
        rules.necessary(False, reason)  # noqa: FBT003 - that is the rule
        self.constraints = rules.build(problem, pipeline)

    def assignment(self, _: Configuration) -> Mapping[str, int]:
        """Read nothing, as there are no knobs."""
        return {}

    def compilation_info(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Write nothing."""
        raise AssignmentError(error("no configuration is valid"))


def _computed_types(workload: Workload) -> Iterator[str]:
    """Yield the narrow floats that ops in the body of the root op take."""
    types: dict[str, None] = {}

    def add(operation: mlir.Operation) -> None:
        if not operation.name.endswith(".yield"):
            for value in (*operation.operands, *operation.results):
                types[str(element_type(value.type))] = None

    for region in workload.root.regions:
        for block in region.blocks:
            for each in block.operations:
                visit(each.operation, add)
    return (type_ for type_ in types if type_ in _BYTES)


def _is_missing(type_: str, device: Gpu) -> bool:
    capability = re.match(r"sm_(\d+)", device.architecture)
    if capability is not None:
        return type_.endswith(_OF_AMD) or int(capability[1]) < _CONVERTING
    supported = {each for intrinsic in device.intrinsics for each in intrinsic.element_types}
    return device.architecture.startswith("gfx") and type_ not in supported
