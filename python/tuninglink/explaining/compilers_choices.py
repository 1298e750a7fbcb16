"""Configurations in a configured program, and the compiler's own choices without specs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.compiler.prepared_dispatches import DispatchSources, executable_name
from tuninglink.explaining.dispatch_report import ConfigurationText, KnobRow, OperationReport
from tuninglink.iree.dispatches import ancestors, find_dispatches, find_root_ops
from tuninglink.matching.op_info import OpInfo
from tuninglink.mlir import names
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.spaces.configuration import read_configuration
from tuninglink.spaces.knob_reference import meaning
from tuninglink.spaces.knob_values import knob_values
from tuninglink.specs.entry_settings import unrolled_loops

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler.compile_options import Configure
    from tuninglink.compiler.tracing import Applied


@dataclass(frozen=True)
class OpConfiguration:
    """A configuration, as text and knob by knob."""

    text: ConfigurationText
    knobs: Mapping[str, str]


def configuration_of(operation: mlir.Operation) -> OpConfiguration:
    """Return the configuration of an op and of its function."""
    function = next(
        ancestor
        for ancestor in (operation, *ancestors(operation))
        if ancestor.name in (names.FUNCTION, names.UTIL_FUNCTION, names.MODULE)
    )
    parts = (
        (function, names.TRANSLATION_INFO),
        (operation, names.LOWERING_CONFIG),
        (operation, names.DECOMPOSITION_CONFIG),
    )
    text = ConfigurationText(*(str(holder.attributes.get(name) or "") for holder, name in parts))
    configuration = read_configuration(operation, function)
    return OpConfiguration(text, knob_values(configuration) if configuration else {})


class CompilersChoices:
    """The compiler's choices for dispatches that a spec configured, obtained by compiling them without the spec.

    Args:
        sources: the program before specs.
        dispatches: the names of the dispatches.
        configure: runs the compiler.
    """

    def __init__(
        self, sources: DispatchSources, dispatches: Iterable[str], configure: Configure
    ) -> None:
        self._sources = sources
        self._configure = configure
        self._choices: dict[str, list[OpConfiguration]] = {}
        self._failures: dict[str, str] = {}
        executables = [*dict.fromkeys(map(executable_name, dispatches))]
        if executables and self._ask(executables):
            # One of them fails, and the compilation of the others with it.
            for executable in executables:
                failure = self._ask([executable])
                if failure:
                    self._failures[executable] = failure

    def _ask(self, executables: list[str]) -> str:
        """Record the compiler's choices; return its error, or an empty string."""
        program = to_bytecode(self._sources.program(executables).operation)
        errors = self._configure(program, self._note)
        return errors[0].message if errors else ""

    def _note(self, program: mlir.Operation) -> None:
        for dispatch in find_dispatches(program):
            roots = [op for group in find_root_ops(dispatch.module) for op in group.roots]
            self._choices[dispatch.name] = [configuration_of(root) for root in roots]

    def add_to(
        self, report: OperationReport, dispatch: str, position: int, count: int
    ) -> OperationReport:
        """Return a report of a configured op with the compiler's own choice.

        Args:
            report: the report.
            dispatch: the name of the dispatch.
            position: its position among the configured ops of the dispatch.
            count: the number of these.
        """
        choices = self._choices.get(dispatch, [])
        if len(choices) == count:
            choice = choices[position]
            if report.rewriting:  # The loops of the new ops are others.
                return replace(report, compilers_choice=choice.text)
            set_knobs = {knob.name for knob in report.knobs}
            added = [
                KnobRow(name, "", value, meaning(name))
                for name, value in choice.knobs.items()
                if name not in set_knobs
            ]
            beside = [
                replace(knob, compilers_value=choice.knobs.get(knob.name, ""))
                for knob in report.knobs
            ]
            knobs = (*beside, *added)
            return replace(report, compilers_choice=choice.text, knobs=knobs)
        failure = self._failures.get(executable_name(dispatch))
        reason = "what the compiler would have chosen"
        if failure:
            reason += f": without the spec it fails: {failure}"
        return replace(report, cannot_tell=(*report.cannot_tell, reason))


def same_op(
    operation: mlir.Operation, configured: mlir.Operation, prepared: mlir.Operation | None
) -> mlir.Operation | None:
    """Return an op of a configured dispatch as matchers saw it; None if unknown."""
    if prepared is None or prepared == configured:
        return None if prepared is None else operation
    place = str(operation.location)
    roots = [op for group in find_root_ops(prepared) for op in group.roots]
    same = [op for op in roots if op.name == operation.name and str(op.location) == place]
    return same[0] if len(same) == 1 else None


def rewritten_op(applied: Applied, prepared: mlir.Operation | None) -> mlir.Operation | None:
    """Return the op that an entry unrolled, as matchers saw it; None if unknown.

    Args:
        applied: the entry.
        prepared: the dispatch as matchers saw it; None if unknown.
    """
    if applied.entry is None or prepared is None:
        return None
    copies = unrolled_loops(applied.entry.anatomy.table, applied.entry.action)
    roots = [op for group in find_root_ops(prepared) for op in group.roots]
    unrolled = [op for op in roots if _has_loops(OpInfo(op).sizes, copies)]
    return unrolled[0] if len(unrolled) == 1 else None


def _has_loops(sizes: Sequence[int | None], copies: Sequence[int]) -> bool:
    """Return whether unrolled loops, given by their numbers of copies, belong to an op with these sizes."""
    return len(sizes) == len(copies) and all(
        count in (0, size) for size, count in zip(sizes, copies, strict=True)
    )
