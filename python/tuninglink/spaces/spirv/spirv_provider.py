"""The provider of Tuninglink's constraints on configurations for Vulkan and Metal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import SPIRV_LEVELS
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.targets import SPIRV_BACKENDS, read_executable_target
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.providers import Provider, Space
from tuninglink.spaces.spirv import SpirvGpu, read_spirv_device
from tuninglink.spaces.spirv.cooperative_matrices import cooperative_spaces
from tuninglink.spaces.spirv.promoted_products import promoted_spaces
from tuninglink.spaces.spirv.spirv_space import PROVIDER
from tuninglink.spaces.spirv.subgroup_reductions import subgroup_spaces
from tuninglink.spaces.spirv.thread_tiles import scalar_spaces, vector_spaces
from tuninglink.spaces.workload import Workload


class SpirvProvider(Provider):
    """Derives the requirements of code generation for SPIR-V from the target's limits, its matrices and the shapes."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(SPIRV_LEVELS)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return a space for each form of configurations in a pipeline.

        Raises:
            UndecidedError: the operation, its sizes or the target are not supported; the message gives the reason.
        """
        target = read_executable_target(workload.target) if workload.target is not None else None
        if target is None or target.backend not in SPIRV_BACKENDS:
            raise UndecidedError(f"the target does not build {pipeline}")
        if not workload.root.results:
            raise UndecidedError(f"{workload.problem} computes in buffers, not in tensors")
        make = _FORMS[pipeline].get(workload.problem.kind)
        if make is None:
            return []
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return make(workload, read_spirv_device(workload), attribute)


_Form = Callable[["Workload", SpirvGpu, mlir.Attribute], Sequence[Space]]

_NESTS: Final = (OpKind.CONTRACTION, OpKind.CONVOLUTION, OpKind.REDUCTION, OpKind.ELEMENTWISE)

_FORMS: Final[Mapping[str, Mapping[OpKind, _Form]]] = {
    "#iree_gpu.spirv_pipeline<BaseDistribute>": dict.fromkeys(_NESTS, scalar_spaces),
    "#iree_gpu.spirv_pipeline<BaseVectorize>": dict.fromkeys(_NESTS, vector_spaces),
    "#iree_gpu.spirv_pipeline<MatmulPromoteVectorize>": {OpKind.CONTRACTION: promoted_spaces},
    "#iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>": {
        OpKind.CONTRACTION: cooperative_spaces
    },
    "#iree_gpu.spirv_pipeline<SubgroupReduce>": {
        OpKind.CONTRACTION: subgroup_spaces,
        OpKind.REDUCTION: subgroup_spaces,
    },
}
"""The functions that return spaces, by pipeline and kind of root op."""
