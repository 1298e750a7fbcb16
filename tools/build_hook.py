"""The hook of the build: a wheel has the bytecode of the specs beside their text."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpecAssembly(BuildHookInterface):  # type: ignore[type-arg]
    """Assembles the specs; an editable install reads the text."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the bytecode to a wheel."""
        if version == "editable":
            return
        self._out = tempfile.TemporaryDirectory()  # as long as the build takes
        script = Path(self.root) / "tools" / "assemble_specs.py"
        subprocess.run([sys.executable, script, self._out.name], check=True)  # noqa: S603
        build_data["force_include"][self._out.name] = "tuninglink/shipped"
