"""The compiler's own constraints, as a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, place_of
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import visit
from tuninglink.solver.answers import AssignmentError, UndecidedError
from tuninglink.spaces.isolated_passes import SHARED_PASS_MANAGER, CompilerCrashError
from tuninglink.spaces.providers import Provider, Space
from tuninglink.spaces.smt import PROVIDER, knob_template, read_constraints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.isolated_passes import IsolatedPassManager
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.workload import Workload

_INSERT_CONSTRAINTS = "builtin.module(func.func(iree-codegen-insert-smt-constraints))"
_PADDING = frozenset({"padding", "padding_conv"})
_SET = 0
"""The set of root ops whose constraints are asked for; the others in the function are not marked."""


class CompilerSpace(Space):
    """The space of a constraints op.

    Args:
        operation: an `iree_codegen.smt.constraints`.
        module: what keeps the operation alive.
        problem: what the configuration is for.
    """

    is_sufficient: ClassVar[bool] = False

    def __init__(self, operation: mlir.Operation, module: mlir.Module, problem: Problem) -> None:
        self.operation = operation
        self._module = module
        self._template = knob_template(operation)
        self.constraints: ConstraintSet = read_constraints(operation, self._template, problem)

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Matches a configuration with the one of the constraints op, in which knobs stand for values."""
        return self._template.read(configuration)

    def overlooks(self, configuration: Configuration) -> bool:
        """Tells whether a configuration has padding, which the constraints do not know but accept."""
        return not _PADDING.isdisjoint(configuration.entries)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the configuration as the compiler makes it of the values."""
        try:
            return iree_codegen.materialize_compilation_info(self.operation, dict(assignment))
        except (ValueError, RuntimeError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


class CompilerProvider(Provider):
    """Asks the compiler for its constraints, in a worker process.

    Args:
        passes: runs the compiler's pass.
    """

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(
        {"#iree_gpu.pipeline<TileAndFuse>", "#iree_gpu.pipeline<VectorDistribute>"}
    )

    def __init__(self, passes: IsolatedPassManager = SHARED_PASS_MANAGER) -> None:
        self._passes = passes

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Returns the compiler's spaces in a pipeline; there may be several, as for convolutions."""
        module = self._with_constraints(workload)
        return [
            CompilerSpace(each, module, workload.problem)
            for each in _constraints_in(module)
            if str(each.attributes["pipeline"]) == pipeline
        ]

    def _with_constraints(self, workload: Workload) -> mlir.Module:
        known_crashes = self._passes.known_crashes
        # A crash costs the start of a process. It is known to happen on all contractions with batch dimensions.
        batched = _batched(workload.problem)
        try:
            if batched in known_crashes:
                raise CompilerCrashError(known_crashes[batched])
            answer = self._passes.run(
                _INSERT_CONSTRAINTS, to_bytecode(_isolated(workload).operation)
            )
        except UndecidedError as failure:
            asked = f"'{workload.root.name}'"
            place = place_of(workload.root.location)
            if batched is not None and isinstance(failure, CompilerCrashError):
                # In the same words whoever asked first.
                known_crashes[batched] = failure.reason
                asked = f"a {batched}"
            elif place:
                asked += f" at {place}"
            reason = f"{failure.reason} when asked for the constraints on {asked}"
            raise UndecidedError(reason) from None
        return mlir.Module.parse(answer, workload.root.context)


def _batched(problem: Problem) -> str | None:
    """Returns what to call a contraction with batch dimensions, None for any other problem."""
    is_batched = any(each.role is Role.BATCH for each in problem.dimensions)
    return "batched contraction" if is_batched and problem.kind is OpKind.CONTRACTION else None


def _constraints_in(module: mlir.Module) -> list[mlir.Operation]:
    """Returns the constraints ops, without a look at what is inside of them: they hold most of the ops."""
    found: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name != names.CONSTRAINTS:
            return None
        found.append(operation)
        return mlir.WalkResult.SKIP

    visit(module.operation, visitor)
    return found


def _isolated(workload: Workload) -> mlir.Module:
    """Returns a module with a copy of the function, in which only the root op is marked as one."""
    context = workload.root.context
    with mlir.Location.unknown(context):
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            function = workload.function.operation.clone().operation
    if workload.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = workload.target
    position = _operations(workload.function).index(workload.root)
    operations = _operations(function)
    for each in operations:
        if names.ROOT_OP in each.attributes and each.name != names.CONSTRAINTS:
            del each.attributes[names.ROOT_OP]
    operations[position].attributes[names.ROOT_OP] = iree_codegen.RootOpAttr.get(_SET, ctx=context)
    for each in [found for found in operations if found.name == names.CONSTRAINTS]:
        each.erase()
    return module


def _operations(function: mlir.Operation) -> list[mlir.Operation]:
    found: list[mlir.Operation] = []
    visit(function, found.append)
    return found
