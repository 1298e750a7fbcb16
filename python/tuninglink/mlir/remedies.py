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
_WORD: Final = re.compile(r"\w+")


def with_remedy(diagnostic: Diagnostic, text: str) -> Diagnostic:
    """Returns an error of the parser, with a note that has the word that is meant where one is like it.

    Args:
        diagnostic: the error.
        text: what was parsed.
    """
    written, known = "", list(_OPTIONS)
    if found := _UNKNOWN_PARAMETER.match(diagnostic.message):
        written = found[1]
    elif found := _NO_CASE.match(diagnostic.message):
        written, known = _word_at(diagnostic, text), found[1].split(", ")
    meant = nearest(written, known) if written and written not in known else ""
    if not meant:
        return diagnostic
    remedy = note(f"there is no '{written}'; did you mean '{meant}'?", diagnostic.place)
    return replace(diagnostic, notes=(remedy, *diagnostic.notes))


def _word_at(diagnostic: Diagnostic, text: str) -> str:
    place, lines = diagnostic.place, text.splitlines()
    if place is None or not 0 < place.line <= len(lines):
        return ""
    found = _WORD.match(lines[place.line - 1], max(0, place.column - 1))
    return found[0] if found else ""
