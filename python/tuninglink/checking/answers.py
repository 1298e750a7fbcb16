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
    """

    verdict: Verdict
    reason: str = ""
    details: tuple[str, ...] = ()
    warning: str = ""
