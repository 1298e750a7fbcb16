"""Running the whole program with and without a spec, which decides what stays in the spec."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.decision import decide
from tuninglink.tuning.devices.timing import CompiledProgram
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.results.task_result import ModelComparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tuninglink.tuning.candidates.compilation import CandidateCompiler
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.programs.dispatches import DispatchedProgram
    from tuninglink.tuning.results.task_result import TaskResult

    Entry = TypeVar("Entry")

_COMPILE_SECONDS: Final = 1800.0
"""How long a whole program may compile."""

_ROUNDS: Final = 25
"""Rounds that are run at a time."""

_MOST_ROUNDS: Final = 1000
_MOST_SECONDS: Final = 20.0
"""When a comparison ends whose interval is still wide."""

_NARROW: Final = 0.02
"""The width of an interval that more rounds need not make narrower."""


class ModelRunError(Exception):
    """The program cannot be compared; says why not."""


@dataclass
class ModelRuns:
    """Compares a program with specs and without.

    Attributes:
        program: the program.
        compiler: compiles it.
        device: runs it.
        seed: fixes inputs and orders.
    """

    program: DispatchedProgram
    compiler: CandidateCompiler
    device: Device
    seed: int
    _default: CompiledProgram | None = None

    def compare(self, spec: str) -> ModelComparison:
        """Returns how fast the program is without a spec and with it, interleaved, as exactly as a few seconds tell.

        Raises:
            ModelRunError: it cannot be compiled or run.
        """
        if self._default is None:
            self._default = self._compiled("")
        pair = [self._default, self._compiled(spec)]
        samples: list[tuple[float, float]] = []
        end = time.monotonic() + _MOST_SECONDS
        while True:
            rounds = self.device.program_rounds(pair, _ROUNDS, self.seed + len(samples))
            if isinstance(rounds, Failure):
                raise ModelRunError(rounds.message)
            samples += [(each[0], each[1]) for each in rounds.samples]
            decision = decide([samples], 0.0, self.seed)
            is_narrow = decision.speedup.high - decision.speedup.low <= _NARROW
            if is_narrow or len(samples) >= _MOST_ROUNDS or time.monotonic() > end:
                break
        return ModelComparison(
            decision.default_us / 1000, decision.tuned_us / 1000, decision.speedup
        )

    def _compiled(self, spec: str) -> CompiledProgram:
        model = self.program.model
        if model is None:
            raise ModelRunError("it has no function that takes static tensors and nothing else")
        compiled = self.compiler.submit_program(
            self.program.content, spec, _COMPILE_SECONDS
        ).result()
        if isinstance(compiled, Failure):
            raise ModelRunError(compiled.message)
        return CompiledProgram(compiled.image, model.name, model.inputs)


@dataclass(frozen=True)
class ModelVerdict:
    """What the whole program says about a spec.

    Attributes:
        kept: the entries that stay.
        comparison: how the program fares with them; None if it was not run, or none stays.
        reason: why there is no comparison.
    """

    kept: tuple[TaskResult, ...]
    comparison: ModelComparison | None = None
    reason: str = ""


def judge_entries(
    won: Sequence[TaskResult], runs: ModelRuns, write: Callable[[Sequence[TaskResult]], str]
) -> ModelVerdict:
    """Leaves out entries that make the whole program slower, although their dispatch is faster.

    Args:
        won: what has an entry.
        runs: runs the program.
        write: writes the spec with some of the entries.
    """
    known: dict[str, ModelComparison] = {}

    def compare(entries: Sequence[TaskResult]) -> ModelComparison:
        spec = write(entries)
        if spec not in known:
            known[spec] = runs.compare(spec)
        return known[spec]

    try:
        kept = harmless(won, compare)
        comparison = compare(kept) if kept else None
    except ModelRunError as failure:
        return ModelVerdict(tuple(won), reason=str(failure))
    reason = "" if kept else "no entry makes the program faster"
    return ModelVerdict(tuple(kept), comparison, reason)


def harmless(
    entries: Sequence[Entry], compare: Callable[[Sequence[Entry]], ModelComparison]
) -> list[Entry]:
    """Returns the entries without those that make the program slower, found by bisection.

    Args:
        entries: all entries.
        compare: runs the program with some of them, and without any.
    """
    if not entries or compare(entries).speedup.high >= 1.0:
        return list(entries)
    if len(entries) == 1:
        return []
    middle = len(entries) // 2
    halves = [harmless(each, compare) for each in (entries[:middle], entries[middle:])]
    kept = [*halves[0], *halves[1]]
    if all(halves) and compare(kept).speedup.high < 1.0:
        # Each half is fine alone: what is slow is both together.
        return max(halves, key=lambda each: compare(each).speedup.median)
    return kept
