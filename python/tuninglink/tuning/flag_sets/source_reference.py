"""The reference of a program that is given by its path, for comparing sets of flags."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tuninglink.tuning.flag_sets.compilation import form_sources
from tuninglink.tuning.references.program_reference import ProgramReference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.flag_sets.compilation import ProgramSource
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


@dataclass
class SourceReference:
    """The expected outputs of a program, computed in separate processes when they are first needed.

    Attributes:
        source: the program.
        flags: the user's flags.
        seed: the seed of random inputs.
        seconds: the time limit.
        name: the name of the reference target, once it was computed.
    """

    source: ProgramSource
    flags: tuple[str, ...]
    seed: int
    seconds: float
    name: str = ""
    _outputs: dict[tuple[int, int], Outputs | str] = field(default_factory=dict)

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        """See `ProgramReference.outputs`."""
        if integers not in self._outputs:
            self._outputs[integers] = self._compute(calls, functions, integers)
        return self._outputs[integers]

    def _compute(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        end = time.monotonic() + self.seconds
        formed = form_sources(self.source, self.flags, end)
        if isinstance(formed, str):
            return formed
        left = max(0.0, end - time.monotonic())
        with ProgramReference(formed.content, formed.backend, self.seed, left) as reference:
            self.name = reference.name
            return reference.outputs(calls, functions, integers)
