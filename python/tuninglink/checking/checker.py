"""Checking specs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.checking.answers import Answer
from tuninglink.checking.compiling import Job, compile_all
from tuninglink.checking.configurations import ConfigurationChecks
from tuninglink.checking.models import matches_in
from tuninglink.checking.progress import Progress
from tuninglink.checking.reachability import Reachability
from tuninglink.checking.report import EntryReport, SpecReport
from tuninglink.compiler.executable_targets import executable_target
from tuninglink.errors import CompileError, SpecError
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.payloads import Payload, PayloadError, payload_for, spec_of
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict
from tuninglink.spaces.registry import ProviderRegistry
from tuninglink.specs.bindings import covers, entry_binding
from tuninglink.specs.loading import load_spec
from tuninglink.specs.verification import check_configurations, verify_spec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from tuninglink.checking.compiling import CompileLimits, Model
    from tuninglink.checking.models import ModelMatch
    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.solver.answers import Limits
    from tuninglink.specs.model import Spec
    from tuninglink.specs.structure import Entry


class Checker:
    """Checks specs, one after the other.

    Args:
        target: what configurations are checked for; None leaves them out.
        compile_limits: how programs are compiled for the target; None leaves that out.
        limits: how long a question to the solver may take.
        upgrade: whether specs for older compilers are upgraded first; else they are refused.
        model: a model on whose ops configurations are checked as well.

    Attributes:
        progress: what is known of the spec that is being checked.
    """

    def __init__(
        self,
        *,
        target: Target | None = None,
        compile_limits: CompileLimits | None = None,
        limits: Limits = DEFAULT_LIMITS,
        upgrade: bool = True,
        model: Model | None = None,
    ) -> None:
        assert target is not None or compile_limits is None
        self._target = target
        self._compile_limits = compile_limits
        self._limits = limits
        self._upgrade = upgrade
        self._model = model
        self.progress = Progress()

    def check(
        self,
        source: str | os.PathLike[str] | bytes,
        name: str | None = None,
        targets: Sequence[str] = (),
    ) -> SpecReport:
        """Checks a spec.

        Args:
            source: the path of a spec, or its content; text or bytecode either way.
            name: what to call it.
            targets: names of the targets that it is bound to; none for any target.
        """
        said: list[Diagnostic] = []
        sink = DiagnosticSink(said.append)
        try:
            spec = load_spec(
                source, name=name, upgrade=self._upgrade, diagnostics=sink, targets=targets
            )
        except SpecError as failure:
            source_name = name or (str(source) if not isinstance(source, bytes) else "<memory>")
            return SpecReport(source_name, structure=(*said, *failure.diagnostics))
        verify_spec(spec.module, sink)
        if sink.error_count:
            return SpecReport(spec.source, spec.kind.value, tuple(said))
        check_configurations(spec, sink, self._described_target(spec))
        entries = self._entries(spec, sink)
        report = SpecReport(spec.source, spec.kind.value, tuple(said), tuple(entries))
        self.progress.end()
        return report

    def _described_target(self, spec: Spec) -> Target | None:
        """Returns the target with what the compiler says of it."""
        if self._target is None:
            return None
        attribute = executable_target(compile_flags(self._target), spec.module.context)
        return replace(self._target, intrinsics=Target.from_attribute(attribute).intrinsics)

    def _entries(self, spec: Spec, diagnostics: DiagnosticSink) -> list[EntryReport]:
        in_model = self._check_model(spec, diagnostics)
        self.progress.begin(spec.source, spec.kind.value, len(spec.entries))
        judge = self._judge(spec, diagnostics)
        asked: list[Payload | PayloadError | None] = []
        for position, entry in enumerate(spec.entries):
            payload = self._payload(entry)
            asked.append(payload if self._is_for_target(entry) else None)
            self.progress.add(_unfinished(position, entry, payload, judge(asked[-1])))
        compiled = self._compile(asked)
        reachability = Reachability(spec)
        return [
            replace(
                known,
                compiles=compiled[position],
                is_reachable=reachability.answer(position),
                overlap=reachability.overlap(position),
                in_model=None
                if in_model is None
                else tuple(in_model.get((known.entry.matcher, known.entry.action), ())),
            )
            for position, known in enumerate(self.progress.entries)
        ]

    def _is_for_target(self, entry: Entry) -> bool:
        return self._target is None or covers(entry_binding(entry), self._target)

    def _payload(self, entry: Entry) -> Payload | PayloadError:
        try:
            return payload_for(entry, self._target)
        except PayloadError as failure:
            return failure

    def _judge(
        self, spec: Spec, diagnostics: DiagnosticSink
    ) -> Callable[[Payload | PayloadError | None], Answer | None]:
        """Returns what tells whether the configuration of an entry is valid, for its payload."""
        if self._target is None:
            return lambda _: None
        target = executable_target(compile_flags(self._target), spec.module.context)
        checks = ConfigurationChecks(ProviderRegistry(diagnostics.emit), self._limits)
        return lambda payload: (
            checks.check(payload, target)
            if isinstance(payload, Payload)
            else _without_payload(payload)
        )

    def _check_model(
        self, spec: Spec, diagnostics: DiagnosticSink
    ) -> Mapping[tuple[str, str], Sequence[ModelMatch]] | None:
        """Returns what each entry configures in the model, None without a model that compiles."""
        if self._model is None:
            return None
        checks = ConfigurationChecks(ProviderRegistry(diagnostics.emit), self._limits)
        try:
            return matches_in(self._model, spec, checks, diagnostics.emit)
        except CompileError as failure:
            for each in failure.diagnostics:
                diagnostics.emit(each)
            return None

    def _compile(
        self, payloads: Sequence[Payload | PayloadError | None]
    ) -> Sequence[Answer | None]:
        if self._compile_limits is None or self._target is None:
            return [None] * len(payloads)
        flags = tuple(compile_flags(self._target))
        made = [each for each in payloads if isinstance(each, Payload)]
        jobs = [Job(each.text, spec_of(each.entry), flags) for each in made]
        answers = iter(compile_all(jobs, self._compile_limits))
        return [
            next(answers) if isinstance(each, Payload) else _without_payload(each)
            for each in payloads
        ]


def _unfinished(
    position: int, entry: Entry, payload: Payload | PayloadError, valid: Answer | None
) -> EntryReport:
    """Returns what is known of an entry before the spec is looked at as a whole."""
    return EntryReport(
        position=position,
        entry=entry,
        payload=payload.shapes if isinstance(payload, Payload) else "",
        matches=_matches(payload),
        is_valid=valid,
        compiles=None,
        is_reachable=Answer(Verdict.NOT_DECIDED, "the check was interrupted before"),
        overlap=None,
    )


def _matches(payload: Payload | PayloadError) -> Answer:
    """Tells whether an entry matches its payload: the interpreter has matched it when it was made."""
    if isinstance(payload, Payload):
        return Answer(Verdict.PROVEN)
    return Answer(payload.verdict, payload.reason)


def _without_payload(payload: PayloadError | None) -> Answer | None:
    """Returns the answer for an entry without a program; none for one that is bound to other targets."""
    if payload is None:
        return None
    return Answer(Verdict.NOT_DECIDED, "no program could be made for it")
