"""The compiler's own `iree-opt`: its passes and flags."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from iree.compiler import _mlir_libs

PASSES_HEADING = "Compiler passes to run"
_PASS = re.compile(r"^ {6}--([\w.-]+)", re.MULTILINE)
_FLAG = re.compile(r"^ {2}--?([\w.-]+)(\[?=)?", re.MULTILINE)


def executable() -> str:
    """Return the path of the compiler's `iree-opt` binary, without the wrapper script."""
    return str(Path(_mlir_libs.__file__).parent / "iree-opt")


@functools.cache
def help_text(*, hidden: bool = False) -> str:
    """Return the output of `iree-opt --help`, or of `--help-hidden` if `hidden`."""
    command = [executable(), "--help-hidden" if hidden else "--help"]
    finished = subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - the wheel's own
    return finished.stdout.decode(errors="replace")


def pass_names() -> list[str]:
    """Return the names of the compiler's passes and pipelines, in the order of its help."""
    _, _, passes = help_text().partition(PASSES_HEADING)
    return list(dict.fromkeys(_PASS.findall(passes)))


def flags_with_value() -> dict[str, bool]:
    """Return the compiler's flags other than passes, and whether each requires a value."""
    return {name: value == "=" for name, value in _FLAG.findall(help_text(hidden=True))}
