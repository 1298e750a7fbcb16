"""Asking a matcher about an operation as the compiler's interpreter does, to learn where and why it says no.

What a matcher demands is compared with the operation in the interpreter's order. What stands behind something
that is not understood is not looked at, so that no condition is named as the first that failed unless it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tuninglink.explaining.demands import CannotTellError, cannot_tell
from tuninglink.explaining.matcher_steps import read_steps

if TYPE_CHECKING:
    from tuninglink.explaining.demands import Difference
    from tuninglink.explaining.matcher_steps import Step
    from tuninglink.explaining.subject import Subject
    from tuninglink.specs.sequences import SequenceTable


@dataclass(frozen=True)
class Judgment:
    """What a matcher says about an operation.

    Attributes:
        differences: the conditions that do not hold, in the order in which the interpreter meets them.
        unsure: why it cannot be told what else the matcher demands; nothing if all is known.
    """

    differences: tuple[Difference, ...]
    unsure: str = ""

    @property
    def matches(self) -> bool | None:
        """Whether the matcher matches; None if that cannot be told."""
        if self.differences:
            return False
        return None if self.unsure else True


class Judge:
    """Judges by the matchers of one module; each matcher is read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._steps: dict[str, list[Step]] = {}

    def judge(self, matcher: str, subject: Subject) -> Judgment:
        """Returns what the matcher at a path says about an operation."""
        differences: list[Difference] = []
        for step in self._read(matcher):
            try:
                differences += step(subject)
            except CannotTellError as failure:
                return Judgment(tuple(differences), str(failure))
        return Judgment(tuple(differences))

    def unreadable(self, matcher: str) -> str:
        """Returns why nothing is known of what the matcher at a path demands; nothing if something is."""
        first = next(iter(self._read(matcher)), None)
        return first.args[0] if isinstance(first, partial) and first.func is cannot_tell else ""

    def _read(self, matcher: str) -> list[Step]:
        if matcher not in self._steps:
            self._steps[matcher] = read_steps(self._table, matcher)
        return self._steps[matcher]
