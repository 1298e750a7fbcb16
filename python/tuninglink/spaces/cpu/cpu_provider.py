"""The provider of Tuninglink's constraints on configurations for CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import StructuredOp, element_type
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.spaces.cpu import Cpu, Masking, read_cpu
from tuninglink.spaces.cpu.cpu_rules import PIPELINES, PROVIDER
from tuninglink.spaces.cpu.cpu_space import CpuSpace
from tuninglink.spaces.cpu.nest import read_nest
from tuninglink.spaces.providers import Provider, Space

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload


class CpuProvider(Provider):
    """Derives the compiler's rejections on llvm-cpu from the tiles, the loops and the target's vectors."""

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

    It rebuilds convolutions and poolings without a batch loop, which result from a batch of one image
    (`names.ADD_BATCH_LOOP`). An operation with a lowering config has already been rebuilt.
    """
    root, problem = workload.root, workload.problem
    if names.LOWERING_CONFIG in root.attributes or root.name != names.GENERIC:
        return False
    roles = {dimension.role for dimension in problem.dimensions}
    is_pooling = not roles & {Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL, Role.DEPTH}
    batches = len(problem.loops(Role.BATCH))
    return problem.kind is OpKind.CONVOLUTION and batches == int(is_pooling)


_SOFTMAX: Final = "linalg.softmax"
_MAXIMA: Final = frozenset({"arith.maxnumf", "arith.minnumf", _SOFTMAX})
_REDUCTIONS: Final = frozenset({"linalg.reduce", _SOFTMAX})
_HALF: Final = "f16"
_BRAIN: Final = "bf16"
_BYTES: Final = "i8"
_PRODUCTS: Final = (OpKind.CONTRACTION, OpKind.CONVOLUTION)
_COMPUTING: Final = ("arith.", "math.")
_VECTORS: Final = ("+v", "+zve")
"""The prefixes of the RISC-V features that imply vector registers."""


def missing_instructions(workload: Workload, cpu: Cpu) -> str:
    """Return why code for a dispatch may fail to be generated or linked; empty if no reason is known.

    Determined by compiling for the CPUs.
    """
    uses = _Uses.of(workload)
    if cpu.architecture.startswith("x86") and cpu.links_nothing and uses.half_maxima:
        return "a maximum of f16 elements becomes a call of a function that is not linked"
    if cpu.architecture.startswith("aarch64") and "+i8mm" in cpu.features and uses.narrow_sums:
        return "with the feature 'i8mm', products that are added up as i8 become 'smmla', which adds up i32"
    return _missing_on_riscv(uses, cpu) if cpu.architecture.startswith("riscv") else ""


def _missing_on_riscv(uses: _Uses, cpu: Cpu) -> str:
    if cpu.links_nothing and (reason := _unlinked_calls(uses, cpu)):
        return reason
    if not any(feature.startswith(_VECTORS) for feature in cpu.features):
        return ""
    if uses.products:
        return "LLVM lowers no masked product of the elements of a vector"
    if uses.half_reductions and "+zvfh" not in cpu.features:
        return "without the feature 'zvfh', LLVM lowers no masked reduction of f16 elements"
    return ""


def _unlinked_calls(uses: _Uses, cpu: Cpu) -> str:
    call = "become calls of functions that are not linked"
    if "+m" not in cpu.features:
        return f"without the feature 'm', multiplications {call}"
    if uses.floats and not cpu.features & {"+f", "+d"}:
        return f"without the feature 'f', operations on floats {call}"
    if uses.brain_results and "+zfbfmin" not in cpu.features:
        return f"without the feature 'zfbfmin', truncations to bf16 {call}"
    return ""


@dataclass
class _Uses:
    """The kinds of instructions that a dispatch needs.

    Attributes:
        floats: whether it computes with floats.
        brain_results: whether it computes bf16 elements.
        half_maxima: whether it computes the maximum or minimum of two f16 elements, ignoring NaN.
        half_reductions: whether it reduces to f16 elements, other than by a contraction.
        products: whether it multiplies all elements along a dimension.
        narrow_sums: whether it adds up products as i8 elements.
    """

    floats: bool = False
    brain_results: bool = False
    half_maxima: bool = False
    half_reductions: bool = False
    products: bool = False
    narrow_sums: bool = False

    @classmethod
    def of(cls, workload: Workload) -> _Uses:
        """Return the uses of the function of a dispatch."""
        uses = cls()
        visit(workload.function, uses._visit)
        return uses

    def _visit(self, operation: mlir.Operation) -> None:
        types = [element_type(result.type) for result in operation.results]
        is_half = any(str(type_) == _HALF for type_ in types)
        self.floats |= any(isinstance(type_, mlir.FloatType) for type_ in types)
        is_computing = operation.name.startswith(_COMPUTING) and bool(operation.operands)
        self.brain_results |= is_computing and _BRAIN in map(str, types)
        self.half_maxima |= is_half and operation.name in _MAXIMA
        is_reduction = operation.name in _REDUCTIONS
        kind = StructuredOp(operation).kind
        self.narrow_sums |= kind in _PRODUCTS and _BYTES in map(str, types)
        if is_reduction or kind is OpKind.REDUCTION:
            self.half_reductions |= is_half
            self.products |= any(
                each.name == "arith.mulf" and _accumulates(each)
                for region in operation.regions
                for block in region.blocks
                for each in block.operations
            )


def _accumulates(operation: mlir.OpView) -> bool:
    """Return whether an op in a body has the accumulator, the last argument of the body, as an operand."""
    arguments = list(operation.operation.block.arguments)
    return any(operand == arguments[-1] for operand in operation.operands)
