"""Explanations as a page for a browser: one file, which loads nothing."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Final

from tuninglink.explaining.json_report import to_object

if TYPE_CHECKING:
    from tuninglink.explaining.model import Explanation

_PLACEHOLDER: Final = "/*explanation*/null"
"""Where the template expects the explanation."""


def to_html(explanation: Explanation) -> str:
    """Returns an explanation as a page.

    The page holds the explanation as JSON, and a script makes elements of it, so that no text of the program or
    of a spec is ever taken for HTML.
    """
    file = resources.files("tuninglink.explaining") / "report.html"
    template = file.read_text(encoding="utf-8")
    data = json.dumps(to_object(explanation), separators=(",", ":"), ensure_ascii=True)
    # Inside a script element only `<` can begin something else.
    before, after = template.split(_PLACEHOLDER)
    return before + data.replace("<", "\\u003c") + after
