"""Explanations as a page for a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.explaining.json_report import to_object
from tuninglink.pages import render_page

if TYPE_CHECKING:
    from tuninglink.explaining.explanation import Explanation


def to_html(explanation: Explanation) -> str:
    """Returns an explanation as a page."""
    return render_page("tuninglink.explaining", "report.html", to_object(explanation))
