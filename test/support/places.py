"""Paths of the parts of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
SHARED = ROOT.parent / "shared"
"""Inputs beside a checkout. Tests that use it are skipped where it is absent."""

TOOLS = Path(sys.executable).parent
"""The directory of the commands of the tested environment."""
