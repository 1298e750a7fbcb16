"""What is answered about an entry, and about a spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.solver.answers import Verdict


@dataclass(frozen=True)
class Answer:
    """The answer to a question whose good answer is proven.

    Attributes:
        verdict: proven, refuted or not decided.
        reason: if it is not proven, why.
        details: what else there is to say, each a sentence.
        warning: what the compiler's own constraints reject, or why the code may crash, if it is not refuted; empty for
            nothing.
        knobs: the knobs that the answer is about, the one to change first; empty for none.
    """

    verdict: Verdict
    reason: str = ""
    details: tuple[str, ...] = ()
    warning: str = ""
    knobs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Details:
    """The nearest valid configuration, which takes longer to find than the answer.

    Attributes:
        notes: the details of the answer, each a sentence.
        knobs: see `Answer`.
    """

    notes: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
