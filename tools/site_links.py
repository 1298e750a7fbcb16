"""Adapts pages to the documentation site, as a hook of MkDocs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Remove parts for readers of the repository: attributes of fences, and links out of `docs/`."""
    text = re.sub(r"^```(shell|python) \S.*$", r"```\1", markdown, flags=re.MULTILINE)
    out = "../" * len(Path(page.file.src_uri).parts)
    return re.sub(rf"\[([^\]]+)\]\({re.escape(out)}[^)]*\)", r"\1", text)
