"""Checks of configurations on the ops of a model that entries match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.checking.entry_checker import Answer
from tuninglink.compiler import Compiler, Observer, Phase, read_request
from tuninglink.errors import Diagnostic, Place
from tuninglink.iree import find_dispatches
from tuninglink.mlir import collect, names, thread_context, to_bytecode
from tuninglink.solver import Verdict
from tuninglink.spaces.model import read_workload, target_around

if TYPE_CHECKING:
    from tuninglink.checking.entry_checker import ConfigurationChecks, Model
    from tuninglink.compiler import Applied, Configure
    from tuninglink.specs import Spec


@dataclass(frozen=True)
class ModelMatch:
    """An op of a model, for the first entry that matches it."""

    dispatch: str
    problem: str
    place: Place | None
    answer: Answer


def matches_in(
    model: Model,
    spec: Spec,
    checks: ConfigurationChecks,
    report: Callable[[Diagnostic], None],
) -> Mapping[tuple[str, str], Sequence[ModelMatch]]:
    """Return the ops of a model that each entry of a spec configures, by the entry's matcher and action."""
    # The model is compiled up to the choice of configurations, with this spec alone.
    flags = (*model.flags, f"--compile-to={Phase.EXECUTABLE_CONFIGURATIONS.value}")
    options, choice, _ = read_request(flags=flags, specs=[spec])
    options = replace(options, emit_bytecode=True)
    judging = _Judging(checks)
    compiler = Compiler(options, choice, options.flags, report, observer=judging)
    compiler.compile(model.path)
    return judging.matches


@dataclass
class _Judging(Observer):
    """An observer of a compilation that judges the configurations of a spec."""

    checks: ConfigurationChecks
    matches: dict[tuple[str, str], list[ModelMatch]] = field(default_factory=dict)

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,  # noqa: ARG002 - the compiler's own choice is not needed
    ) -> None:
        modules = {dispatch.name: dispatch.module for dispatch in find_dispatches(program)}
        for operation, application in applied:
            if (entry := application.entry) is None:
                continue
            # The workload of an op in a copy of its dispatch, in a context with all dialects.
            module = modules[application.dispatch]
            context = thread_context()
            copy = mlir.Module.parse(to_bytecode(module), context).operation
            root = collect(copy)[collect(module).index(operation)]
            function = root
            while function.parent is not None and function.parent.operation != copy:
                function = function.parent.operation
            if (target := target_around(operation)) is not None:
                attribute = mlir.Attribute.parse(str(target), context)
                copy.attributes[names.EXECUTABLE_TARGET] = attribute
            workload = read_workload(root, function, copy)
            if application.ignored:
                answer = Answer(Verdict.NOT_DECIDED, application.ignored)
            else:
                answer = self.checks.check(workload)
            problem = str(workload.problem)
            match = ModelMatch(application.dispatch, problem, application.place, answer)
            self.matches.setdefault((entry.matcher, entry.action), []).append(match)
