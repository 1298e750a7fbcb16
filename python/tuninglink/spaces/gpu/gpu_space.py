"""Tuninglink's spaces for GPUs, which workloads of the same family share, and the loops of a root op without an intrinsic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.iree import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    PIPELINE_OPTIONS,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    REDUCTION,
    SERIAL,
    SUBGROUP_BASIS,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
    OpKind,
    Sizes,
    StructuredOp,
    element_type,
    function_ops,
    is_computing,
    loops_in,
    read_basis,
    shape,
)
from tuninglink.mlir import integers_of, names
from tuninglink.solver import Assumptions, CheckAnswer, Limits, UndecidedError
from tuninglink.spaces.gpu.gpu_rules import PROVIDER, Definition, Gpu, GpuRules, check_element_types
from tuninglink.spaces.model import (
    Configuration,
    ConstraintSet,
    DictionarySlot,
    Slot,
    Space,
    Workload,
    cached_reading,
    dictionary_of,
    zero_knobs,
)

_ALWAYS: Final = frozenset(
    {PROMOTED_OPERANDS, PROMOTION_TYPES, WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS}
)
"""The entries of every form."""


class GpuSpace(Space):
    """The configurations of one form, with some entries besides those of every form.

    The constraints are built on first access by `make`, which must not read the IR, since it may have changed. Before,
    the `first` entries tell configurations of this form from those of others.
    """

    provider = PROVIDER

    def __init__(
        self,
        entries: frozenset[str],
        make: Callable[[], Definition],
        first: Mapping[str, Slot] | None = None,
    ) -> None:
        self._names = entries | _ALWAYS
        first_slots = DictionarySlot(first or {}, self._names)
        # Raises a mismatch if a complete configuration, with its defaults, has another form.
        self.check_first = cached_reading(
            lambda configuration: first_slots.read_entries("", configuration.entries, {})
        )
        self._make = make
        self._untiled = cached_reading(
            lambda configuration: frozenset(
                knob
                for name, slot in self.definition.template.entries.entries.items()
                for knob in zero_knobs(slot, configuration.entries.get(name))
            )
        )

    @cached_property
    def definition(self) -> Definition:
        """The constraints and the template, which are built on first access."""
        made = self._make()
        entries = made.template.entries
        assert entries.entries.keys() | (entries.others or ()) == self._names
        return made

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        return self.definition.constraints

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        self.check_first(configuration.complete)
        return self.definition.template.read(configuration.complete)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        return self._untiled(configuration)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return self.definition.template.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        template = self.definition.template
        slot = template.entries.entries.get(names.DECOMPOSITION_CONFIG)
        with template.pipeline.context:
            return slot.write(assignment) if slot is not None else None


# --- Spaces of workloads that differ only in sizes: their rules are built once, with the sizes as parameters

Variant: TypeAlias = tuple[Assumptions, Sequence[GpuSpace]]
"""Spaces with sizes as parameters, and the assumptions of their rules about the sizes."""


@dataclass(eq=False, repr=False)
class SharedSpace(Space):
    """The space of one workload, with rules that it shares with others, for values of their parameters.

    `_make_own` makes the spaces of the workload alone, of which it is the one at the `_index`.
    """

    provider = PROVIDER

    _assumptions: Assumptions
    _shared: GpuSpace
    _values: Mapping[str, int]
    _make_own: Callable[[], Sequence[Space]]
    _index: int

    @property
    def _own(self) -> Space:
        return self._make_own()[self._index]

    @cached_property
    def _is_shared(self) -> bool:
        # Building the rules adds assumptions.
        is_built = self._shared.definition is not None
        return is_built and not self._assumptions.is_fixed and self._assumptions.hold(self._values)

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        return self._own.constraints

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        self._shared.check_first(configuration.complete)
        if not self._is_shared:
            return self._own.assignment(configuration)
        return self._shared.definition.template.read(configuration.complete, self._values)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        return (self._shared if self._is_shared else self._own).untiled(configuration)

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        answer = None
        if self._is_shared:
            answer = self._shared.constraints.evaluate(assignment, self._values)
        return answer or self._own.check(assignment, limits)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return self._own.compilation_info(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        return self._own.decomposition_config(assignment)


# --- The loops of a root op without an intrinsic, the elementwise ops fused with it, and the configured ops next to it

_STEPS: Final = (PARTIAL_REDUCTION, SERIAL)
"""The entries with the tiles of an op next to the root op."""

_RESHAPES: Final = frozenset(
    {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast", "tensor.extract_slice"}
)

_BYTE: Final = 8

_MOST_ITERATIONS: Final = 1 << 31
"""The exclusive upper bound of the sizes of ops on a GPU."""


def computed_inputs(
    value: mlir.Value[Any], loops: Sequence[int]
) -> Iterator[tuple[mlir.Value[Any], list[int]]]:
    """Yield the inputs of the ops that compute an operand, with the loops of the root op over their dimensions."""
    # Nothing is yielded for an operand that is read from memory.
    owner = _owner(value)
    if owner is None or not is_computing(owner.name) or owner.name == names.FILL:
        source = owner
        while source is not None and source.name in _RESHAPES:
            source = _owner(source.operands[0])
        if source is not owner and source is not None and is_computing(source.name):
            raise UndecidedError(f"an operand is a reshaped result of {source.name}")
        return
    op = StructuredOp(owner)
    if REDUCTION in op.iterator_types or len(op.maps) != len(owner.operands):
        raise UndecidedError(f"{owner.name} computes an operand, and it is not element-wise")
    positions = {
        expression.position: loop
        for expression, loop in zip(op.maps[-1].results, loops, strict=True)
        if isinstance(expression, mlir.AffineDimExpr)
    }
    for operand, access in zip(owner.operands[: op.first_output], op.maps, strict=False):
        own = [
            positions[result.position]
            for result in access.results
            if isinstance(result, mlir.AffineDimExpr)
        ]
        yield from list(computed_inputs(operand, own)) or [(operand, own)]


def has_consumers(workload: Workload) -> bool:
    operations = list(function_ops(workload.function).computing)
    after = operations[operations.index(workload.root) + 1 :]
    return any(op.name != names.FILL for op in after)


def _owner(value: mlir.Value[Any]) -> mlir.Operation | None:
    owner = value.owner
    return owner.operation if isinstance(owner, mlir.Operation | mlir.OpView) else None


@dataclass(frozen=True)
class RootLoops:
    """The loops of a root op, and those of its inputs.

    Attributes:
        bits: the width of an element of the result.
        accumulates: whether a reduction starts from given values instead of a constant.
        mixes_types: whether operands of different types are both widened before they are multiplied.
        reuses_sums: whether the body uses an accumulator more than once, as an argmax does.
        finds_places: whether a reduction also returns the index of an element.
        is_vectorized: whether the compiler makes vectors of the op, which no operand prevents that is read with strides.
    """

    sizes: Sizes
    parallel: tuple[int, ...]
    reductions: tuple[int, ...]
    bits: int
    accumulates: bool = False
    mixes_types: bool = False
    reuses_sums: bool = False
    finds_places: bool = False
    is_vectorized: bool = True
    inputs: tuple[frozenset[int], ...] = ()

    def refuse_mixed_types(self, rules: GpuRules) -> None:
        """Reject operands of different types, which only an intrinsic can multiply."""
        if self.mixes_types:
            require = rules.necessary if self.parallel else rules.sufficient
            require(False, "operands of different types need an intrinsic")  # noqa: FBT003 - that is the rule


def read_loops(workload: Workload, device: Gpu) -> RootLoops:
    """Return the loops of a root op.

    Raises:
        UndecidedError: there are no loops, or the types or sizes are not supported.
    """
    op = StructuredOp(workload.root)
    if not op.maps:
        raise UndecidedError(f"{op.name} has no loops")
    check_sizes(workload)
    # `vector.contract` absorbs the conversions of both operands from different types, and is rejected for any device.
    # It absorbs none if only one operand is widened.
    *inputs, result = op.element_types
    is_product = op.kind is OpKind.CONTRACTION
    mixes_types = is_product and len(set(inputs)) > 1 and result not in inputs
    if not mixes_types:
        check_element_types(op.element_types, device, needs_conversions=True)
    # The body of a reduction may use an accumulator more than once; see `matchReduction` of MLIR.
    arguments: list[Any] = []
    if op.name == names.GENERIC and REDUCTION in op.iterator_types:
        arguments = list(op.operation.regions[0].blocks[0].arguments)[op.first_output :]
    bits = max({_bits(operand.type) for operand in workload.root.operands})
    kinds = op.iterator_types
    accumulation = op.accumulation
    return RootLoops(
        tuple(dimension.size for dimension in workload.problem.dimensions),
        tuple(loop for loop, kind in enumerate(kinds) if kind != REDUCTION),
        tuple(loop for loop, kind in enumerate(kinds) if kind == REDUCTION),
        bits,
        accumulation is not None and not accumulation.starts_from_fill,
        mixes_types,
        any(len(list(argument.uses)) > 1 for argument in arguments),
        is_vectorized=all(
            isinstance(result, mlir.AffineDimExpr | mlir.AffineConstantExpr)
            for access in op.maps
            for result in access.results
        ),
        inputs=tuple(
            frozenset().union(*map(loops_in, access.results))
            for access in op.maps[: op.first_output]
        ),
    )


def ops_beside(workload: Workload, loops: RootLoops) -> list[tuple[int, int]]:
    """Return the ops next to a root op that have other loops."""
    # For each, the number of its elements for each result of the root op, and their width in bits.
    ops = []
    results = prod(loops.sizes[loop] or 1 for loop in loops.parallel)
    for each in function_ops(workload.function).computing:
        if each == workload.root or each.name == names.FILL:
            continue
        for result in each.results:
            dimensions = shape(result.type)
            sizes = [size for size in dimensions or () if size is not None]
            if dimensions is None or len(sizes) != len(dimensions):
                raise UndecidedError(f"{each.name} beside it has results of unknown size")
            elements = -(-prod(sizes) // results)
            if elements > 1:
                ops.append((elements, _bits(result.type)))
    return ops


def _bits(type_: mlir.Type) -> int:
    element = element_type(type_)
    if isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE:
        return int(element.width)
    raise UndecidedError(f"an operand has elements of type {element}")


def check_sizes(workload: Workload) -> None:
    for dimension in workload.problem.dimensions:
        if dimension.size is not None and not 0 < dimension.size < _MOST_ITERATIONS:
            raise UndecidedError(f"{workload.problem} has a dimension of size {dimension.size}")


def read_neighbors(workload: Workload, parallel: int) -> list[tuple[str, int, int, int]]:
    """Return the names of the configured ops next to the root op, and their numbers of subgroups, lanes and steps."""
    read = []
    for op_beside in function_ops(workload.function).computing:
        attribute = op_beside.attributes.get(names.LOWERING_CONFIG)
        entries = (dictionary_of(attribute) if attribute is not None else None) or {}
        if op_beside == workload.root:
            continue
        if SUBGROUP_BASIS not in entries:
            op = StructuredOp(op_beside)
            if op.maps and op.loop_count > parallel:
                raise UndecidedError(f"{op_beside.name} beside it has no configuration")
            continue
        bases = [read_basis(entries.get(name)) for name in (SUBGROUP_BASIS, LANE_BASIS)]
        subgroups, lanes = (prod(basis.counts) if basis else 1 for basis in bases)
        tiles = [size for name in _STEPS for size in integers_of(entries.get(name)) if size]
        read.append((op_beside.name, subgroups, lanes, prod(tiles)))
    return read
