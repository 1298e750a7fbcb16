"""The provider of Tuninglink's constraints on configurations for CPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.mlir import names
from tuninglink.spaces.cpu.cpu_pipelines import PIPELINES
from tuninglink.spaces.cpu.cpu_rules import PROVIDER
from tuninglink.spaces.cpu.cpu_space import CpuSpace
from tuninglink.spaces.cpu.missing_instructions import missing_instructions
from tuninglink.spaces.cpu.nest import read_nest
from tuninglink.spaces.cpu.target_cpu import Masking, read_cpu
from tuninglink.spaces.providers import Provider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload


class CpuProvider(Provider):
    """Derives what the compiler rejects on llvm-cpu from the tiles, the loops and the target's vectors."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(PIPELINES)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the space of a dispatch.

        Raises:
            UndecidedError: the target is not a CPU, or the loops of the operation are unknown.
        """
        problem = workload.problem
        cpu = read_cpu(workload)
        if problem.kind is OpKind.ATTENTION:
            # The ops that replace it are not configured, and are masked on all CPUs.
            cpu = replace(cpu, masking=Masking.AS_NEEDED)
        nest = read_nest(workload)
        doubt = missing_instructions(workload, cpu)
        if _loses_configuration(workload):
            nest = replace(nest, is_lost=True)
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return [CpuSpace(nest, cpu, attribute, problem, doubt)]


def _loses_configuration(workload: Workload) -> bool:
    """Return whether the compiler rebuilds an operation after it has read a spec's configuration.

    It rebuilds convolutions and poolings without a batch loop, which result from a batch of one image. An operation
    with a lowering config was rebuilt before.
    """
    root, problem = workload.root, workload.problem
    if names.LOWERING_CONFIG in root.attributes or root.name != names.GENERIC:
        return False
    roles = {dimension.role for dimension in problem.dimensions}
    is_pooling = not roles & {Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL, Role.DEPTH}
    batches = len(problem.loops(Role.BATCH))
    return problem.kind is OpKind.CONVOLUTION and batches == int(is_pooling)
