"""Constraints of our own on configurations for CPUs, as a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.cpu.cpu_rules import PROVIDER
from tuninglink.spaces.cpu.device import read_cpu
from tuninglink.spaces.cpu.nest import read_nest
from tuninglink.spaces.cpu.pipelines import PIPELINES
from tuninglink.spaces.cpu.space import CpuSpace
from tuninglink.spaces.providers import Provider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload


class CpuProvider(Provider):
    """Knows what the compiler refuses on llvm-cpu, from the tiles, the loops and the target's vectors."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(PIPELINES)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Returns the space of a dispatch.

        Raises:
            UndecidedError: the target is no CPU, or the loops of the operation are not known.
        """
        cpu = read_cpu(workload)
        problem = workload.problem
        is_batched = any(each.role is Role.BATCH for each in problem.dimensions)
        is_annotated = names.COMPILATION_INFO in workload.root.attributes
        if problem.kind is OpKind.CONVOLUTION and is_annotated and not is_batched:
            raise UndecidedError(
                "the compiler gives this convolution a batch loop after it has read the configuration, and loses it"
            )
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return [CpuSpace(read_nest(workload), cpu, attribute, problem, _doubt(workload))]


def _doubt(workload: Workload) -> str:
    """Returns why no configuration of a workload is known to compile; empty if the rules tell."""
    problem, root = workload.problem, workload.root
    if problem.kind is OpKind.ATTENTION:
        return "no configuration of an attention is known to compile in this pipeline"
    # Once the compiler has configured an operation, it has rewritten it.
    if problem.kind is not OpKind.CONVOLUTION or names.LOWERING_CONFIG in root.attributes:
        return ""
    if any(each.size == 1 or each.role is Role.DEPTH for each in problem.dimensions):
        return (
            "the compiler rewrites depthwise convolutions, and those with a loop of one iteration, "
            "after it has read the configuration"
        )
    return ""
