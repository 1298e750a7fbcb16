"""Commands on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING, Self

from processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class TerminalCommand:
    """A command whose output, or only its errors, goes to a terminal; killed on leaving its block.

    Args:
        command: the command.
        environment: its whole environment but for the terminal's name.
        directory: where it runs.
        stdout: the file for its output, if not the terminal.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] = os.environ,
        *,
        directory: Path | None = None,
        stdout: int | None = None,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self._text = ""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            cwd=directory,
            env={**environment, "TERM": "xterm-256color"},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def wait_for(self, pattern: str) -> str:
        """Read until a regular expression matches what the terminal shows; return the match."""
        while not (match := re.search(pattern, self._text)):
            assert self._read(), f"the command ended without {pattern!r}: {self._text[-2000:]}"
        return match[0]

    def finish(self) -> tuple[int, str]:
        """Return the exit code and all that the terminal has shown."""
        while self._read():
            pass
        return self.process.wait(PATIENCE), self._text

    def _read(self) -> bool:
        try:
            part = os.read(self._ours, 4096)
        except OSError:  # all processes have closed the terminal's other end
            return False
        self._text += part.decode(errors="replace")
        return bool(part)
