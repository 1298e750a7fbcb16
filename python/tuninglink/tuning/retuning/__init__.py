"""Retuning: comparison of specs' entries with the current compiler's choices.

This module represents the problems of entries as tasks, for generated programs and for the dispatches of a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.files import temporary_directory
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.specs.entry_settings import unrolled_loops
from tuninglink.specs.revision import Revision, alone
from tuninglink.tuning.candidates import Candidate, rewriting_candidate
from tuninglink.tuning.candidates.candidate_spaces import CandidateSpaces
from tuninglink.tuning.candidates.compilation import BenchmarkTemplate
from tuninglink.tuning.candidates.preparation import NotTunableError, TunableTask
from tuninglink.tuning.candidates.templates import apply_specs, configure
from tuninglink.tuning.programs.dispatches import DispatchedProgram, TuningTask, read_program

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.payloads import Payload
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.specs.spec import Spec


_NO_PREPROCESSING: Final = (
    *("--iree-preprocessing-pass-pipeline=", "--iree-preprocessing-pdl-spec-filename="),
    "--iree-preprocessing-transform-spec-filename=",
)
"""Flags that leave the op of a payload as matchers see it, where the user's flags change the ops of a model first."""


class RefusedError(Exception):
    """An error for an entry whose configuration the compiler rejects; the message is the reason."""


class ProblemSource(Enum):
    """The source of a problem."""

    PAYLOAD = "payload"
    MODEL = "model"


@dataclass(frozen=True)
class EntryTask(TunableTask):
    """A task configured by an entry.

    Attributes:
        source: the source of the problem.
        own: the configuration of the entry.
        single: a spec with only the entry.
        is_exact: whether the entry matches only the sizes of this problem.
    """

    source: ProblemSource
    own: Candidate
    single: Spec
    is_exact: bool = False

    def spec(self, candidate: Candidate, provenance: Mapping[str, object]) -> str:
        """See `TunableTask`."""
        revision = Revision(self.single)
        revision.configure(0, candidate.attributes)
        revision.set_provenance(0, provenance)
        return revision.finish([0]).text()

    def takes(self, candidate: Candidate) -> bool:
        """Return whether the entry can take the configuration of a candidate."""
        return Revision(self.single).configures_with(0) == set(candidate.attributes)

    def configured(self, candidate: Candidate) -> EntryTask:
        """Return the task with another configuration in the entry."""
        revision = Revision(self.single)
        revision.configure(0, candidate.attributes)
        return replace(self, own=candidate, single=revision.finish([0]))

    def around_own(self) -> EntryTask:
        """Return the task with the entry's configuration as the default, to improve on it."""
        return replace(self, spaces=self.spaces.around(self.own))


def prepare_entry(
    task: TuningTask,
    source: ProblemSource,
    single: Spec,
    flags: Sequence[str],
    *,
    registry: ProviderRegistry,
    limits: Mapping[str, int],
) -> EntryTask:
    """Determine the configuration of an entry in a task, and the other candidates.

    Args:
        task: the task.
        source: the source of the problem.
        single: a spec with only the entry.
        flags: compiler flags; process-wide flags must already be set.
        registry: the providers of spaces.
        limits: limits of the device, in addition to the target's.

    Raises:
        CompileError: the compiler fails on the dispatch without the entry.
        RefusedError: the compiler fails on the dispatch with the entry.
        NotTunableError: the entry does not configure the dispatch, or the compiler configures nothing without it.
    """
    configured = configure(task.source, flags)
    dispatch, default = configured.dispatch, configured.configuration
    if dispatch is None or default is None or default.pipeline is None:
        raise NotTunableError("the compiler gives none of its operations a configuration")
    try:
        applied = apply_specs(task.source, flags, [single]).applied
        own = configure(task.source, flags, single).configuration
    except CompileError as failure:
        raise RefusedError(failure.diagnostics[0].message) from None
    if not applied or applied[0].is_own is False:
        raise NotTunableError("the entry does not configure it")
    template = BenchmarkTemplate(configured.template, task.function, task.layout, task.sized)
    copies = unrolled_loops(single.anatomy.table, single.anatomy.pairs[0][1])
    if copies:
        spaces = CandidateSpaces(dispatch, default, [], registry, limits)
        candidate = rewriting_candidate(spaces.default, copies)
        return EntryTask(task, template, spaces, source, candidate, single)
    if own is None or own.pipeline is None:
        raise NotTunableError("the entry gives it no pipeline")
    spaces = CandidateSpaces(dispatch, default, [own], registry, limits)
    candidate = spaces.given[0] if spaces.given else spaces.default
    return EntryTask(task, template, spaces, source, candidate, single)


@dataclass(frozen=True)
class EntryProblems:
    """Finds the problems of entries.

    Attributes:
        flags: compiler flags; process-wide flags must already be set.
        target: the target.
        registry: the providers of spaces.
        limits: limits of the device, in addition to the target's.
    """

    flags: Sequence[str]
    target: Target
    registry: ProviderRegistry
    limits: Mapping[str, int]
    _in_model: dict[tuple[int, tuple[str, str]], list[TuningTask]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add_model(self, model: DispatchedProgram, specs: Sequence[Spec]) -> None:
        """Add the dispatches of a model to the problems of the entries of specs that configure them.

        Dispatches that do not compile with a spec are skipped.
        """
        for task in model.tasks:
            for spec in specs:
                try:
                    applied = apply_specs(task.source, self.flags, [spec]).applied
                except TuninglinkError:
                    continue
                for applied_entry in applied:
                    if applied_entry.entry is not None:
                        pair = applied_entry.entry.matcher, applied_entry.entry.action
                        self._in_model[id(spec), pair].append(task)

    def of(self, spec: Spec, position: int) -> list[EntryTask]:
        """Return the problems of an entry, at least one.

        Raises:
            RefusedError: the compiler refuses the entry's configuration.
            CompileError: the compiler fails without the entry.
            PayloadError: no program can be made for the entry, and it configures nothing in the model.
            NotTunableError: the entry configures nothing in the program that was made for it, nor in the model.
            SpecError: the entry cannot be distinguished from others.
        """
        single = alone(spec, position)
        in_model = self._in_model.get((id(spec), spec.anatomy.pairs[position]), [])
        result = [self._prepared(task, ProblemSource.MODEL, single) for task in in_model]
        try:
            payload = payload_for(spec.anatomy.entry(position), self.target)
            is_exact = all(size.is_demanded for size in payload.sizes)
            if result and is_exact:
                # Their ops around the root op, which the payload lacks, may decide which configuration is faster.
                return [replace(task, is_exact=True) for task in result]
            return [self._payload_task(payload, single, is_exact=is_exact), *result]
        except (PayloadError, NotTunableError):
            if not result:
                raise
            return result

    def _payload_task(self, payload: Payload, single: Spec, *, is_exact: bool) -> EntryTask:
        reasons = []
        for dispatch in self._dispatches(payload):
            try:
                task = self._prepared(dispatch, ProblemSource.PAYLOAD, single)
            except NotTunableError as failure:
                reasons.append(str(failure))
            else:
                return replace(task, is_exact=is_exact)
        raise NotTunableError(f"a program was made for it, and {'; '.join(reasons)}")

    def _dispatches(self, payload: Payload) -> Sequence[TuningTask]:
        with temporary_directory() as directory:
            path = directory / "payload.mlir"
            path.write_text(payload.text)
            program = read_program(str(path), [*self.flags, *_NO_PREPROCESSING])
        if not program.tasks:
            raise NotTunableError("; ".join(omission.reason for omission in program.omissions))
        return program.tasks

    def _prepared(self, task: TuningTask, source: ProblemSource, single: Spec) -> EntryTask:
        return prepare_entry(
            task, source, single, self.flags, registry=self.registry, limits=self.limits
        )
