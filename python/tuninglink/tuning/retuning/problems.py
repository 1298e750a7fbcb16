"""The problems of entries: generated programs, and the dispatches of a model that entries configure."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.specs.revision import alone
from tuninglink.tuning.candidates.preparation import NotTunableError
from tuninglink.tuning.candidates.templates import apply_specs
from tuninglink.tuning.programs.dispatches import read_program
from tuninglink.tuning.retuning.entry_task import EntryTask, ProblemSource, prepare_entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.iree.targets import Target
    from tuninglink.payloads import Payload
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.specs.spec import Spec
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, TuningTask


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
            RefusedError: the compiler refuses what the entry configures.
            CompileError: the compiler fails without the entry.
            PayloadError: no program can be made for the entry, and it configures nothing in the model.
            NotTunableError: the entry configures nothing in the program that was made for it, nor in the model.
            SpecError: the entry cannot be told from others.
        """
        single = alone(spec, position)
        in_model = self._in_model.get((id(spec), spec.anatomy.pairs[position]), [])
        result = [self._prepared(task, ProblemSource.MODEL, single) for task in in_model]
        try:
            return [self._payload_task(spec, position, single), *result]
        except (PayloadError, NotTunableError):
            if not result:
                raise
            return result

    def _payload_task(self, spec: Spec, position: int, single: Spec) -> EntryTask:
        payload = payload_for(spec.anatomy.entry(position), self.target)
        is_exact = all(size.is_demanded for size in payload.sizes)
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
        with tempfile.TemporaryDirectory(prefix="tuninglink-") as directory:
            path = Path(directory) / "payload.mlir"
            path.write_text(payload.text)
            program = read_program(str(path), self.flags)
        if not program.tasks:
            raise NotTunableError("; ".join(omission.reason for omission in program.omissions))
        return program.tasks

    def _prepared(self, task: TuningTask, source: ProblemSource, single: Spec) -> EntryTask:
        return prepare_entry(
            task, source, single, self.flags, registry=self.registry, limits=self.limits
        )
