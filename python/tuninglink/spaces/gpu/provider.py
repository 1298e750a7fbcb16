"""Constraints of our own on contractions and attention on GPUs, as a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu.attention import attention_space, read_attention
from tuninglink.spaces.gpu.contractions import check_types, read_contraction
from tuninglink.spaces.gpu.device import read_device
from tuninglink.spaces.gpu.gpu_rules import PROVIDER
from tuninglink.spaces.gpu.single_threads import single_threads_space
from tuninglink.spaces.gpu.tile_and_fuse import tile_and_fuse_spaces
from tuninglink.spaces.gpu.vector_distribute import vector_distribute_space
from tuninglink.spaces.providers import Provider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload

TILE_AND_FUSE = "#iree_gpu.pipeline<TileAndFuse>"
VECTOR_DISTRIBUTE = "#iree_gpu.pipeline<VectorDistribute>"


class GpuProvider(Provider):
    """Knows what code generation for GPUs needs, from the target's limits, its intrinsics and the shapes.

    It speaks beside the compiler's own constraints, of the same configurations and of others. What it refuses
    where they speak, they refuse too, or it does not compile.
    """

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset({TILE_AND_FUSE, VECTOR_DISTRIBUTE})
    kinds: ClassVar[frozenset[OpKind] | None] = frozenset({OpKind.CONTRACTION, OpKind.ATTENTION})

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Returns a space for each form of configurations in a pipeline.

        Raises:
            UndecidedError: the operation, its sizes or the target are outside of what is known; says how.
        """
        device = read_device(workload)
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        if workload.problem.kind is OpKind.CONTRACTION:
            return _contraction_spaces(workload, device, attribute)
        if pipeline != VECTOR_DISTRIBUTE:
            return []
        return [attention_space(read_attention(workload), workload, device, attribute)]


def _contraction_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> Sequence[Space]:
    contraction, problem = read_contraction(workload), workload.problem
    check_types(contraction, device)
    operands = (contraction.lhs, contraction.rhs, contraction.result)
    types = [each.element_type for each in operands]
    # Others do not compile here; they are for attention.
    intrinsics = [
        each
        for each in device.multiplying(*types)
        if not each.is_virtual and not each.is_transposed
    ]
    if str(pipeline) == VECTOR_DISTRIBUTE:
        if not intrinsics:
            what = f"no intrinsic of the target multiplies {'x'.join(types)}"
            raise UndecidedError(f"{what}, and what this pipeline does without is not known")
        return [vector_distribute_space(contraction, problem, device, intrinsics, pipeline)]
    spaces = (
        tile_and_fuse_spaces(contraction, problem, device, intrinsics, pipeline)
        if intrinsics
        else []
    )
    if contraction.accumulates:
        if not spaces:
            raise UndecidedError(f"{problem} adds to given values, without an intrinsic")
        return spaces
    return [*spaces, single_threads_space(contraction, problem, device, pipeline)]
