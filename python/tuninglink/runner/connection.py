"""Connections of `ssh` that all commands for a board share."""

from __future__ import annotations

import re
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 15
"""The time after which `ssh` ends a connection that no command uses: this process may have been killed."""

_ALIVE_SECONDS: Final = 5
"""The time after which `ssh` asks a board that sends nothing whether it is there; it gives up after three times."""

_PATH: Final = re.compile(r"/[\w./+@:=-]{,79}", re.ASCII)
"""Paths for a socket: `ssh` replaces `%` and `${}`, splits at spaces, and appends to them, of 108 characters at most."""


class SharedConnection:
    """The words in front of a command for a board. Those of `ssh` share a connection, unless the user has set that up.

    Args:
        words: the words that the user gave.

    Attributes:
        command: the words in front of the next command.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.command = self._words = tuple(words)
        self._settings: dict[str, str] = {}
        if Path(words[0]).name == "ssh" and len(words) > 1:
            # The settings for this host in the command, in the files of the user and in those of the system.
            self._settings = dict(line.partition(" ")[::2] for line in self._run("-G").splitlines())
        self.renew()

    def renew(self) -> None:
        """Use a new connection from now on, as the last one may be broken."""
        self.close()
        path = Path(tempfile.gettempdir(), f"tuninglink-{uuid.uuid4().hex[:16]}.ssh")
        is_shared = self._settings.get("controlpath", "none") != "none"
        if not self._settings or is_shared or not _PATH.fullmatch(str(path)):
            return
        options = ["ControlMaster=auto", f"ControlPath={path}", f"ControlPersist={_IDLE_SECONDS}"]
        if self._settings.get("serveraliveinterval") == "0":
            options.append(f"ServerAliveInterval={_ALIVE_SECONDS}")
        words = (word for option in options for word in ("-o", option))
        self.command = (self._words[0], *words, *self._words[1:])

    def close(self) -> None:
        """End the connection."""
        if self.command != self._words:
            self._run("-O", "exit")
            self.command = self._words

    def _run(self, *words: str) -> str:
        """Return the output of `ssh` with other words in front of the others; empty if it fails."""
        command = (self.command[0], *words, *self.command[1:])
        try:
            run = subprocess.run(  # noqa: S603 - the user's own command
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return run.stdout if not run.returncode else ""
