"""Self-contained HTML pages, one file each, with a shared head, style and script."""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

_SHARED: Final = {
    "<!--shared head-->": "head.html",
    "/*shared style*/": "style.css",
    "/*shared helpers*/": "helpers.js",
    "/*shared tables*/": "tables.js",
}
"""The placeholders of shared parts in templates, and in the head, with their files."""


def render_page(package: str, template: str, data: object) -> str:
    """Return a page.

    The page contains its data as JSON, and a script creates the elements, so that text of a program or of a spec is
    never interpreted as HTML. The template is a file in the package.
    """
    page = (resources.files(package) / template).read_text(encoding="utf-8")
    shared = resources.files(__name__)
    for placeholder, name in _SHARED.items():
        page = page.replace(placeholder, (shared / name).read_text(encoding="utf-8").strip())
    # Inside a script element, only `<` can begin markup.
    content = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    before, after = page.split("/*data*/null")
    return before + content + after
