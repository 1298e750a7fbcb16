"""The provider of Tuninglink's constraints on configurations for Vulkan and Metal, and the pipeline SubgroupReduce.

In SubgroupReduce, all threads of a workgroup share a reduction. Threads first reduce vectors, subgroups then reduce the
results of their threads with shuffles, and one subgroup reduces the results of all subgroups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import REDUCTION, SPIRV_LEVELS, WORKGROUP
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.targets import SPIRV_BACKENDS, read_executable_target
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, select
from tuninglink.spaces.gpu.contractions import static_sizes
from tuninglink.spaces.gpu.gpu_rules import Number, product
from tuninglink.spaces.gpu.root_loops import RootLoops, read_loops
from tuninglink.spaces.providers import Provider, Space
from tuninglink.spaces.spirv import SpirvGpu, read_spirv_device
from tuninglink.spaces.spirv.cooperative_matrices import cooperative_spaces
from tuninglink.spaces.spirv.promoted_products import promoted_spaces
from tuninglink.spaces.spirv.spirv_space import (
    PROVIDER,
    VECTOR_BITS,
    SpirvRules,
    SpirvSpace,
    divisors,
)
from tuninglink.spaces.spirv.thread_tiles import reads_nibbles, scalar_spaces, vector_spaces
from tuninglink.spaces.workload import Workload

_MOST_RESULTS: Final = 1 << 16
"""The maximum number of results, each of which takes a workgroup; ops with more results are left to other pipelines."""


def subgroup_spaces(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> Sequence[SpirvSpace]:
    """Return the configurations in SubgroupReduce.

    Raises:
        UndecidedError: the reductions are not the last loops, or the loops are not supported.
    """
    loops = read_loops(workload, device.gpu)
    if loops.reuses_sums:
        raise UndecidedError(f"{workload.problem} does not combine its results by one operation")
    if not loops.reductions or max(loops.parallel, default=-1) > min(loops.reductions):
        raise UndecidedError(f"the last loops of {workload.problem} are not its reductions")
    return [SpirvSpace(_SubgroupRules(workload, loops, device, pipeline))]


class _SubgroupRules(SpirvRules):
    """The rules of the pipeline SubgroupReduce.

    Args:
        workload: the root op.
        loops: its loops.
        device: the target GPU.
        pipeline: the pipeline to configure.
    """

    def __init__(
        self,
        workload: Workload,
        loops: RootLoops,
        device: SpirvGpu,
        pipeline: mlir.Attribute,
    ) -> None:
        super().__init__(workload.problem, static_sizes(workload), device, pipeline)
        self._loops = loops
        self._reads_nibbles = reads_nibbles(workload)
        self._steps: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add the tiles of steps; a workgroup computes one result at a time."""
        if prod(self.sizes[loop] for loop in self._loops.parallel) > _MOST_RESULTS:
            self.rules.propose_nothing("there are enough results for one thread each")
        for loop in self._loops.parallel:
            tile = self.tile(WORKGROUP, loop)
            self.rules.sufficient(tile == 1, f"workgroup[{loop}] must be 1, not {{}}", tile)
        for loop in self._loops.reductions:
            size = self.sizes[loop]
            step = self._steps[loop] = self.tile(REDUCTION, loop)
            self.rules.sufficient(
                size % step == 0, f"reduction[{loop}] must divide {size} ({{}})", step
            )
            self.propose(step, f"reduction[{loop}]", divisors(size, size))

    def arrange_threads(self) -> None:
        """Give all threads equal parts of a step."""
        self.add_workgroup()
        self.prefer_subgroup_size()
        rules, gpu = self.rules, self.device.gpu
        x, y, z = self.threads
        rules.compilers(all_of(y == 1, z == 1), "y and z must have one thread ({}, {})", y, z)
        # Whole subgroups along x, whose results one subgroup combines.
        size = select(self.subgroup_size == 0, gpu.subgroup_size, self.subgroup_size)
        rules.compilers(
            x % size == 0, "a workgroup must have whole subgroups ({} % {} == 0)", x, size
        )
        rules.compilers(
            x <= size * size,
            "a subgroup must be able to combine the results of all subgroups ({} <= {} * {})",
            x,
            size,
            size,
        )
        # Threads take equal parts of a step.
        step = product(self._steps.values())
        most = max(1, VECTOR_BITS // self._loops.bits)
        # Determined by compiling: `vector<1xi8>` is not cast to `vector<2xi4>`.
        least = 2 if self._reads_nibbles else 1
        rules.sufficient(
            all_of(step % x == 0, step >= x * least, step <= x * most),
            f"threads must have equal parts of a step, of {least} to {most} elements ({{}} / {{}})",
            step,
            x,
        )
        last = self._steps[self._loops.reductions[-1]]
        outer = [step for loop, step in self._steps.items() if loop != self._loops.reductions[-1]]
        rules.not_chosen(
            any_of(last == self.sizes[self._loops.reductions[-1]], *[product([1, *outer]) == 1]),
            "outer reductions should be tiled only if the innermost is not",
        )

    def limit_memory(self) -> None:
        """Add nothing: subgroups exchange one number each."""


class SpirvProvider(Provider):
    """Derives the requirements of SPIR-V code generation from the shapes and from the target's limits and matrices."""

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
