"""Ops whose threads process parts of a tile element by element: the pipeline Distribute, and indexed accesses.

Elementwise ops and gathers use Distribute. Scatters use TileAndFuse with the same kind of tiles: of 32 configurations
with random tiles and threads for gfx942 and sm_80, all compiled. An arg_compare is shared by lanes in VectorDistribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.lowering_configs import WORKGROUP_SIZE
from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import Sizes, element_type, shape
from tuninglink.mlir import names
from tuninglink.mlir.attributes import named_parameters
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError, UndecidedError
from tuninglink.spaces.configuration import Configuration, MismatchError, MissingEntryError
from tuninglink.spaces.gpu import Gpu, check_element_types
from tuninglink.spaces.gpu.gpu_rules import SUBGROUP_SIZE_KNOB, GpuRules, product
from tuninglink.spaces.gpu.lanes import lanes_space
from tuninglink.spaces.gpu.root_loops import RootLoops, ops_beside, read_loops
from tuninglink.spaces.gpu.threads import threads_space
from tuninglink.spaces.providers import Space
from tuninglink.spaces.slots import ArraySlot, DictionarySlot, IntegerSlot

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_LOWERING_CONFIG: Final = "#iree_codegen.lowering_config"
_LEVELS: Final = "tile_sizes"
_THREADS: Final = tuple(f"{WORKGROUP_SIZE}[{axis}]" for axis in range(3))
_MOST_TILE: Final = 1 << 20


def distribute_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of an elementwise op that is alone in its function.

    Raises:
        UndecidedError: the loops are not supported.
    """
    if ops_beside(workload, read_loops(workload, device)):
        raise UndecidedError(f"other ops are beside {workload.problem}")
    sizes = tuple(dimension.size for dimension in workload.problem.dimensions)
    return [DistributeSpace(workload, device, pipeline, sizes)]


class DistributeSpace(Space):
    """The tiles of a workgroup and its number of threads, which are independent of each other.

    Args:
        workload: the op.
        device: the target GPU.
        pipeline: the pipeline.
        sizes: the sizes of its loops.
    """

    def __init__(
        self, workload: Workload, device: Gpu, pipeline: mlir.Attribute, sizes: Sizes
    ) -> None:
        self._pipeline = pipeline
        rules = GpuRules()
        # The tiles of the only level.
        tiles = tuple(f"{_LEVELS}[{loop}]" for loop in range(len(sizes)))
        for name, size in zip(tiles, sizes, strict=True):
            tile = rules.knob(name, 0, _MOST_TILE)
            rules.necessary(tile >= 0, f"{name} must not be negative, as {{}} is", tile)
            rules.powers_of_two(tile, device.threads, size)
        level = ArraySlot(tuple(map(IntegerSlot, tiles)))
        self._entries = DictionarySlot({_LEVELS: ArraySlot((level,))}, frozenset())
        # The threads of a workgroup and of a subgroup.
        threads = [rules.knob(name, 1, device.threads) for name in _THREADS]
        for thread in threads:
            rules.powers_of_two(thread, device.threads)
        rules.sufficient(
            product(threads) <= device.threads,
            f"a workgroup must have at most {device.threads} threads, not {{}}",
            product(threads),
        )
        subgroup_size = rules.knob(SUBGROUP_SIZE_KNOB, 0, max(device.subgroup_sizes))
        rules.not_chosen(
            subgroup_size == device.subgroup_size,
            f"a subgroup must have {device.subgroup_size} threads, not {{}}",
            subgroup_size,
        )
        if workload.root.results and workload.root.name != _TOPK:
            rules.propose_nothing("other pipelines make vectors of tensors")
        self.constraints = rules.build(workload.problem, str(pipeline))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Read the tiles of the only level, the number of threads and the size of a subgroup."""
        lowering, info = configuration.lowering_config, configuration.translation_info
        if not str(lowering).startswith(f"{_LOWERING_CONFIG}<"):
            raise MismatchError(f"'{names.LOWERING_CONFIG}' is {lowering}")
        if info is None or len(info.workgroup_size) != len(_THREADS):
            raise MissingEntryError("'workgroup_size' does not have three sizes")
        assignment = dict(zip(_THREADS, info.workgroup_size, strict=True))
        assignment[SUBGROUP_SIZE_KNOB] = info.subgroup_size
        self._entries.read_entries("", named_parameters(lowering), assignment)
        return assignment

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a configuration."""
        try:
            with self._pipeline.context:
                levels = self._entries.entries[_LEVELS].write(assignment)
                return iree_codegen.CompilationInfoAttr.get(
                    mlir.Attribute.parse(f"{_LOWERING_CONFIG}<{_LEVELS} = {levels}>"),
                    iree_codegen.TranslationInfoAttr.get(
                        self._pipeline,
                        None,
                        [assignment[name] for name in _THREADS],
                        assignment[SUBGROUP_SIZE_KNOB],
                    ),
                )
        except (ValueError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


_GATHER: Final = "iree_linalg_ext.gather"
_TOPK: Final = "iree_linalg_ext.topk"
_SCATTER: Final = "iree_linalg_ext.scatter"
_ARG_COMPARE: Final = "iree_linalg_ext.arg_compare"


def gather_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a gather, whose loops are the dimensions of its result.

    Raises:
        UndecidedError: the root op is not a gather, its sizes are unknown, or other ops are next to it.
    """
    operation = _alone(workload, _GATHER)
    sizes, _ = _sizes(operation.operands[len(operation.operands) - 1], device)
    return [DistributeSpace(workload, device, pipeline, sizes)]


def topk_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a top-k selection, whose loops are the rows that it selects from.

    Raises:
        UndecidedError: see `gather_spaces`.
    """
    operation = _alone(workload, _TOPK)
    sizes, _ = _sizes(operation.operands[0], device)
    dimension = mlir.IntegerAttr(operation.attributes["dimension"]).value
    rows = tuple(size for position, size in enumerate(sizes) if position != dimension)
    return [DistributeSpace(workload, device, pipeline, rows)]


def scatter_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a scatter, whose loops are the dimensions of the values that it writes.

    Raises:
        UndecidedError: see `gather_spaces`.
    """
    operation = _alone(workload, _SCATTER)
    sizes, bits = _sizes(operation.operands[0], device)
    loops = RootLoops(
        sizes, tuple(range(len(sizes))), (), bits, accumulates=False, mixes_types=False
    )
    return [threads_space(workload.problem, loops, device, pipeline)]


def arg_compare_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> Sequence[Space]:
    """Return the configurations of an arg_compare, whose loops are the dimensions of the values that it compares.

    Raises:
        UndecidedError: see `gather_spaces`.
    """
    operation = _alone(workload, _ARG_COMPARE)
    sizes, bits = _sizes(operation.operands[0], device)
    dimension = mlir.IntegerAttr(operation.attributes["dimension"]).value
    parallel = tuple(loop for loop in range(len(sizes)) if loop != dimension)
    loops = RootLoops(
        *(sizes, parallel, (dimension,), bits),
        accumulates=False,
        mixes_types=False,
        finds_places=True,
    )
    return [lanes_space(workload, loops, device, pipeline)]


def _alone(workload: Workload, name: str) -> mlir.Operation:
    root = workload.root
    if root.name != name:
        raise UndecidedError(f"no constraints are known for {root.name}")
    for op in function_ops(workload.function).computing:
        if op != root and op.name != names.FILL:
            raise UndecidedError(f"{op.name} is beside {root.name}")
    return root


def _sizes(value: mlir.Value[Any], device: Gpu) -> tuple[Sizes, int]:
    """Return the sizes of an operand, and the bits of an element."""
    sizes, element = shape(value.type), element_type(value.type)
    is_known = isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE
    if not sizes or None in sizes or not is_known:
        raise UndecidedError(f"an operand is of type {value.type}")
    assert isinstance(element, mlir.IntegerType | mlir.FloatType)
    check_element_types([str(element)], device)
    return sizes, element.width


_BYTE: Final = 8
