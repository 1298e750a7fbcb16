"""Remedies for errors of MLIR's parser about unknown words."""

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
    """Return an error of the parser or the verifier with notes: the nearest known word, and the sequence.

    Args:
        diagnostic: the error.
        text: the text that was parsed.
    """
    word, candidates = _misspelt(diagnostic, text)
    suggestion = nearest(word, candidates) if word and word not in candidates else ""
    if not suggestion:
        return diagnostic
    remedy = note(f"unknown name '{word}'; did you mean '{suggestion}'?", diagnostic.place)
    return replace(diagnostic, notes=(remedy, *_enclosing(diagnostic, text), *diagnostic.notes))


def _misspelt(diagnostic: Diagnostic, text: str) -> tuple[str, list[str]]:
    """Return the misspelt word of an error and the words allowed in its place, or nothing."""
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
    """Return a note that names the sequence around an error, if there is one."""
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
