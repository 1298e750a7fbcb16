"""The template for tests of one's own specs in docs/guides/test-specs.md runs, and fails when the spec breaks."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from places import ROOT, TOOLS

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "guides" / "test-specs.md").read_text()
SPEC = (ROOT / "examples" / "spec_gfx942.mlir").read_text()


@pytest.mark.parametrize(
    ("old", "new", "verdict"), [("", "", "PASS"), ("%n, [1280]", "%n, [1281]", "FAIL")]
)
def test_the_template_runs(old: str, new: str, verdict: str, tmp_path: Path) -> None:
    (configuration,) = re.findall(r"```python sketch\n(.*?)```", PAGE, re.DOTALL)
    (test,) = re.findall(r"```mlir\n(.*?)```", PAGE, re.DOTALL)
    for name in ("specs", "test"):
        (tmp_path / name).mkdir()
    (tmp_path / "specs" / "linear.mlir").write_text(SPEC.replace(old, new))
    (tmp_path / "test" / "lit.cfg.py").write_text(configuration)
    (tmp_path / "test" / "linear.mlir").write_text(test)
    done = subprocess.run(
        [TOOLS / "lit", "-v", "test"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == (verdict == "FAIL"), done.stdout
    assert f"{verdict}: specs :: linear.mlir (1 of 1)" in done.stdout
