"""Pages in a headless Chromium, where one is installed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from processes import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")

NASTY = "</script><img src=x onerror=alert(1)>&amp;\u2028'\"<!--"
DARK = "--blink-settings=preferredColorScheme=0"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    "--virtual-time-budget=10000",
)


def browse(page: str, directory: Path, *flags: str, ask: str) -> Any:
    """Opens a page, and returns the value of an expression in it; fails on any error in the page's script."""
    assert CHROMIUM is not None
    before = (
        "<script>window.failures = []; onerror = (m) => { failures.push(String(m)); };</script>"
    )
    after = f"""<pre id="answer"></pre><script>
        document.getElementById("answer").textContent =
          JSON.stringify({{failures, value: (() => {{ {ask} }})()}});
        </script>"""
    page = page.replace("<style>", f"{before}<style>", 1).replace("</body>", f"{after}</body>")
    path = directory / "page.html"
    path.write_text(page, encoding="utf-8")
    profile = f"--user-data-dir={directory / 'profile'}"
    command = [CHROMIUM, *FLAGS, profile, *flags, "--dump-dom", path.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    found = re.search(r'<pre id="answer">(.*?)</pre>', result.stdout, re.DOTALL)
    assert found, result.stdout[-2000:]
    answer = json.loads(html.unescape(found[1]))
    assert answer["failures"] == []
    return answer["value"]
