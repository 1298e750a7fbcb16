"""What to do about errors of MLIR's parser that name a word which there is not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.mlir.diagnostics import note
from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic

_OPTIONS: Final = (
    *("prefetch_num_stages", "no_reduce_shared_memory_bank_conflicts"),
    *("use_igemm_convolution", "reorder_workgroups_strategy"),
)
"""The parameters of `#iree_gpu.pipeline_options` (`iree-base-compiler` 3.13)."""

_UNKNOWN_PARAMETER: Final = re.compile(r"duplicate or unknown struct parameter name: (\w+)")
_NO_CASE: Final = re.compile(r"expected \S+ to be one of: (.+)")
_KEYWORD: Final = re.compile(r"expected '(\w+)'$")
_UNRESOLVED: Final = re.compile(r"unresolved (?:matcher|action) symbol @([\w$.\-]+)")
_WORD: Final = re.compile(r"\w+")
_SEQUENCE: Final = re.compile(r"transform\.named_sequence\s+(?:\w+\s+)?@([\w$.\-]+)")


def with_remedy(diagnostic: Diagnostic, text: str) -> Diagnostic:
    """Returns an error of the parser or the verifier, with notes: the nearest known word, and the sequence.

    Args:
        diagnostic: the error.
        text: the text that was parsed.
    """
    written, known = _misspelt(diagnostic, text)
    meant = nearest(written, known) if written and written not in known else ""
    if not meant:
        return diagnostic
    remedy = note(f"there is no '{written}'; did you mean '{meant}'?", diagnostic.place)
    return replace(diagnostic, notes=(remedy, *_enclosing(diagnostic, text), *diagnostic.notes))


def _misspelt(diagnostic: Diagnostic, text: str) -> tuple[str, list[str]]:
    """Returns the word that an error is about, and the words that may stand there; nothing if it is about none."""
    message = diagnostic.message
    if match := _UNKNOWN_PARAMETER.match(message):
        return match[1], list(_OPTIONS)
    if match := _UNRESOLVED.search(message):
        return match[1], _SEQUENCE.findall(text)
    if match := _NO_CASE.match(message):
        return _word_at(diagnostic, text), match[1].split(", ")
    if match := _KEYWORD.match(message):
        return _word_at(diagnostic, text), [match[1]]
    return "", []


def _enclosing(diagnostic: Diagnostic, text: str) -> list[Diagnostic]:
    """Returns a note with the named sequence that an error is in."""
    place = diagnostic.place
    if place is None:
        return []
    before = "\n".join(text.splitlines()[: place.line])
    sequences = list(_SEQUENCE.finditer(before))
    if not sequences:
        return []
    last = sequences[-1]
    line = before.count("\n", 0, last.start()) + 1
    return [note(f"in the sequence '@{last[1]}'", replace(place, line=line, column=1))]


def _word_at(diagnostic: Diagnostic, text: str) -> str:
    place, lines = diagnostic.place, text.splitlines()
    if place is None or not 0 < place.line <= len(lines):
        return ""
    match_ = _WORD.match(lines[place.line - 1], max(0, place.column - 1))
    return match_[0] if match_ else ""
