"""The observer of a compilation that explains the effects of specs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.compiler.prepared_dispatches import (
    DispatchSources,
    PreparedDispatches,
    functions,
)
from tuninglink.explaining.catalog import Catalog, LibraryAdvice, TargetCatalog
from tuninglink.explaining.compilers_choices import (
    CompilersChoices,
    configuration_of,
    rewritten_op,
    same_op,
)
from tuninglink.explaining.dispatch_report import (
    DispatchReport,
    KnobRow,
    OperationReport,
    Status,
    status_without_match,
)
from tuninglink.explaining.explanation import Explanation
from tuninglink.iree.dispatch_calls import count_calls
from tuninglink.iree.dispatch_cost import DispatchCost, dispatch_costs
from tuninglink.iree.dispatches import Dispatch, find_dispatches, find_root_ops
from tuninglink.iree.op_words import describe, layout_hint
from tuninglink.matching.op_info import OpInfo
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import place_of
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.spaces.knob_reference import meaning

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler.applying import SpecChoice
    from tuninglink.compiler.compile_options import Configure
    from tuninglink.compiler.tracing import Applied
    from tuninglink.iree.given_sizes import GivenSizes


class Explainer:
    """An observer of a compilation that determines the effects of specs on each dispatch.

    Args:
        choice: the specs of the compilation, traced exactly.
        program: the name of the program.
        step: called with the name of each step as it begins.
        is_detailed: whether to compute the details that only a page shows; see `with_details`.
        sizes: the sizes of dynamic dimensions for costs.
    """

    def __init__(
        self,
        choice: SpecChoice,
        program: str,
        step: Callable[[str], None] | None = None,
        *,
        is_detailed: bool = False,
        sizes: Sequence[GivenSizes] = (),
    ) -> None:
        self._sizes = sizes
        self._catalog = Catalog(choice)
        self._advice = LibraryAdvice({spec.source for spec in choice.given})
        self._program = program
        self._step = step or (lambda _: None)
        self._sources: DispatchSources | None = None
        self._calls: Counter[str] = Counter()
        self._costs: dict[str, DispatchCost] = {}
        self._is_detailed = is_detailed
        self._plain: list[tuple[bytes, bytes, Counter[str]]] = []
        self._dispatches: list[DispatchReport] = []
        self._earlier = (0, 0)

    def before_specs(self, program: mlir.Operation) -> None:
        """See `Observer`."""
        self._earlier = len(self._dispatches), len(self._plain)
        self._sources = DispatchSources(program)
        self._calls = count_calls(program)
        self._costs = dispatch_costs(program, self._sizes)

    def forget(self) -> None:
        """See `Observer`."""
        dispatches, plain = self._earlier
        del self._dispatches[dispatches:], self._plain[plain:]

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,
    ) -> None:
        """See `Observer`."""
        assert self._sources is not None
        part = _Part(self._catalog, program, applied, self._sources, self._advice)
        self._step("explaining the dispatches")
        for report in part.reports(configure):
            # A program that consists only of dispatches has no calls.
            calls = self._calls[report.name] if self._calls else 1
            self._dispatches.append(replace(report, calls=calls, cost=self._costs[report.name]))
        if self._is_detailed and self._sources.names():
            self._configure_plain(self._sources, configure)
        self._sources = None

    def _configure_plain(self, sources: DispatchSources, configure: Configure) -> None:
        """Store all dispatches before configuration and with the compiler's own configurations."""
        self._step("configuring without specs")
        before = to_bytecode(sources.program(sources.names()).operation)
        after: list[bytes] = []
        if not configure(before, lambda program: after.append(to_bytecode(program))):
            self._plain.append((before, after[0], self._calls))

    def explanation(self, notes: Iterable[str] = ()) -> Explanation:
        """Return the explanation after the compilation.

        Args:
            notes: further notes on the whole program.
        """
        dispatches = tuple(self._dispatches)
        all_notes = [*notes, *self._catalog.notes()]
        if not dispatches:
            all_notes.append("there is no dispatch to configure")
        explanation = Explanation(
            self._program,
            self._catalog.reports(dispatches),
            dispatches,
            tuple(all_notes),
            self._advice.coverage(),
        )
        self._step("writing specs to start from")
        for before, after, calls in self._plain:
            # Loading Z3 takes time, and a table does not need it.
            from tuninglink.explaining.details import with_details  # noqa: PLC0415

            explanation = with_details(explanation, before, after, calls)
        return explanation


@dataclass(frozen=True)
class _DispatchOp:
    """An op of a dispatch, with its outcome.

    Attributes:
        operation: the op, in the configured program.
        seen: the op as matchers saw it; None if unknown.
        applied: the entry that configured it, None for the compiler.
    """

    operation: mlir.Operation
    seen: mlir.Operation | None
    applied: Applied | None

    @property
    def is_rewritten(self) -> bool:
        """Whether the backend has replaced the op that matchers saw."""
        if self.seen is None or self.seen == self.operation:
            return False
        before, after = OpInfo(self.seen), OpInfo(self.operation)
        return before.name != after.name or before.operands != after.operands


class _Part:
    """A program, or a part of one, at `executable-configurations`."""

    def __init__(
        self,
        catalog: Catalog,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        sources: DispatchSources,
        advice: LibraryAdvice,
    ) -> None:
        self._catalog = catalog
        self._advice = advice
        self._sources = sources
        self._dispatches = find_dispatches(program) if sources.names() else []
        self._applied: dict[str, list[tuple[mlir.Operation, Applied]]] = {}
        for operation, application in applied:
            self._applied.setdefault(application.dispatch, []).append((operation, application))
        names = {dispatch.name for dispatch in self._dispatches}
        self._prepared = PreparedDispatches(program, sources, names)

    def reports(self, configure: Configure) -> Iterator[DispatchReport]:
        """Yield the outcome for each dispatch."""
        choices = CompilersChoices(self._sources, self._tuned(), configure)
        return (self._report(dispatch, choices) for dispatch in self._dispatches)

    def _tuned(self) -> list[str]:
        """Return the dispatches that a spec configured, by name."""
        return [
            dispatch.name
            for dispatch in self._dispatches
            if self._status_of(dispatch.name) is Status.TUNED
        ]

    def _status_of(self, dispatch: str) -> Status:
        applied = self._applied.get(dispatch, [])
        if not applied:
            return Status.UNMATCHED
        if not all(application.ignored for _, application in applied):
            return Status.TUNED
        is_kept = any(application.is_kept for _, application in applied)
        return Status.KEPT if is_kept else Status.NO_EFFECT

    def _report(self, dispatch: Dispatch, choices: CompilersChoices) -> DispatchReport:
        ops = self._find(dispatch)
        status = self._status_of(dispatch.name) if ops else Status.NOT_TUNABLE
        catalog = self._catalog.of(dispatch.target)
        operations = []
        for position, op in enumerate(ops):
            report = self._operation(op, catalog, status)
            hint = layout_hint(OpInfo(op.seen or op.operation), dispatch.target)
            report = replace(report, hint=hint)
            if status is Status.TUNED:
                report = choices.add_to(report, dispatch.name, position, len(ops))
            operations.append(report)
        if status is Status.UNMATCHED:
            status = status_without_match(operations)
            for op in ops:
                if op.seen is not None:
                    self._advice.add(dispatch.name, dispatch.target, OpInfo(op.seen))
        return DispatchReport(
            name=dispatch.name,
            functions=functions(dispatch.module),
            target=str(dispatch.target or ""),
            status=status,
            operations=tuple(operations),
            peaks=dispatch.target.peaks if dispatch.target else None,
        )

    def _find(self, dispatch: Dispatch) -> list[_DispatchOp]:
        """Return the ops that specs configured, or else those that the compiler configured."""
        prepared = self._prepared.module(dispatch.name, dispatch.module)
        applied = self._applied.get(dispatch.name)
        roots = [op for group in find_root_ops(dispatch.module) for op in group.roots]
        if applied:
            return [
                _DispatchOp((roots or [op])[0], rewritten_op(application, prepared), application)
                if op.name == names.FUNCTION
                else _DispatchOp(op, same_op(op, dispatch.module, prepared), application)
                for op, application in applied
            ]
        if prepared is None or prepared == dispatch.module:
            return [_DispatchOp(op, None if prepared is None else op, None) for op in roots]
        seen = [op for group in find_root_ops(prepared) for op in group.roots]
        if len(seen) != len(roots):
            return [_DispatchOp(op, None, None) for op in roots]
        return [_DispatchOp(op, one, None) for op, one in zip(roots, seen, strict=True)]

    def _operation(
        self, dispatch_op: _DispatchOp, catalog: TargetCatalog, status: Status
    ) -> OperationReport:
        op = OpInfo(dispatch_op.seen or dispatch_op.operation)
        configuration = configuration_of(dispatch_op.operation)
        # The op and its configuration.
        report = OperationReport(
            words=describe(op),
            name=op.name,
            place=place_of(dispatch_op.operation.location),
            configuration=configuration.text,
            kind=op.kind.value,
            types=tuple(operand.text for operand in op.operands),
            maps=tuple(str(map_) for map_ in op.maps),
            knobs=tuple(
                KnobRow(place, value, meaning=meaning(place))
                for place, value in configuration.knobs.items()
            ),
        )
        unsure = []
        if dispatch_op.seen is None:
            unsure.append(self._prepared.unsure or "what matchers saw of it is not known")
        # The entry that configured it, or those that nearly match it.
        if dispatch_op.applied:
            match = catalog.match(dispatch_op.applied)
            report = replace(report, match=match, rewriting=dispatch_op.applied.rewriting)
            if status is Status.TUNED and not report.rewriting:
                # Without a spec that configures something, explaining needs no solver.
                from tuninglink.explaining.validity import why_invalid  # noqa: PLC0415

                report = replace(report, invalid=why_invalid(dispatch_op.operation))
            if match.entry is None:
                unsure.append("which entry of the spec configured it")
            elif dispatch_op.seen is not None:
                report = replace(report, shadowed=catalog.shadowed(op, match.entry))
        elif dispatch_op.seen is not None and status is Status.UNMATCHED:
            nearest = catalog.nearest(op)
            report = replace(report, nearest=nearest)
            if dispatch_op.is_rewritten and any(not miss.differences for miss in nearest):
                # The compiler replaces the op, and drops the configuration of the old one.
                unsure.append(
                    "whether an entry configured it: the backend rewrote it afterwards, "
                    "which loses what specs give"
                )
            if not nearest and not catalog.is_readable:
                unsure.append("whether an entry nearly matches: some cannot be read")
        return replace(report, cannot_tell=tuple(unsure))
