"""The compiler's own constraints, as a provider."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.lowering_configs import TILE_AND_FUSE, VECTOR_DISTRIBUTE
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, place_of
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import visit
from tuninglink.solver.answers import AssignmentError, CheckAnswer, Limits, UndecidedError
from tuninglink.spaces.compiler_constraints import (
    SHARED_PASS_MANAGER,
    CompilerCrashError,
    FamilyConstraints,
    FixedSize,
    IsolatedPassManager,
    UnsizedConstraints,
    constraints_in,
    insert_constraints,
)
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.constraint_set import ConstraintSet
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.providers import Provider, Space
from tuninglink.spaces.smt import (
    PROVIDER,
    dimension_name,
    knob_names,
    knob_template,
    read_constraints,
)
from tuninglink.spaces.workload import Problem, Workload

_MOST_FORMS = 64
"""The maximum number of cached constraints ops; ops of the same kind and types have one for each pipeline."""

_PADDING = frozenset({"padding", "padding_conv"})
_SET = 0
"""The number of the set with the root op whose constraints are requested; other ops in the function are not marked."""


@dataclass(frozen=True)
class _Form:
    """The constraints that the compiler writes for all sizes of an op.

    Attributes:
        operation: an `iree_codegen.smt.constraints`.
        module: the module, which keeps the operation alive.
        template: the template of the configurations.
        constraints: the constraints, with dimensions as auxiliary unknowns.
    """

    operation: mlir.Operation
    module: mlir.Operation
    template: KnobTemplate
    constraints: ConstraintSet

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names of the knobs, by the compiler's."""
        return knob_names(self.operation)

    @classmethod
    def read(cls, bytecode: bytes, context: mlir.Context, kind: OpKind) -> _Form:
        """Read the only constraints op in a module."""
        module = mlir.Module.parse(bytecode, context).operation
        (operation,) = constraints_in(module)
        template = knob_template(operation)
        unknown = [None] * len(operation.operands)
        constraints = read_constraints(operation, template, Problem(kind), unknown)
        return cls(operation, module, template, constraints)


class CompilerSpace(Space):
    """The space of a constraints op.

    Args:
        form: the op, for any sizes.
        dimensions: the sizes of the dimensions, None for a dynamic one.
        problem: the problem to configure.
    """

    is_sufficient: ClassVar[bool] = False

    def __init__(
        self, form: _Form, dimensions: Sequence[FixedSize | None], problem: Problem
    ) -> None:
        self._form = form
        self._dimensions = dimensions
        self._problem = problem

    @property
    def provider(self) -> str:
        """The compiler."""
        return PROVIDER

    @property
    def operation(self) -> mlir.Operation:
        """The constraints op, without sizes."""
        return self._form.operation

    @cached_property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        """The constraints."""
        form = self._form
        return read_constraints(form.operation, form.template, self._problem, self._dimensions)

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Return whether the constraints accept an assignment, without instantiating them for the sizes."""
        sizes = {
            dimension_name(index): each.size
            for index, each in enumerate(self._dimensions)
            if each is not None
        }
        return self._form.constraints.check(assignment, limits, sizes)

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Match a configuration against the template of the constraints op."""
        return self._form.template.read(configuration)

    def overlooks(self, configuration: Configuration) -> bool:
        """Return whether a configuration has padding, which the constraints accept but do not cover."""
        return not _PADDING.isdisjoint(configuration.entries)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the configuration that the compiler creates from the values."""
        try:
            values = {former: assignment[name] for former, name in self._form.names.items()}
            return iree_codegen.materialize_compilation_info(self.operation, values)
        except (ValueError, RuntimeError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


class CompilerProvider(Provider):
    """The provider that queries the compiler for its constraints, in a worker process.

    Args:
        passes: the pass manager that runs the compiler pass.
    """

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset({TILE_AND_FUSE, VECTOR_DISTRIBUTE})

    def __init__(self, passes: IsolatedPassManager = SHARED_PASS_MANAGER) -> None:
        self._passes = passes
        self._forms: dict[bytes, _Form] = {}
        self._families: dict[tuple[Hashable, str], FamilyConstraints] = {}

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the compiler's spaces in a pipeline; there may be several, as for convolutions."""
        context = workload.root.context
        return [
            CompilerSpace(
                self._form(each.module, context, workload.problem.kind),
                each.dimensions,
                workload.problem,
            )
            for each in self._constraints(workload, pipeline)
        ]

    def _form(self, bytecode: bytes, context: mlir.Context, kind: OpKind) -> _Form:
        form = self._forms.get(bytecode)
        if form is None or form.operation.context != context:
            if len(self._forms) == _MOST_FORMS:
                self._forms.clear()
            form = self._forms[bytecode] = _Form.read(bytecode, context, kind)
        return form

    def _constraints(self, workload: Workload, pipeline: str) -> Sequence[UnsizedConstraints]:
        """Return the constraints ops for a workload; the compiler runs once for most sizes."""
        sizes = workload.static_sizes
        if workload.family is None or sizes is None:
            return self._ask(workload, pipeline)
        key = (workload.family, pipeline)
        if key not in self._families and len(self._families) == _MOST_FORMS:
            self._families.clear()
        family = self._families.setdefault(key, FamilyConstraints())
        constraints = family.of(sizes)
        if constraints is None:
            constraints = self._ask(workload, pipeline)
            family.add(sizes, constraints)
        return constraints

    def _ask(self, workload: Workload, pipeline: str) -> list[UnsizedConstraints]:
        known_crashes = self._passes.known_crashes
        # A crash restarts a process. The compiler crashes on all contractions with batch dimensions.
        batched = _batched(workload.problem)
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


def _batched(problem: Problem) -> str | None:
    """Return the description of a contraction with batch dimensions, None for any other problem."""
    is_batched = any(dimension.role is Role.BATCH for dimension in problem.dimensions)
    return "batched contraction" if is_batched and problem.kind is OpKind.CONTRACTION else None


def _isolated(workload: Workload) -> mlir.Module:
    """Return a module with a copy of the function in which only this root op is marked as a root op."""
    context = workload.root.context
    with mlir.Location.unknown(context):
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            function = workload.function.operation.clone().operation
    if workload.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = workload.target
    position = _operations(workload.function).index(workload.root)
    operations = _operations(function)
    for operation in operations:
        if names.ROOT_OP in operation.attributes and operation.name != names.CONSTRAINTS:
            del operation.attributes[names.ROOT_OP]
    operations[position].attributes[names.ROOT_OP] = iree_codegen.RootOpAttr.get(_SET, ctx=context)
    for each in [result for result in operations if result.name == names.CONSTRAINTS]:
        each.erase()
    return module


def _operations(function: mlir.Operation) -> list[mlir.Operation]:
    operations: list[mlir.Operation] = []
    visit(function, operations.append)
    return operations
