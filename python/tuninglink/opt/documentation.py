"""The documentation of a pass, from its docstring."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.mlir.passes import Pass

_SECTION = re.compile(r"^([A-Z][A-Za-z ]*):\n(?=(?:\n| {4}))", re.MULTILINE)


def summary(pass_type: type[Pass]) -> str:
    """Return the first line of a pass's docstring, without the final period."""
    return _docstring(pass_type).partition("\n")[0].rstrip(".")


def sections(pass_type: type[Pass]) -> list[tuple[str, str]]:
    """Return the titles and texts of the sections of a pass's docstring.

    The first section has no title: it is the text before `Example:` and the like. Indentation is removed.
    """
    text = _docstring(pass_type)
    starts = list(_SECTION.finditer(text))
    ends = [start.start() for start in starts] + [len(text)]
    titled_texts = [("", text[: ends[0]].strip())]
    for start, end in zip(starts, ends[1:], strict=True):
        titled_texts.append((start[1], textwrap.dedent(text[start.end() : end]).strip()))
    return titled_texts


def _docstring(pass_type: type[Pass]) -> str:
    return inspect.cleandoc(pass_type.__doc__ or "")
