"""Remedies for errors of MLIR's parser and verifier: the nearest known word, and the sequence with the error."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import nearest
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import first_error, note

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic, Place

_OPTIONS: Final = (
    *("prefetch_num_stages", "no_reduce_shared_memory_bank_conflicts"),
    *("use_igemm_convolution", "reorder_workgroups_strategy"),
)
"""The parameters of `#iree_gpu.pipeline_options` (`iree-base-compiler` 3.13)."""

_UNKNOWN_PARAMETER: Final = re.compile(r"duplicate or unknown struct parameter name: (\w+)")
_NO_CASE: Final = re.compile(r"expected \S+ to be one of: (.+)")
_PIPELINE: Final = re.compile(r"#(\w+\.\w*pipeline)<\s*$")
_FAMILIES: Final = ("iree_cpu.pipeline", "iree_gpu.pipeline", "iree_gpu.spirv_pipeline")
"""The attributes that name pipelines (`iree-base-compiler` 3.13)."""

_KEYWORD: Final = re.compile(r"expected '(\w+)'$")
_UNRESOLVED: Final = re.compile(r"unresolved (?:matcher|action) symbol @([\w$.\-]+)")
_FOREIGN_ARGUMENTS: Final = re.compile(r"matcher arguments \(\d+\) for @([\w$.\-]+)")
_UNKNOWN_OP: Final = re.compile(r"custom op '(transform\.[\w.]+)' is unknown")
_TRANSFORM_OPS: Final = [
    value for value in vars(names).values() if str(value).startswith("transform.")
]
_NO_VALUE: Final = re.compile(r"expected (?:attribute value|non-function type)$")
_VALUES: Final = (
    *("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f4E2M1FN"),
    *("i1", "i4", "i8", "i16", "i32", "i64", "index", "true", "false", "unit"),
)
"""Words that are values of attributes: types of elements, and keywords."""

_WORD: Final = re.compile(r"\s*(\w+)")
_SEQUENCE: Final = re.compile(r"transform\.named_sequence\s+(?:\w+\s+)?@([\w$.\-]+)")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_MISSING: Final = re.compile(r"Missing (?:attribute|named sequence) '([\w.]+)'")
_NO_INTEGER: Final = re.compile(r"expected integer value$")
_CONSEQUENCE: Final = "failed to parse "
"""The beginning of errors that follow another one, which has the notes."""


def with_remedy(diagnostic: Diagnostic, text: str) -> Diagnostic:
    """Return an error of the parser or the verifier with notes: the nearest known word, and the sequence.

    Args:
        diagnostic: the error.
        text: the text that was parsed.
    """
    if diagnostic.message.startswith(_CONSEQUENCE):
        return diagnostic
    if match := _MISSING.match(diagnostic.message):
        similar = nearest(match[1], sorted({*_NAME.findall(text)} - {match[1]}))
        remedies = [note(f"did you misspell it as '{similar}'?")] if similar else []
        return replace(diagnostic, notes=(*remedies, *diagnostic.notes))
    word, candidates = _misspelt(diagnostic, text)
    suggestion = nearest(word, candidates) if word and word not in candidates else ""
    remedies = []
    if foreign := _foreign_pipeline(diagnostic, text, suggestion):
        remedies = [note(foreign, diagnostic.place)]
    elif suggestion:
        advice = f"unknown name '{word}'; did you mean '{suggestion}'?"
        remedies = [note(advice, diagnostic.place)]
    elif swap := _swapped(diagnostic.message, text):
        remedies = [note(swap, diagnostic.place)]
    elif _NO_INTEGER.match(diagnostic.message):
        remedies = [note("write an integer, without quotes", diagnostic.place)]
    return replace(diagnostic, notes=(*remedies, *_enclosing(diagnostic, text), *diagnostic.notes))


def _misspelt(diagnostic: Diagnostic, text: str) -> tuple[str, list[str]]:
    """Return the misspelt word of an error and the words allowed in its place, or nothing."""
    message = diagnostic.message
    if match := _UNKNOWN_PARAMETER.match(message):
        return match[1], list(_OPTIONS)
    if match := _UNRESOLVED.search(message):
        return match[1], _SEQUENCE.findall(text)
    if match := _UNKNOWN_OP.match(message):
        return match[1], _TRANSFORM_OPS
    candidates: list[str] = []
    if match := _NO_CASE.match(message):
        candidates = match[1].split(", ")
    elif match := _KEYWORD.match(message):
        candidates = [match[1]]
    elif _NO_VALUE.match(message):
        candidates = list(_VALUES)
    return (_word_at(diagnostic, text), candidates) if candidates else ("", [])


def _swapped(message: str, text: str) -> str:
    """Return the remedy for a matcher that takes as many arguments as an action; empty for any other error."""
    matcher = _FOREIGN_ARGUMENTS.search(message)
    pair = matcher and re.search(rf"@({re.escape(matcher[1])})\s*->\s*@([\w$.\-]+)", text)
    if not pair:
        return ""
    return f"the matcher comes first; write @{pair[2]} -> @{pair[1]} if the two are swapped"


def _foreign_pipeline(diagnostic: Diagnostic, text: str, suggestion: str) -> str:
    """Return the remedy for a pipeline of another family of targets; empty if no other family has the pipeline.

    Args:
        diagnostic: an error.
        text: the text that was parsed.
        suggestion: a similar pipeline of the same family, which is preferred to one of another family.
    """
    place, word = diagnostic.place, _word_at(diagnostic, text)
    if place is None or not word or not _NO_CASE.match(diagnostic.message):
        return ""
    family = _PIPELINE.search(_line(text, place)[: place.column - 1].decode(errors="replace"))
    if family is None:
        return ""
    pipelines = {other: _pipelines(other, word) for other in _FAMILIES if other != family[1]}
    for other, names_ in pipelines.items():
        if word in names_:
            return f"'{word}' is a pipeline of '#{other}', not of '#{family[1]}'; write #{other}<{word}>"
    if suggestion:
        return ""
    families = {name: other for other, names_ in pipelines.items() for name in names_}
    similar = nearest(word, families)
    remedy = f"did you mean '#{families.get(similar)}<{similar}>'?"
    return f"'#{family[1]}' has no '{word}'; {remedy}" if similar else ""


def _pipelines(family: str, word: str) -> list[str]:
    """Return the pipelines of a family: the word if it is a pipeline, or those that the parser lists."""
    try:
        mlir.Attribute.parse(f"#{family}<{word}>", mlir.Context())
    except mlir.MLIRError as failure:
        match = _NO_CASE.match(first_error(failure))
        return match[1].split(", ") if match else []
    return [word]


def _enclosing(diagnostic: Diagnostic, text: str) -> list[Diagnostic]:
    """Return a note that names the sequence around an error, if there is one."""
    place = diagnostic.place
    if place is None:
        return []
    before = "\n".join(text.split("\n")[: place.line])
    sequences = list(_SEQUENCE.finditer(before))
    if not sequences:
        return []
    last = sequences[-1]
    inside = before[last.end() : before.rfind("\n")]
    if "{" in inside and inside.count("{") == inside.count("}"):
        return []  # The error follows the sequence.
    line = before.count("\n", 0, last.start()) + 1
    if line == place.line:
        return []
    return [note(f"in the sequence '@{last[1]}'", replace(place, line=line, column=1))]


def _word_at(diagnostic: Diagnostic, text: str) -> str:
    place = diagnostic.place
    if place is None:
        return ""
    match_ = _WORD.match(_line(text, place)[max(0, place.column - 1) :].decode(errors="replace"))
    return match_[1] if match_ else ""


def _line(text: str, place: Place) -> bytes:
    """Return the line of a place, whose column counts bytes; empty if the text ends before it."""
    lines = text.split("\n")
    return lines[place.line - 1].encode() if 0 < place.line <= len(lines) else b""
