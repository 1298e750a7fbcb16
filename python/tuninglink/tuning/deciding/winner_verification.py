"""Verification of winners: a spec must reproduce the measured binary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.results.failures import Failure

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.compilation import CandidateCompiler, Compiled
    from tuninglink.tuning.candidates.preparation import TunableTask
    from tuninglink.tuning.programs.benchmark import Benchmark


@dataclass(frozen=True)
class WinnerVerification:
    """Compiles a task with specs for its winners, and compares the binaries with the measured ones.

    Attributes:
        prepared: the task.
        compiler: compiles it.
        seconds: the time limit of a compilation.
    """

    prepared: TunableTask
    compiler: CandidateCompiler
    seconds: float
    _begun: dict[str, Future[Compiled | Failure]] = field(default_factory=dict)

    def begin(self, winner: Candidate) -> Future[Compiled | Failure]:
        """Start to compile the task with the spec for a winner, without provenance."""
        job = self._begun.get(winner.key)
        if job is None:
            spec, source = self.prepared.spec(winner, {}), self.prepared.task.source
            job = self.compiler.submit_program(source, spec, self.seconds)
            self._begun[winner.key] = job
        return job

    def finish(self, winner: Candidate, measured: Benchmark) -> None:
        """Wait for the compilation of a winner, and compare the binaries.

        Raises:
            TuninglinkError: the binaries differ, which is a bug in the tuner.
        """
        compiled = self.begin(winner).result()
        if isinstance(compiled, Failure):
            why = compiled.message
        elif compiled.image == measured.image:
            return
        else:
            why = "the binaries differ"
        message = f"the spec for {self.prepared.task.name} does not give what was measured: {why}"
        raise TuninglinkError(error(message, notes=[note(str(winner))]))
