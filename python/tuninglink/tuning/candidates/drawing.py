"""Draws of candidates in separate processes: the process that feeds the devices does not wait for the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Self

from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.tuning.candidates.candidate_spaces import CandidateSpaces
from tuninglink.tuning.candidates.compilation import prepare_worker
from tuninglink.tuning.candidates.preparation import PreparedTask, tunable_parts, with_sizes
from tuninglink.tuning.candidates.templates import configure
from tuninglink.workers import Pool, do_nothing, processor_count

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.spaces.selection import SpaceSelection
    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.programs.dispatches import TuningTask

_MOST_TASKS: Final = 64
"""The number of tasks whose spaces a process keeps."""

_PROCESSES: Final = 4
_PROCESSORS: Final = 4
"""The number of processes, and of processors for one of them. A draw takes up to two seconds, and many tasks may begin at
once, as those with wrong defaults do."""


class DrawingProcesses:
    """Processes that draw candidates of tasks.

    All draws of a task are made by the same process, which continues the last one, so that a run can be repeated.

    Args:
        flags: compiler flags, including process-wide ones.
        first: the number of candidates and the seed of the first draw of a task.
    """

    def __init__(self, flags: Sequence[str], first: tuple[int, int]) -> None:
        self._first = first
        self._flags = tuple(flags)
        count = max(1, min(_PROCESSES, processor_count() // _PROCESSORS))
        self._pools = [Pool(1, prepare_worker, (self._flags,)) for _ in range(count)]
        self._opened = ExitStack()
        for pool in self._pools:
            self._opened.callback(pool.close)
            pool.submit(do_nothing)  # starts the process
        self._pool_of: dict[_Question, Pool] = {}
        self._begun: dict[tuple[_Question, int, int], Future[list[Candidate]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()  # all of them, even if one fails

    def prepare(
        self,
        task: TuningTask,
        limits: Mapping[str, int],
        selection: SpaceSelection,
        prepare_here: Callable[[], PreparedTask],
    ) -> PreparedTask:
        """Prepare a task in the calling process, whose candidates are drawn here; the first draw begins at once."""
        begin = partial(self.begin, task, limits, selection)
        begin(*self._first)
        prepared = prepare_here()
        prepared.spaces.sampler.begin_elsewhere = begin
        prepared.spaces.begin_sample(*self._first)
        return prepared

    def begin(
        self,
        task: TuningTask,
        limits: Mapping[str, int],
        selection: SpaceSelection,
        n: int,
        seed: int,
    ) -> Future[list[Candidate]]:
        """Begin to draw candidates of a task unless begun; see `preparation.prepare` and `CandidateSpaces.sample`."""
        question = _Question(task, self._flags, tuple(limits.items()), selection)
        next_pool = self._pools[len(self._pool_of) % len(self._pools)]
        pool = self._pool_of.setdefault(question, next_pool)
        place = question, n, seed
        if place not in self._begun:
            self._begun[place] = pool.submit(draw, *place)
        return self._begun[place]


@dataclass(frozen=True)
class _Question:
    """A request to draw candidates of a problem."""

    task: TuningTask
    flags: tuple[str, ...]
    limits: tuple[tuple[str, int], ...]
    selection: SpaceSelection


def draw(question: _Question, n: int, seed: int) -> list[Candidate]:
    """Draw candidates of a task in this process, whose command line holds the flags."""
    return _spaces(question).sample(n, seed)


@lru_cache(_MOST_TASKS)
def _spaces(question: _Question) -> CandidateSpaces:
    dispatch, default = tunable_parts(configure(question.task.source, question.flags))
    return CandidateSpaces(
        with_sizes(dispatch, question.task),
        default,
        (),
        ProviderRegistry(lambda _: None),  # the other process warns
        dict(question.limits),
        selection=question.selection,
    )
