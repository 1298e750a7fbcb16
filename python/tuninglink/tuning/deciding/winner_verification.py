"""Verification of winners: a spec has to give the binary that was measured."""

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
    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.programs.benchmark import Benchmark


@dataclass(frozen=True)
class WinnerVerification:
    """Compiles a task with specs for its winners, and compares the binaries with those that were measured.

    Attributes:
        prepared: the task.
        compiler: compiles it.
        seconds: how long that may take.
    """

    prepared: TunableTask
    compiler: CandidateCompiler
    seconds: float
    _begun: dict[str, Future[Compiled | Failure]] = field(default_factory=dict)

    def begin(self, winner: Candidate) -> Future[Compiled | Failure]:
        """Begin to compile the task with the spec for a winner, its provenance aside."""
        job = self._begun.get(winner.key)
        if job is None:
            spec, source = self.prepared.spec(winner, {}), self.prepared.task.source
            job = self.compiler.submit_program(source, spec, self.seconds)
            self._begun[winner.key] = job
        return job

    def finish(self, winner: Candidate, measured: Benchmark) -> None:
        """Wait for the compilation of a winner, and compare.

        Raises:
            TuninglinkError: the binaries differ, which is a mistake of the tuner.
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
