"""The compiler's own constraints: their passes in a worker, their conversion to constraint sets, and their provider."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from importlib import import_module
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, TypeVarTuple

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen
from iree.compiler.passmanager import PassManager

from tuninglink.iree import (
    PIPELINE_OPTIONS,
    REDUCTION_LEVEL,
    SUBGROUP,
    SUBGROUP_BASIS,
    TILE_AND_FUSE,
    VECTOR_DISTRIBUTE,
    WORKGROUP,
    WORKGROUP_SIZE,
    OpKind,
    Role,
)
from tuninglink.mlir import body, error, integer_value, names, place_of, to_bytecode, visit
from tuninglink.solver import (
    AssignmentError,
    CheckAnswer,
    Expression,
    Grade,
    Limits,
    UndecidedError,
    all_of,
    any_of,
    negation,
    number,
    select,
)
from tuninglink.spaces.model import (
    Configuration,
    ConstraintSet,
    ConstraintSetBuilder,
    DictionarySlot,
    IntegerKnob,
    Knob,
    KnobTemplate,
    OneOfKnob,
    Problem,
    Provider,
    Space,
    Workload,
    dictionary_of,
    option_slots,
    template_slot,
)
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    Value = mlir.Value[Any]


T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class CompilerCrashError(UndecidedError):
    """The compiler crashed on a module."""


@dataclass(eq=False, repr=False)
class IsolatedPassManager:
    """Runs pass pipelines in a pool of workers, each within a time limit in seconds.

    `known_crashes` has the reasons for compiler crashes, by a key that the caller chooses for the input.
    """

    _pool: Pool
    seconds: float = 60.0
    known_crashes: dict[Hashable, str] = field(default_factory=dict, init=False)

    def call(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Call a function that runs passes in a worker, and return its result; see `Pool.submit`.

        Raises:
            CompilerCrashError: the compiler crashed.
            UndecidedError: the compiler exceeded the time limit or reported an error.
        """
        try:
            return self._pool.submit(function, *arguments, seconds=self.seconds).result()
        except JobTimeoutError as failure:
            reason = f"the compiler did not answer within {failure.seconds:g} s"
        except WorkerCrashedError as failure:
            raise CompilerCrashError(f"the compiler crashed ({failure.status})") from None
        except OSError as failure:
            reason = f"the compiler's process does not start: {failure.strerror}"
        raise UndecidedError(reason)


def passed(pipeline: str, bytecode: bytes) -> mlir.Operation:
    """Return a module after running a pass pipeline; called in a worker."""
    # All runs share the context of the thread, since creating a context takes longer than the passes.
    from iree.compiler import ir  # noqa: PLC0415 - a process that only submits does not need the compiler
    from iree.compiler.passmanager import PassManager  # noqa: PLC0415

    from tuninglink.mlir import thread_context  # noqa: PLC0415

    context = thread_context()
    with context:
        try:
            module = ir.Module.parse(bytecode, context).operation
            PassManager.parse(pipeline, context).run(module)
        except (ir.MLIRError, ValueError) as failure:  # the latter for a malformed pipeline
            diagnostics = failure.error_diagnostics if isinstance(failure, ir.MLIRError) else []
            messages = [diagnostic.message for diagnostic in diagnostics] or [str(failure)]
            raise UndecidedError(f"the compiler reports: {'; '.join(messages)}") from None
    return module


SHARED_PASS_MANAGER: Final[IsolatedPassManager] = IsolatedPassManager(
    Pool(1, import_module, ("iree.compiler.passmanager",))
)
"""The pass manager shared by all code in this process; its worker starts on the first run."""


_INSERT_CONSTRAINTS = "builtin.module(func.func(iree-codegen-insert-smt-constraints))"
_STRIP_LOCATIONS = "builtin.module(strip-debuginfo)"


@dataclass(frozen=True)
class FixedSize:
    """The size of a dimension, and the compiler's assertion about it, if it was removed from the constraints op."""

    size: int
    message: str = ""


@dataclass(frozen=True)
class UnsizedConstraints:
    """A module with a constraints op on dimensions of size 0, as bytecode without locations, and their sizes if static."""

    module: bytes
    dimensions: tuple[FixedSize | None, ...]


def insert_constraints(module: bytes, pipeline: str) -> list[UnsizedConstraints]:
    """Return the constraints on the root op of a module in a pipeline, in a worker."""
    result: list[UnsizedConstraints] = []
    constrained = passed(_INSERT_CONSTRAINTS, module)  # keeps its operations alive
    for operation in constraints_in(constrained):
        if str(operation.attributes["pipeline"]) != pipeline:
            continue
        # Separate the op from its sizes, in place, and erase the assertions about them.
        block = operation.regions[0].blocks[0]
        dimensions: list[FixedSize | None] = []
        for argument, operand in zip(block.arguments, operation.operands, strict=True):
            size = constant_size(operand)
            if size is None:
                dimensions.append(None)
                continue
            # The compiler's assertion about the size, if it states nothing else about the argument.
            message = ""
            first = [op.operation for op in islice(block.operations, 3)]
            if [op.name for op in first] == ["smt.int.constant", "smt.eq", names.CONSTRAINT_ASSERT]:
                constant, equal, assertion = first
                is_size = (
                    integer_value(constant.attributes["value"]) == size
                    and list(equal.operands) == [argument, constant.result]
                    and list(assertion.operands) == [equal.result, argument]
                    and len(list(constant.result.uses)) == len(list(equal.result.uses)) == 1
                )
                message = _string(assertion.attributes["msg"]) if is_size else ""
            for check in reversed(first if message else []):
                check.erase()
            dimensions.append(FixedSize(size, message))
        with operation.context, mlir.Location.unknown():
            sizeless = mlir.Module.create().operation
            with mlir.InsertionPoint(sizeless.regions[0].blocks[0]):
                index = mlir.IndexType.get()
                value: mlir.Attribute = mlir.IntegerAttr.get(index, 0)
                attributes = {"value": value}
                zero = mlir.Operation.create(
                    "arith.constant", results=[index], attributes=attributes
                )
                copy = operation.clone().operation
            for position in range(len(dimensions)):
                copy.operands[position] = zero.result
            PassManager.parse(_STRIP_LOCATIONS).run(sizeless)
        result.append(UnsizedConstraints(to_bytecode(sizeless), tuple(dimensions)))
    return result


def constraints_in(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the constraints ops, without visiting their bodies, which contain most of the ops."""
    constraints: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name != names.CONSTRAINTS:
            return None
        constraints.append(operation)
        return mlir.WalkResult.SKIP

    visit(module, visitor)
    return constraints


def constant_size(value: mlir.Value[mlir.Type]) -> int | None:
    """Return the value of a size if it is a constant."""
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        return None
    return integer_value(owner.operation.attributes["value"])


Sizes = tuple[int, ...]

_LARGEST_SPECIAL: Final = 128
"""The largest special size. The constraints treat products with few rows or columns specially, and sizes up to the
number of threads in a subgroup; see `canTargetIntrinsic`.
"""

_MOST_ANSWERS: Final = 256
"""The maximum number of cached answers. All sizes that are not special share one."""


@dataclass(eq=False, repr=False)
class FamilyConstraints:
    """The compiler's constraints, in one pipeline, on workloads that differ only in sizes."""

    _answers: dict[tuple[int | None, ...], _Answer] = field(default_factory=dict, init=False)

    def of(self, sizes: Sizes) -> Sequence[UnsizedConstraints] | None:
        """Return the constraints on a workload with these sizes, None if the compiler must run to determine them."""
        answer = self._answers.get(_special(sizes))
        if answer is None or not answer.is_shared or not answer.changed(sizes) <= answer.free:
            return None
        return [_resized(constraint, sizes) for constraint in answer.constraints]

    def add(self, sizes: Sizes, constraints: Sequence[UnsizedConstraints]) -> None:
        """Add an answer of the compiler about a workload with these sizes, and compare it with the first one."""
        key = _special(sizes)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) == _MOST_ANSWERS:
                self._answers.clear()
            # Whether the dimensions of all constraints ops are loops with these sizes.
            is_shared = all(
                len(each.dimensions) == len(sizes)
                and all(
                    dimension is not None
                    and dimension.size == size
                    and (not dimension.message or dimension.message.endswith(f" {size}"))
                    for dimension, size in zip(each.dimensions, sizes, strict=True)
                )
                for each in constraints
            )
            self._answers[key] = _Answer(sizes, tuple(constraints), is_shared)
        elif answer.is_shared:
            resized = [_resized(constraint, sizes) for constraint in answer.constraints]
            answer.is_shared = resized == list(constraints)
            if answer.is_shared:
                answer.free |= answer.changed(sizes)
            else:
                answer.constraints = ()


@dataclass
class _Answer:
    """The compiler's first answer, and the loops whose sizes it is known not to depend on."""

    sizes: Sizes
    constraints: tuple[UnsizedConstraints, ...]
    is_shared: bool
    free: set[int] = field(default_factory=set)

    def changed(self, sizes: Sizes) -> set[int]:
        pairs = zip(self.sizes, sizes, strict=True)
        return {loop for loop, (first, size) in enumerate(pairs) if first != size}


def _special(sizes: Sizes) -> tuple[int | None, ...]:
    return tuple(size if size <= _LARGEST_SPECIAL else None for size in sizes)


def _resized(constraint: UnsizedConstraints, sizes: Sizes) -> UnsizedConstraints:
    """Return the same constraints for other sizes; messages about sizes end with the new sizes."""
    dimensions: list[FixedSize] = []
    for dimension, size in zip(constraint.dimensions, sizes, strict=True):
        assert dimension is not None
        start = dimension.message.removesuffix(str(dimension.size))
        dimensions.append(FixedSize(size, f"{start}{size}" if start else ""))
    return replace(constraint, dimensions=tuple(dimensions))


# --- The conversion of the compiler's constraints, `iree_codegen.smt.constraints`, to constraint sets, op by op

_DIMENSION: Final = "dim_{}'"
"""The unknown for a dimension of unknown size."""

PROVIDER = "the compiler"
"""The provider of the sets that this module reads."""


def read_constraints(
    operation: mlir.Operation,
    template: KnobTemplate,
    problem: Problem,
    dimensions: Sequence[FixedSize | None] | None = None,
) -> ConstraintSet:
    """Return the constraint set for an `iree_codegen.smt.constraints`.

    Every assertion of the compiler becomes one of the set, with its message. Placeholders are filled when a violation
    is reported. By default the sizes of the dimensions are those in the operands of the op; an unknown one, None,
    becomes an auxiliary unknown.
    """
    pipeline = str(operation.attributes["pipeline"])
    if dimensions is None:
        sizes = map(constant_size, operation.operands)
        dimensions = [None if size is None else FixedSize(size) for size in sizes]
    builder = ConstraintSetBuilder()
    require = partial(
        builder.require, provenance=f"{PROVIDER}'s constraints of {pipeline}", grade=Grade.COMPILER
    )
    values: dict[Value, Expression] = {}
    knobs: dict[str, Expression] = {}
    new_names = knob_names(operation)
    options = {slot.name: tuple(map(str, slot.options)) for slot in option_slots(template.entries)}

    def renamed(word: re.Match[str]) -> str:
        return new_names.get(word[0]) or _OF_SIDES.sub(
            lambda match: f"{_ENTRIES[match[1] + match[3]]}[{match[2]}]", word[0]
        )

    # The sizes of the dimensions.
    arguments = operation.regions[0].blocks[0].arguments
    for index, (argument, dimension) in enumerate(zip(arguments, dimensions, strict=True)):
        if dimension is None:
            values[argument] = builder.auxiliary(_DIMENSION.format(index))
            continue
        value = values[argument] = number(dimension.size)
        if dimension.message:
            require(value == dimension.size, dimension.message, value)
    # The body.
    for each in body(operation):
        kind = each.name
        operands = [values[operand] for operand in each.operands]
        if kind == names.CONSTRAINT_ASSERT:
            require(operands[0], _WORD.sub(renamed, _string(each.attributes["msg"])), *operands[1:])
            continue
        if kind == names.CONSTRAINT_KNOB:
            name = _string(each.attributes["name"])
            name = new_names.get(name, name)
            if name not in knobs:
                choices = options.get(name)
                knob: Knob = IntegerKnob(name) if choices is None else OneOfKnob(name, choices)
                knobs[name] = builder.knob(knob, Grade.COMPILER)
            value = knobs[name]
        elif kind == "smt.declare_fun":
            prefix = each.attributes.get("namePrefix")
            name = _string(prefix) if prefix is not None else "unknown"
            value = builder.auxiliary(f"{name}'")
        elif kind in _COMPUTATIONS:
            value = _COMPUTATIONS[kind](each, operands)
        else:
            raise UndecidedError(f"the compiler's constraints use '{kind}'")
        values[each.result] = value
    return builder.build(problem, pipeline, PROVIDER)


def knob_template(operation: mlir.Operation) -> KnobTemplate:
    """Return the template of the configurations of a constraints op."""
    entries = template_slot(operation.attributes["knobs"], knob_names(operation))
    assert isinstance(entries, DictionarySlot)
    return KnobTemplate(operation.attributes["pipeline"], entries)


_CONTAINERS: Final = frozenset(
    {PIPELINE_OPTIONS, names.DECOMPOSITION_CONFIG, names.LOWERING_CONFIG}
)


def knob_names(operation: mlir.Operation) -> dict[str, str]:
    """Return the names of the knobs of a constraints op, by the names that the compiler gives them."""
    # A knob is named for its place in a configuration: `wg_0` is `workgroup[0]`, and `sg_m_cnt` is `subgroup_basis[0]`.
    result: dict[str, str] = {}

    def visit(attribute: mlir.Attribute, path: str) -> None:
        if isinstance(attribute, (iree_codegen.IntKnobAttr, iree_codegen.OneOfKnobAttr)):
            # The counts of a basis precede the loops that they are for.
            result.setdefault(attribute.name, path.replace("_basis[0]", "_basis"))
        elif isinstance(attribute, mlir.ArrayAttr):
            for position, element in enumerate(attribute):
                visit(element, f"{path}[{position}]")
        else:
            for name, entry in (dictionary_of(attribute) or {}).items():
                prefix = f"{path}." if path else ""
                visit(entry, path if name in _CONTAINERS else f"{prefix}{name}")

    visit(operation.attributes["knobs"], "")
    if f"{WORKGROUP_SIZE}[1]" in result.values():
        return result
    # A workgroup of one dimension has a knob for all its threads.
    flat = {f"{WORKGROUP_SIZE}[0]": WORKGROUP_SIZE}
    return {former: flat.get(place, place) for former, place in result.items()}


def _string(attribute: mlir.Attribute) -> str:
    assert isinstance(attribute, mlir.StringAttr)
    return attribute.value


def _look_up(operation: mlir.Operation, operands: Sequence[Any]) -> Expression:
    keys, values = operation.attributes["keys"], operation.attributes["values"]
    assert isinstance(keys, mlir.DenseI64ArrayAttr)
    assert isinstance(values, mlir.DenseI64ArrayAttr)
    pairs = [(key, number(value)) for key, value in zip(keys, values, strict=True)]
    # The compiler's own export takes the last value for an index that is not a key.
    result = pairs[-1][1]
    for key, value in reversed(pairs[:-1]):
        result = select(operands[0] == key, value, result)
    return result


_WORD: Final = re.compile(r"\b[A-Za-z]\w*\b")
_OF_SIDES: Final = re.compile(r"(wg|sg|red)_([a-z])(|(?<=sg_.)_cnt)$")
_ENTRIES: Final = {
    "wg": WORKGROUP,
    "sg": SUBGROUP,
    "sg_cnt": SUBGROUP_BASIS,
    "red": REDUCTION_LEVEL,
}
"""The entries of a configuration, by the parts of the compiler's names before and after the side of a product."""

_COMPARISONS: Final = (operator.lt, operator.le, operator.gt, operator.ge)
"""The comparisons, in the order of the dialect's predicates."""

_COMPUTATIONS: Final[Mapping[str, Callable[[mlir.Operation, Sequence[Any]], Any]]] = {
    "smt.int.constant": lambda op, _: number(integer_value(op.attributes["value"])),
    "smt.constant": lambda op, _: number(mlir.BoolAttr(op.attributes["value"]).value),
    "smt.int.cmp": lambda op, operands: _COMPARISONS[integer_value(op.attributes["pred"])](
        *operands
    ),
    names.CONSTRAINT_LOOKUP: _look_up,
    "smt.int.add": lambda _, operands: reduce(operator.add, operands),
    "smt.int.mul": lambda _, operands: reduce(operator.mul, operands),
    "smt.int.sub": lambda _, operands: operands[0] - operands[1],
    "smt.int.div": lambda _, operands: operands[0] / operands[1],
    "smt.int.mod": lambda _, operands: operands[0] % operands[1],
    "smt.int.abs": lambda _, operands: select(operands[0] >= 0, operands[0], -operands[0]),
    "smt.ite": lambda _, operands: select(*operands),
    "smt.eq": lambda _, operands: (
        all_of(*(a == b for a, b in pairwise(operands)))
        if operands[2:]
        else operands[0] == operands[1]
    ),
    "smt.distinct": lambda _, operands: all_of(*(a != b for a, b in combinations(operands, 2))),
    "smt.and": lambda _, operands: all_of(*operands),
    "smt.or": lambda _, operands: any_of(*operands),
    "smt.not": lambda _, operands: negation(operands[0]),
    "smt.implies": lambda _, operands: any_of(negation(operands[0]), operands[1]),
    "smt.xor": lambda _, operands: operands[0] != operands[1],
}


# --- The compiler's own constraints, as a provider -----------------------------------------------

_MOST_SHARED = 64
"""The maximum number of cached constraints ops; ops of the same kind and types have one for each pipeline."""

_SET = 0
"""The number of the set with the root op whose constraints are requested; other ops in the function are not marked."""


@dataclass(frozen=True)
class _UnsizedSpace:
    """The constraints that the compiler writes for all sizes of an op."""

    operation: mlir.Operation
    module: mlir.Operation
    template: KnobTemplate
    constraints: ConstraintSet
    names: Mapping[str, str]


@dataclass(eq=False, repr=False)
class CompilerSpace(Space):
    """The space of a constraints op for some sizes of its dimensions, None for a dynamic one."""

    is_sufficient = False
    provider = PROVIDER

    _shared: _UnsizedSpace
    _dimensions: Sequence[FixedSize | None]
    _problem: Problem

    @cached_property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        shared = self._shared
        return read_constraints(shared.operation, shared.template, self._problem, self._dimensions)

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Return whether the constraints accept an assignment, without instantiating them for the sizes."""
        sizes = {
            _DIMENSION.format(index): each.size
            for index, each in enumerate(self._dimensions)
            if each is not None
        }
        return self._shared.constraints.check(assignment, limits, sizes)

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        return self._shared.template.read(configuration)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        try:
            values = {former: assignment[name] for former, name in self._shared.names.items()}
            return iree_codegen.materialize_compilation_info(self._shared.operation, values)
        except (ValueError, RuntimeError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


@dataclass(eq=False, repr=False)
class CompilerProvider(Provider):
    """The provider that queries the compiler for its constraints, in a worker process."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset({TILE_AND_FUSE, VECTOR_DISTRIBUTE})

    _passes: IsolatedPassManager = SHARED_PASS_MANAGER
    _unsized: dict[bytes, _UnsizedSpace] = field(default_factory=dict, init=False)
    _families: dict[tuple[Hashable, str], FamilyConstraints] = field(
        default_factory=dict, init=False
    )

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the compiler's spaces in a pipeline; there may be several, as for convolutions."""
        context, problem = workload.root.context, workload.problem
        spaces: list[Space] = []
        # The constraints ops for a workload; the compiler runs once for most sizes.
        sizes, key = workload.static_sizes, (workload.family, pipeline)
        answer: Sequence[UnsizedConstraints] | None = None
        if workload.family is not None and sizes is not None:
            if key not in self._families and len(self._families) == _MOST_SHARED:
                self._families.clear()
            family = self._families.setdefault(key, FamilyConstraints())
            answer = family.of(sizes)
            if answer is None:
                answer = self._ask(workload, pipeline)
                family.add(sizes, answer)
        for unsized in self._ask(workload, pipeline) if answer is None else answer:
            # The constraints of the only constraints op in the module, for all sizes.
            shared = self._unsized.get(unsized.module)
            if shared is None or shared.operation.context != context:
                if len(self._unsized) == _MOST_SHARED:
                    self._unsized.clear()
                module = mlir.Module.parse(unsized.module, context).operation
                (operation,) = constraints_in(module)
                template = knob_template(operation)
                unknown = [None] * len(operation.operands)
                constraints = read_constraints(operation, template, Problem(problem.kind), unknown)
                shared = self._unsized[unsized.module] = _UnsizedSpace(
                    operation, module, template, constraints, knob_names(operation)
                )
            spaces.append(CompilerSpace(shared, unsized.dimensions, problem))
        return spaces

    def _ask(self, workload: Workload, pipeline: str) -> list[UnsizedConstraints]:
        known_crashes = self._passes.known_crashes
        # A crash restarts a process. The compiler crashes on all contractions with batch dimensions.
        problem = workload.problem
        is_batched = problem.kind is OpKind.CONTRACTION and bool(problem.loops(Role.BATCH))
        batched = "batched contraction" if is_batched else None
        try:
            if batched in known_crashes:
                raise CompilerCrashError(known_crashes[batched])
            module = to_bytecode(_isolated(workload).operation)
            return self._passes.call(insert_constraints, module, pipeline)
        except UndecidedError as failure:
            asked = f"'{workload.root.name}'"
            place = place_of(workload.root.location)
            if batched is not None and isinstance(failure, CompilerCrashError):
                # The message is the same for later queries.
                known_crashes[batched] = failure.reason
                asked = f"a {batched}"
            elif place:
                asked += f" at {place}"
            reason = f"{failure.reason} when asked for the constraints on {asked}"
            raise UndecidedError(reason) from None


def _isolated(workload: Workload) -> mlir.Module:
    """Return a module with a copy of the function in which only this root op is marked as a root op."""
    context = workload.root.context
    with mlir.Location.unknown(context):
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            function = workload.function.operation.clone().operation
    if workload.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = workload.target
    originals: list[mlir.Operation] = []
    operations: list[mlir.Operation] = []
    visit(workload.function, originals.append)
    visit(function, operations.append)
    for operation in operations:
        if names.ROOT_OP in operation.attributes and operation.name != names.CONSTRAINTS:
            del operation.attributes[names.ROOT_OP]
    operations[originals.index(workload.root)].attributes[names.ROOT_OP] = (
        iree_codegen.RootOpAttr.get(_SET, ctx=context)
    )
    for each in [result for result in operations if result.name == names.CONSTRAINTS]:
        each.erase()
    return module
