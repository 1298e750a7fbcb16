"""Checking specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.checking.answers import Answer
from tuninglink.checking.compiling import Job, compile_all
from tuninglink.checking.configurations import ConfigurationChecks
from tuninglink.checking.reachability import Reachability
from tuninglink.checking.report import EntryReport, SpecReport
from tuninglink.compiler.executable_targets import executable_target
from tuninglink.errors import SpecError
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.payloads import Payload, PayloadError, payload_for, spec_of
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict
from tuninglink.spaces.registry import ProviderRegistry
from tuninglink.specs.loading import load_spec
from tuninglink.specs.verification import verify_spec

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tuninglink.checking.compiling import CompileLimits
    from tuninglink.iree.targets import Target
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
    """

    def __init__(
        self,
        *,
        target: Target | None = None,
        compile_limits: CompileLimits | None = None,
        limits: Limits = DEFAULT_LIMITS,
        upgrade: bool = True,
    ) -> None:
        assert target is not None or compile_limits is None
        self._target = target
        self._compile_limits = compile_limits
        self._limits = limits
        self._upgrade = upgrade

    def check(self, source: str | os.PathLike[str] | bytes, name: str | None = None) -> SpecReport:
        """Checks a spec.

        Args:
            source: the path of a spec, or its content; text or bytecode either way.
            name: what to call it.
        """
        said: list[Diagnostic] = []
        sink = DiagnosticSink(said.append)
        try:
            spec = load_spec(source, name=name, upgrade=self._upgrade, diagnostics=sink)
        except SpecError as failure:
            source_name = name or (str(source) if not isinstance(source, bytes) else "<memory>")
            return SpecReport(source_name, structure=(*said, *failure.diagnostics))
        verify_spec(spec.module, sink)
        if sink.error_count:
            return SpecReport(spec.source, spec.kind.value, tuple(said))
        entries = self._entries(spec, sink)
        return SpecReport(spec.source, spec.kind.value, tuple(said), tuple(entries))

    def _entries(self, spec: Spec, diagnostics: DiagnosticSink) -> list[EntryReport]:
        payloads = [self._payload(each) for each in spec.entries]
        valid = self._check_configurations(spec, payloads, diagnostics)
        compiled = self._compile(payloads)
        reachability = Reachability(spec)
        return [
            EntryReport(
                position=position,
                entry=entry,
                payload=payload.shapes if isinstance(payload, Payload) else "",
                matches=_matches(payload),
                is_valid=valid[position],
                compiles=compiled[position],
                is_reachable=reachability.answer(position),
                overlap=reachability.overlap(position),
            )
            for position, (entry, payload) in enumerate(zip(spec.entries, payloads, strict=True))
        ]

    def _payload(self, entry: Entry) -> Payload | PayloadError:
        try:
            return payload_for(entry, self._target)
        except PayloadError as failure:
            return failure

    def _check_configurations(
        self,
        spec: Spec,
        payloads: Sequence[Payload | PayloadError],
        diagnostics: DiagnosticSink,
    ) -> Sequence[Answer | None]:
        if self._target is None:
            return [None] * len(payloads)
        target = executable_target(compile_flags(self._target), spec.module.context)
        checks = ConfigurationChecks(target, ProviderRegistry(diagnostics.emit), self._limits)
        return [
            checks.check(each) if isinstance(each, Payload) else _without_payload()
            for each in payloads
        ]

    def _compile(self, payloads: Sequence[Payload | PayloadError]) -> Sequence[Answer | None]:
        if self._compile_limits is None or self._target is None:
            return [None] * len(payloads)
        flags = tuple(compile_flags(self._target))
        made = [each for each in payloads if isinstance(each, Payload)]
        jobs = [Job(each.text, spec_of(each.entry), flags) for each in made]
        answers = iter(compile_all(jobs, self._compile_limits))
        return [
            next(answers) if isinstance(each, Payload) else _without_payload() for each in payloads
        ]


def _matches(payload: Payload | PayloadError) -> Answer:
    """Tells whether an entry matches its payload: the interpreter has matched it when it was made."""
    if isinstance(payload, Payload):
        return Answer(Verdict.PROVEN)
    return Answer(payload.verdict, payload.reason)


def _without_payload() -> Answer:
    return Answer(Verdict.NOT_DECIDED, "no program could be made for it")
