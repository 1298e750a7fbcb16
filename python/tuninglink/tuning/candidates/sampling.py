"""Sampling of candidates from the spaces of a dispatch, within a time limit, and the steps from a value of a knob."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from itertools import islice, zip_longest
from math import inf, prod
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.solver.answers import AssignmentError, Limits, UndecidedError
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.configuration_answers import Miscompilations
from tuninglink.spaces.knobs import Knob, OneOfKnob
from tuninglink.spaces.providers import Space
from tuninglink.spaces.verification import broken_necessary_rules
from tuninglink.tuning.candidates import Candidate, CandidateOrigin

CHECKING: Final = Limits(seconds=5.0, solver_seconds=1.0)
"""The limits of a check of one assignment."""

MOST_ACCUMULATORS: Final = 256
"""Accumulators of one thread. A thread has 255 registers of 32 bits (CUDA C++ Programming Guide, table "Technical
Specifications per Compute Capability") or 512 (CDNA3 ISA, 3.6.4), so more than this is spilled; such candidates are
slow and take longest to compile. The fastest in the recorded tables have up to 160."""


class CandidateMaker:
    """Constructs candidates from assignments of one space.

    Args:
        space: the space.
        number: its number.
        judges: spaces of the same pipeline whose necessary rules apply as well. The compiler's own constraints accept
            configurations that do not compile. Of 1,253 of their candidates for contractions on sm_80, 152 failed to compile: the
            rules reject exactly these.
        miscompilations: configurations to leave out.
    """

    def __init__(
        self,
        space: Space,
        number: int,
        judges: Sequence[Space],
        miscompilations: Miscompilations | None = None,
    ) -> None:
        self._space = space
        self._number = number
        self._judges = judges
        self._miscompilations = miscompilations

    def __call__(self, assignment: Mapping[str, int]) -> Candidate | None:
        """Return the candidate; None if the values form an invalid or unpromising configuration."""
        # Only spaces for attention write a decomposition.
        write_decomposition = getattr(self._space, "decomposition_config", None)
        try:
            info = self._space.compilation_info(assignment)
            decomposition = write_decomposition(assignment) if write_decomposition else None
        except AssignmentError:
            return None
        if accumulators_per_thread(info) > MOST_ACCUMULATORS:
            return None
        assert isinstance(info, iree_codegen.CompilationInfoAttr)
        translation: Any = info.translation_info
        configuration = Configuration(info.lowering_config, translation, decomposition)
        if self._miscompilations is not None and self._miscompilations.reason(configuration):
            return None
        if broken_necessary_rules(self._judges, configuration, CHECKING):
            return None
        return Candidate(
            self._space.constraints.pipeline,
            dict(assignment),
            str(info),
            str(decomposition or ""),
            CandidateOrigin.SPACE,
            self._number,
        )


def written(configuration: Configuration) -> str:
    """Return a configuration as `#iree_codegen.compilation_info`, in MLIR syntax."""
    lowering, translation = configuration.lowering_config, configuration.translation_info
    assert translation is not None
    info = iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=lowering.context)
    return str(info)


def accumulators_per_thread(info: mlir.Attribute) -> int:
    """Return the number of result elements per GPU thread; 0 if the configuration does not specify it."""
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    lowering: Any = info.lowering_config
    attributes = getattr(lowering, "attributes", None)
    translation: Any = info.translation_info
    threads = prod(translation.workgroup_size or [0])
    if not isinstance(attributes, mlir.DictAttr) or "workgroup" not in attributes or not threads:
        return 0
    tiles: Any = attributes["workgroup"]
    return int(prod(tile.value for tile in tiles if tile.value) // threads)


_SECONDS: Final = 2.0
"""Time limit for one sample of all spaces of a dispatch, for which a device may wait. It is processor time, so that
busy and idle machines sample the same candidates."""

_STEPS: Final = 1000
"""Limit on the solver steps before the first assignment of a space; most need 60 to 800."""

BeginDraw = Callable[[int, int], Future[list[Candidate]]]
"""Begins a draw of a number of candidates with a seed."""

_MOST_REJECTED: Final = 64
"""The number of consecutive rejected assignments after which a space counts as empty."""


class SpaceSampler:
    """Samples the spaces of a dispatch.

    Args:
        spaces: the spaces.
        maker: returns the maker of candidates for a space, given its position.

    Attributes:
        begin_elsewhere: begins a draw in another process; None for draws in this one.
        reasons: the reasons why spaces have no candidates, by position.
    """

    def __init__(self, spaces: Sequence[Space], maker: Callable[[int], CandidateMaker]) -> None:
        self._spaces = spaces
        self._maker = maker
        self._samples: dict[tuple[int, int], _Sample] = {}
        self._drawn: dict[tuple[int, int], list[Candidate]] = {}
        self._begun: dict[tuple[int, int], Future[list[Candidate]]] = {}
        self.begin_elsewhere: BeginDraw | None = None
        self.reasons: dict[int, str] = {}

    def sample(self, n: int, seed: int) -> list[Candidate]:
        """Return candidates drawn evenly from the spaces.

        The time limit may shorten a sample, but keeps at least one candidate if there are any.

        Args:
            n: the number of candidates.
            seed: the seed of the draw, which determines it unless the time limit cuts it.
        """
        if (n, seed) not in self._drawn:
            self._drawn[n, seed] = self._from_elsewhere(n, seed) or self._draw_here(n, seed)
        return self._drawn[n, seed]

    def begin(self, n: int, seed: int) -> bool:
        """Begin a draw for a later call of `sample`: in another process if one exists, else immediately.

        Returns:
            Whether that call need not wait.
        """
        if (n, seed) not in self._drawn and (n, seed) not in self._begun:
            if self.begin_elsewhere is None:
                self.sample(n, seed)
            else:
                self._begun[n, seed] = self.begin_elsewhere(n, seed)
        return self.is_drawn(n, seed)

    def is_drawn(self, n: int, seed: int) -> bool:
        """Return whether `sample` would not wait."""
        begun = self._begun.get((n, seed))
        return (n, seed) in self._drawn or (begun is not None and begun.done())

    def _from_elsewhere(self, n: int, seed: int) -> list[Candidate]:
        """Return the candidates of a draw in another process; none if it was not begun, is still queued, or failed."""
        begun = self._begun.pop((n, seed), None)
        if begun is None or begun.cancel():
            return []
        try:
            return begun.result()
        except (Exception, CancelledError):  # noqa: BLE001 - the draw here meets the same error, or none
            return []

    def _draw_here(self, n: int, seed: int) -> list[Candidate]:
        limited = self._draw(n, seed, time.thread_time() + _SECONDS)
        return limited or self._draw(n, seed, inf)

    def _draw(self, n: int, seed: int, deadline: float) -> list[Candidate]:
        count = len(self._spaces)
        samples = [
            self._first(number, 1, seed, deadline, count - number) for number in range(count)
        ]
        filled = [number for number in range(count) if samples[number]]
        if not filled:
            return []
        share = -(-n // len(filled))
        drawn = [
            self._first(number, share, seed, deadline, len(filled) - position)
            for position, number in enumerate(filled)
        ]
        mixed = [candidate for group in zip_longest(*drawn) for candidate in group]
        unlike = {candidate.key: candidate for candidate in mixed if candidate is not None}
        return list(islice(unlike.values(), n))

    def _first(
        self, number: int, n: int, seed: int, deadline: float, spaces_left: int
    ) -> list[Candidate]:
        """Return the first candidates of a space within its share of the time."""
        sample = self._samples.get((number, seed))
        if sample is None:
            sample = _Sample(self._maker(number))
            self._samples[number, seed] = sample
        now = time.thread_time()
        end = now + max(0.0, deadline - now) / spaces_left
        if len(sample.candidates) < n and end > now and number not in self.reasons:
            try:
                constraints = self._spaces[number].constraints
                limits = Limits(seconds=inf, steps=_STEPS)
                sample.extend(n, end, lambda: constraints.draws(seed, limits))
            except UndecidedError as failure:
                self.reasons[number] = failure.reason
        return list(islice(sample.candidates.values(), n))


class _Sample:
    """The candidates drawn from one space so far, in random order.

    Args:
        make: constructs candidates from assignments.
    """

    def __init__(self, make: CandidateMaker) -> None:
        self._make = make
        self._assignments: Iterator[dict[str, int]] = iter(())
        self.candidates: dict[str, Candidate] = {}

    def extend(self, n: int, end: float, draw: Callable[[], Iterator[dict[str, int]]]) -> None:
        """Draw until there are `n` candidates, no more assignments, or too many rejected ones in a row.

        Args:
            n: the requested number of candidates.
            end: the time limit, in seconds of `time.thread_time()`.
            draw: restarts the draw of assignments if the last one ended at a limit.
        """
        if not self._take(n, end):
            self._assignments = draw()
            self._take(n, end)

    def _take(self, n: int, end: float) -> bool:
        """Consume assignments; return whether there were enough."""
        rejected = 0
        for assignment in self._assignments:
            candidate = self._make(assignment)
            if candidate is None:
                rejected += 1
                if rejected == _MOST_REJECTED:
                    return True
                continue
            rejected = 0
            self.candidates[candidate.key] = candidate
            if len(self.candidates) >= n or time.thread_time() > end:
                return True
        return False


def near_values(knob: Knob, value: int) -> list[int]:
    """Return a value of a knob and its neighbors at one step."""
    if isinstance(knob, OneOfKnob):
        return [index for index in (value - 1, value, value + 1) if 0 <= index < len(knob.options)]
    steps = (
        {value, value * 2, value // 2, value + 1, value - 1}
        if value
        else {0, 1, 2, 4, 8, 16, 32, 64}
    )
    low = 0 if knob.low is None else knob.low
    return sorted(
        step for step in steps if step >= low and (knob.high is None or step <= knob.high)
    )
