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
WIDE = "--window-size=1200,900"
CLIPPED = """
  for (let closed; (closed = document.querySelector(".expand[aria-expanded=false]"));) closed.click();
  for (const closed of document.querySelectorAll("details")) closed.open = true;
  const clips = (each) => each.scrollWidth > each.clientWidth;
  const isCovered = (a, b) => {
    const [x, y] = [a, b].map((each) => each.getBoundingClientRect());
    return x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 2 && y.top < x.bottom - 2;
  };
  const texts = [...document.querySelectorAll("svg")].map((each) => [...each.querySelectorAll("text")]);
  return {
    clipped: [document.documentElement, ...document.querySelectorAll(".scroll, .scroll td")].filter(clips)
      .map((each) => each.className || each.tagName),
    overlaps: texts.flatMap((labels) => labels.flatMap((a, index) => labels.slice(index + 1)
      .filter((b) => isCovered(a, b)).map((b) => `${a.textContent} ${b.textContent}`))),
    words: [...document.querySelectorAll("#map button")].filter((each) => each.firstElementChild &&
      each.firstElementChild.getBoundingClientRect().right > each.getBoundingClientRect().right).length,
  };"""
"""Opens all of a page, and returns its parts that are clipped, and labels of drawings that overlap."""

AS_IT_SHOULD_BE = {"clipped": [], "overlaps": [], "words": 0}


def of_width(page: str, width: int) -> str:
    """Return a page whose content has a width; a window of Chromium is at least 500 pixels wide."""
    return page.replace("</style>", f"body {{ width: {width}px; }}</style>", 1)


DARK = "--blink-settings=preferredColorScheme=0"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    "--virtual-time-budget=10000",
)


def browse(page: str, directory: Path, *flags: str, ask: str) -> Any:
    """Open a page, and return the value of an expression in it; fail on any error in the page's script."""
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
