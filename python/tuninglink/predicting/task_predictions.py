"""Predictions for the tasks of a tuning run, which the compiler's processes make while it works."""

from __future__ import annotations

from concurrent.futures import wait
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING

from tuninglink.predicting.model import model_for
from tuninglink.predicting.predictions import predict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from tuninglink.predicting.predictions import Prediction
    from tuninglink.programs import TuningTask
    from tuninglink.tuning.candidates import CandidateCompiler


class TaskPredictions:
    """Predictions for tasks, as far as they are made.

    Args:
        compiler: its processes make them, between compilations.
        flags: compiler flags, which its processes have set.
    """

    def __init__(self, compiler: CandidateCompiler, flags: Sequence[str]) -> None:
        self._compiler, self._flags = compiler, tuple(flags)
        self._jobs: dict[str, Future[Prediction]] = {}

    def begin(self, tasks: Iterable[TuningTask]) -> None:
        """Begin to make predictions for those tasks for whose targets there is a model."""
        for task in tasks:
            if model_for(task.target) is not None and not task.is_dynamic:
                self._jobs[task.key] = self._compiler.call(predict, task.source, self._flags)

    def end(self, seconds: float) -> None:
        """Wait for the predictions for some seconds, and make no others."""
        wait(self._jobs.values(), min(TIMEOUT_MAX, max(0.0, seconds)))
        for job in self._jobs.values():
            job.cancel()

    def prediction(self, task: TuningTask) -> Prediction | None:
        """Return the prediction for a task if it is made, and replaces the compiler's choice; None otherwise."""
        job = self._jobs.get(task.key)
        return None if job is None else _useful(job)

    def provenance(self, task: TuningTask, prediction: Prediction) -> Mapping[str, object]:
        """Return the provenance of the entry for a task with a prediction."""
        model = model_for(task.target)
        return prediction.provenance(model.key if model else "", model)

    @property
    def are_useful(self) -> bool:
        """Whether one of those that are made replaces the compiler's choice."""
        return any(_useful(job) is not None for job in self._jobs.values())


def _useful(job: Future[Prediction]) -> Prediction | None:
    if not job.done() or job.cancelled() or job.exception() is not None:
        return None
    return job.result() if job.result().attributes else None
