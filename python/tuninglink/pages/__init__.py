"""Pages for a browser: one file each, which loads nothing. The style and the helpers that all pages share live here."""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

_STYLE: Final = "/*shared style*/"
_HELPERS: Final = "/*shared helpers*/"
_DATA: Final = "/*data*/null"
"""Where a template expects the shared parts, and its data."""


def render_page(package: str, template: str, data: object) -> str:
    """Return a page.

    The page holds its data as JSON, and a script makes elements of them, so that no text of a program or of a spec is
    ever taken for HTML.

    Args:
        package: the package that the template is in.
        template: the name of its file.
        data: what the page shows: what `json` writes.
    """
    page = _text(package, template).replace(_STYLE, _text(__name__, "style.css"))
    page = page.replace(_HELPERS, _text(__name__, "helpers.js"))
    # Inside a script element only `<` can begin something else.
    content = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    before, after = page.split(_DATA)
    return before + content + after


def _text(package: str, name: str) -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")
