"""The hook of the build: the folders of a wheel, and the bytecode of the specs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = {"examples": "examples", "passes": "passes", "specs": "shipped"}
"""The folders of a wheel besides `python/tuninglink`, with their folders in the package."""


class WheelFolders(BuildHookInterface):  # type: ignore[type-arg]
    """Adds to a wheel what an editable install finds through links, and the bytecode of the specs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Assemble the specs, unless the install is editable."""
        if version == "editable":
            return
        root, included = Path(self.root), build_data["force_include"]
        included.update((str(root / each), f"tuninglink/{to}") for each, to in FOLDERS.items())
        self._out = tempfile.TemporaryDirectory()  # as long as the build takes
        script = root / "tools" / "assemble_specs.py"
        subprocess.run([sys.executable, script, self._out.name], check=True)  # noqa: S603
        included[self._out.name] = "tuninglink/shipped"
