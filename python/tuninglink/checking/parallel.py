"""Parallel judging of the entries of a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Final

from tuninglink.checking.judging import Judge, Judgement, JudgingOptions
from tuninglink.mlir.diagnostics import Diagnostic, thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.payloads import spec_of
from tuninglink.specs.structure import Anatomy, Entry
from tuninglink.workers import Pool

_FEW: Final = 100
"""About as many entries as are judged in the time that a process takes to start."""

_SLICE: Final = 20
"""The number of entries that are handed to a process at once."""

_SECONDS: Final = 3600.0
"""The time limit of a slice; its queries have their own limits."""


@dataclass(frozen=True)
class Asked:
    """An entry to judge.

    Attributes:
        position: its position in the spec.
        entry: the entry.
        is_asked: whether to judge its configuration, too.
    """

    position: int
    entry: Entry
    is_asked: bool


class ParallelJudge:
    """Judges entries in this process and, for many entries, in further processes.

    This process begins with the first entries and the others with the last, until they meet. The judgements equal those
    of a single process; only their order differs.

    Args:
        judge: judges in this process.
        options: the options of `judge`.
        processes: the maximum number of busy processes, including this one.
        warn: receives warnings about unusable plug-ins.
        finished: receives the findings about an entry, in any order and from any thread.
    """

    def __init__(
        self,
        judge: Judge,
        options: JudgingOptions,
        processes: int,
        warn: Callable[[Diagnostic], None],
        finished: Callable[[Asked, Judgement], None],
    ) -> None:
        self._judge = judge
        self._judging_options = options
        self._others = processes - 1
        self._warn = warn
        self._finished = finished

    @contextmanager
    def begin(self, entries: Sequence[Asked]) -> Iterator[Iterator[Judgement]]:
        """Start the other processes, and yield the judgements in order.

        This process takes part while the caller iterates.
        """
        if len(entries) <= _FEW or not self._others:
            yield self._here(entries)
            return
        slices = [entries[start : start + _SLICE] for start in range(0, len(entries), _SLICE)]
        with Pool(self._others, import_module, (__name__,)) as pool:
            # All at once: the other processes need not wait while this one does something else.
            futures = [self._submit(pool, part) for part in reversed(slices)]
            yield self._together(slices, reversed(futures))

    def _together(
        self, slices: Iterable[Sequence[Asked]], futures: Iterable[Future[_Outcome]]
    ) -> Iterator[Judgement]:
        for entries, future in zip(slices, futures, strict=True):
            yield from self._there(entries, future)

    def _submit(self, pool: Pool, entries: Sequence[Asked]) -> Future[_Outcome]:
        future = pool.submit(_judge, _Slice.of(entries), self._judging_options, seconds=_SECONDS)
        future.add_done_callback(partial(self._note, entries))
        return future

    def _note(self, entries: Sequence[Asked], future: Future[_Outcome]) -> None:
        if not future.cancelled() and future.exception() is None:
            for each, judgement in zip(entries, future.result().judgements, strict=True):
                self._finished(each, judgement)

    def _here(self, entries: Sequence[Asked]) -> Iterator[Judgement]:
        for start in range(0, len(entries), _SLICE):
            part = entries[start : start + _SLICE]
            judgements = self._judge.judge_all([(entry.entry, entry.is_asked) for entry in part])
            for entry, judgement in zip(part, judgements, strict=True):
                self._finished(entry, judgement)
            yield from judgements

    def _there(self, entries: Sequence[Asked], future: Future[_Outcome]) -> Iterator[Judgement]:
        """Yield the judgements of another process; a slice that is not begun, or failed, is judged in this process."""
        if future.cancel() or future.exception() is not None:
            yield from self._here(entries)
            return
        for warning in future.result().warnings:
            self._warn(warning)
        yield from future.result().judgements


@dataclass(frozen=True)
class _Slice:
    """A slice of the entries of a spec, for another process.

    Attributes:
        spec: a spec with these entries, as bytecode.
        entries: the matcher and the action of each, and whether to judge its configuration.
    """

    spec: bytes
    entries: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(cls, entries: Sequence[Asked]) -> _Slice:
        asked = ((entry.entry.matcher, entry.entry.action, entry.is_asked) for entry in entries)
        return cls(spec_of(*(asked_entry.entry for asked_entry in entries)), tuple(asked))


@dataclass(frozen=True)
class _Outcome:
    """The judgements and warnings of another process about a slice."""

    judgements: tuple[Judgement, ...]
    warnings: tuple[Diagnostic, ...]


def _judge(part: _Slice, options: JudgingOptions) -> _Outcome:
    """Judge a slice in another process."""
    anatomy = Anatomy(parse_module(part.spec, "<slice>", thread_context()))
    judge = _judge_for(options)
    judgements = judge.judge_all(
        [
            (Entry(matcher, action, None, anatomy), is_asked)
            for matcher, action, is_asked in part.entries
        ]
    )
    warnings = tuple(_said)
    _said.clear()
    return _Outcome(tuple(judgements), warnings)


@lru_cache(maxsize=1)
def _judge_for(options: JudgingOptions) -> Judge:
    """Return the judge of a worker process; results are cached."""
    return Judge(options, _said.append)


_said: Final[list[Diagnostic]] = []
"""The warnings since the last slice."""
