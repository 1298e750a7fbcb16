"""The compiler's own constraints, as a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, place_of
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import collect, visit
from tuninglink.solver.answers import AssignmentError, UndecidedError
from tuninglink.spaces.configuration import read_knobs
from tuninglink.spaces.isolated_passes import SHARED_PASS_MANAGER, CompilerCrashError
from tuninglink.spaces.providers import Provider, Space
from tuninglink.spaces.smt import PROVIDER, knob_template, read_constraints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.isolated_passes import IsolatedPassManager
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.providers import Dispatch

_INSERT_CONSTRAINTS = "builtin.module(func.func(iree-codegen-insert-smt-constraints))"
_SET = 0
"""The set of root ops whose constraints are asked for; the others in the function are not marked."""


class CompilerSpace(Space):
    """The space of a constraints op.

    Args:
        operation: an `iree_codegen.smt.constraints`.
        module: what keeps the operation alive.
        problem: what the configuration is for.
    """

    def __init__(self, operation: mlir.Operation, module: mlir.Module, problem: Problem) -> None:
        self.operation = operation
        self._module = module
        self.constraints: ConstraintSet = read_constraints(operation, problem)

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Matches a configuration with the one of the constraints op, in which knobs stand for values."""
        return read_knobs(knob_template(self.operation), configuration)

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

    def spaces(self, dispatch: Dispatch, pipeline: str) -> Sequence[Space]:
        """Returns the compiler's spaces in a pipeline; there may be several, as for convolutions."""
        module = self._with_constraints(dispatch)
        return [
            CompilerSpace(each, module, dispatch.problem)
            for each in collect(module.operation, names.CONSTRAINTS)
            if str(each.attributes["pipeline"]) == pipeline
        ]

    def _with_constraints(self, dispatch: Dispatch) -> mlir.Module:
        known_crashes = self._passes.known_crashes
        # A crash costs the start of a process. It is known to happen on all contractions with batch dimensions.
        batched = _batched(dispatch.problem)
        if batched in known_crashes:
            known = known_crashes[batched]
            raise UndecidedError(f"{known} when asked for the constraints on another {batched}")
        try:
            answer = self._passes.run(
                _INSERT_CONSTRAINTS, to_bytecode(_isolated(dispatch).operation)
            )
        except UndecidedError as failure:
            if batched is not None and isinstance(failure, CompilerCrashError):
                known_crashes[batched] = failure.reason
            place = place_of(dispatch.root.location)
            where = f" at {place}" if place else ""
            question = f"asked for the constraints on '{dispatch.root.name}'{where}"
            raise UndecidedError(f"{failure.reason} when {question}") from None
        return mlir.Module.parse(answer, dispatch.root.context)


def _batched(problem: Problem) -> str | None:
    """Returns what to call a contraction with batch dimensions, None for any other problem."""
    is_batched = any(each.role is Role.BATCH for each in problem.dimensions)
    return "batched contraction" if is_batched and problem.kind is OpKind.CONTRACTION else None


def _isolated(dispatch: Dispatch) -> mlir.Module:
    """Returns a module with a copy of the function, in which only the root op is marked as one."""
    context = dispatch.root.context
    with mlir.Location.unknown(context):
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            function = dispatch.function.operation.clone().operation
    if dispatch.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = dispatch.target
    position = _operations(dispatch.function).index(dispatch.root)
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
