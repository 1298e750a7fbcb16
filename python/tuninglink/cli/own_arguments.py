"""The commands that read their arguments as `iree-compile` does; they set its flags, which a process can do once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMMARIES: Final = {
    "compile": "Compile a program as `iree-compile` does, tuned by specs, on every backend.",
    "explain": "Say what specs do to a program, dispatch by dispatch, and why an entry does not match.",
    "init": "Write a spec to start from: the compiler's own configurations of a program, with a comment on each knob.",
    "tune": "Measure configurations on a device, and write a spec with those that are faster than the compiler's own.",
    "verify": "Compare what a program's dispatches compute with a reference for another target, and with NumPy.",
    "retune": "Measure the entries of specs again, and drop, keep or improve each.",
}
"""What each does, by name."""


def run_command(name: str, arguments: Sequence[str]) -> int:
    """Run one of the commands and return the exit code; only its own module is loaded.

    Raises:
        TuninglinkError: the arguments are wrong, or the command failed.
    """
    code: int = getattr(import_module(f"tuninglink.cli.{name}"), f"{name}_command")(arguments)
    return code
